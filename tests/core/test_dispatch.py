"""Generic functions: one implementation per type, the same choice compiled and uncompiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.errors import TypingError
from numba.extending import register_jitable

from maxmargin.core import contract as g
from maxmargin.core.compile import compiled
from maxmargin.core.contract import (
    belongs,
    generic_on_two,
    generic_on_two_with_default,
    generic_with_default,
    has,
    implements,
)
from maxmargin.core.dispatch import second_types


class Metres(NamedTuple):
    values: Any


class Feet(NamedTuple):
    values: Any


class Pair(NamedTuple):
    """All fields of one type: numba makes another kind of tuple of it."""

    first: float
    second: float


class Mixed(NamedTuple):
    first: float
    second: int


class Thing:
    pass


@generic_with_default
def length(data, i):
    """Return a length in metres."""
    return -1.0


@generic_on_two
def add(a, b, i):
    """Return the sum of two lengths."""


@implements(length, Metres)
def _length_metres(data, i):
    return data.values[i]


@implements(length, Feet)
def _length_feet(data, i):
    return 0.3048 * data.values[i]


@implements(length, Pair)
def _length_pair(data, i):
    return data.first


@implements(length, Mixed)
def _length_mixed(data, i):
    return data.second * 1.0


@implements(add, Metres, Feet)
def _add_metres_feet(a, b, i):
    return length(a, i) + length(b, i)


@implements(add, Feet, Metres)
def _add_feet_metres(a, b, i):
    return 100.0 + length(a, i) + length(b, i)


@register_jitable
def call_length(data, i):
    return length(data, i)


@register_jitable
def call_add(a, b, i):
    return add(a, b, i)


VALUES = np.array([1.0, 10.0])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (Metres(VALUES), 10.0),
        (Feet(VALUES), 3.048),
        (Pair(4.0, 5.0), 4.0),
        (Mixed(4.0, 5), 5.0),
        ((1.0, 2.0), -1.0),  # no implementation: the declaration's own body
    ],
    ids=repr,
)
def test_the_type_of_the_first_argument_chooses(data, expected):
    assert length(data, 1) == pytest.approx(expected)
    assert call_length(data, 1) == pytest.approx(expected)
    assert compiled(call_length)(data, 1) == pytest.approx(expected)


def test_two_types_choose_and_their_order_matters():
    metres, feet = Metres(VALUES), Feet(VALUES)
    for call in (call_add, compiled(call_add)):
        assert call(metres, feet, 0) == pytest.approx(1.3048)
        assert call(feet, metres, 0) == pytest.approx(101.3048)


def test_objects_run_as_python():
    assert length(Thing(), 0) == -1.0

    @implements(length, Thing)
    def _length_thing(data, i):
        return 7.0 + i

    try:
        assert call_length(Thing(), 1) == 8.0
    finally:
        del length.implementations[(Thing,)]


def test_has_tells_own_implementations_only():
    assert has(length, Metres) and not has(length, Thing)
    assert has(add, Metres, Feet) and not has(add, Metres, Metres)


def test_a_subclass_is_another_type():
    class Yards(Feet):
        pass

    assert length(Yards(VALUES), 0) == -1.0


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (g.potentials, (0, VALUES, 1.0, None)),
        (g.parts, (0, VALUES, 0, 1.0, None)),
        (g.add_parts, (0, None, 1.0, VALUES)),
        (g.n_weights, ()),
        (g.workspace, ()),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_missing_is_named(function, arguments):
    with pytest.raises(TypeError, match=f"'{function.__name__}' is not implemented for Metres"):
        function(Metres(VALUES), *arguments)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda data, index: 0.0,
        lambda data: 0.0,
        lambda i, data: 0.0,
        lambda data, i, more: 0.0,
        lambda data, i=0: 0.0,
        lambda *arguments: 0.0,
    ],
    ids=["name", "few", "order", "many", "default", "star"],
)
def test_other_arguments_than_the_declared_are_refused(wrong):
    with pytest.raises(TypeError, match=r"but 'length' is declared with \(data, i\) in tests"):
        implements(length, Thing)(wrong)
    assert not has(length, Thing)


def test_a_missing_pair_is_named():
    with pytest.raises(TypeError, match="'maximize' is not implemented for Metres, Feet"):
        g.maximize(Metres(VALUES), Feet(VALUES), 0, None, None, 1.0, 1.0, None, 0)


@register_jitable
def call_potentials(data, w):
    return g.potentials(data, 0, w, 1.0, w)


def test_what_is_missing_is_named_when_compiling():
    with pytest.raises(TypingError, match="'potentials' is not implemented for Metres"):
        compiled(call_potentials)(Metres(VALUES), VALUES)
    with pytest.raises(TypingError, match="'add' is not implemented for Metres, Metres"):
        compiled(call_add)(Metres(VALUES), Metres(VALUES), 0)
    with pytest.raises(TypingError, match="'add' is not implemented for Metres, int64"):
        compiled(call_add)(Metres(VALUES), 3, 0)


def test_generic_functions_keep_name_and_contract():
    assert length.__name__ == "length" and length.__doc__ == "Return a length in metres."


# -- families --------------------------------------------------------------------------------------


class Metals:
    """A family."""


class Heavy:
    """Another."""


class Shapes:
    """A family of second arguments."""


@generic_on_two_with_default
def weigh(a, b):
    """Return a number that tells which implementation was chosen."""
    return 0.0


@implements(weigh, Metals, Shapes)
def _family_family(a, b):
    return 1.0 + 0.0 * a.x


@belongs(Metals)
class Iron(NamedTuple):
    x: float


@belongs(Heavy, Metals)
class Lead(NamedTuple):
    x: float


class Wood(NamedTuple):
    x: float


@belongs(Shapes)
class Ball(NamedTuple):
    x: float


@belongs(Shapes)
class Cube(NamedTuple):
    x: float


class Cloud(NamedTuple):
    x: float


@implements(weigh, Metals, Cube)
def _family_type(a, b):
    return 2.0


@implements(weigh, Iron, Shapes)
def _type_family(a, b):
    return 3.0


@implements(weigh, Iron, Ball)
def _type_type(a, b):
    return 4.0


@implements(weigh, Heavy, Cube)
def _first_family(a, b):
    return 5.0


@register_jitable
def call_weigh(a, b):
    return weigh(a, b)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (Iron, Ball, 4.0),  # both types
        (Iron, Cube, 3.0),  # (type, family) comes before (family, type)
        (Lead, Cube, 5.0),  # of two families the one that is named first
        (Lead, Ball, 1.0),  # both families
        (Wood, Ball, 0.0),  # in no family: the default
        (Iron, Cloud, 0.0),
        (Lead, Cloud, 0.0),
    ],
)
def test_a_type_comes_before_its_families(first, second, expected):
    a, b = first(1.0), second(1.0)
    assert call_weigh(a, b) == expected
    assert compiled(call_weigh)(a, b) == expected
    assert has(weigh, first, second) == (expected > 0.0)


def test_the_types_that_a_family_brings_are_named():
    assert second_types(weigh, Lead) == [Ball, Cube]
    assert second_types(weigh, Wood) == []
    assert second_types(add, Metres) == [Feet]


def test_a_type_joins_where_it_is_defined():
    with pytest.raises(TypeError, match="Wood must join its families where it is defined"):
        belongs(Metals)(Wood)
    assert not has(weigh, Wood, Ball)


def test_the_number_of_types_is_checked():
    with pytest.raises(TypeError, match="'weigh' is chosen by 2 types, got 1"):
        implements(weigh, Iron)(lambda a, b: 0.0)
    with pytest.raises(TypeError, match="'length' is chosen by 1 types, got 2"):
        implements(length, Iron, Ball)(lambda data, i: 0.0)

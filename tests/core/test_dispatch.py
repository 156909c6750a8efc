"""Generic functions: one implementation per type, the same choice compiled and uncompiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.errors import TypingError
from numba.extending import register_jitable

from maxmargin.core import contract as g
from maxmargin.core.compile import compiled
from maxmargin.core.contract import generic_on_two, generic_with_default, has, implements


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

"""Kernels behind addresses: what compiled code gives them, gets back, and cannot do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from maxmargin.core.compile import compiled, jitable, kernel
from maxmargin.core.contract import connect, workspace
from maxmargin.core.news import compiling_watched
from maxmargin.core.sealed import addresses, sealed
from maxmargin.testing import tiny_problem

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="there are no addresses where nothing is compiled"
)


class Pair(NamedTuple):
    values: Any
    factor: float


@jitable
def scaled_sum(pair, first, out):
    if first < 0:
        raise ValueError("first must not be negative")
    total = 0.0
    for k in range(first, pair.values.shape[0]):
        out[k] = pair.factor * pair.values[k]
        total += out[k]
    return total, pair.values.shape[0] - first


def example():
    values = np.zeros(1)
    values.flags.writeable = False
    return Pair(values, 1.0), 0, np.zeros(1)


SEAL = sealed(scaled_sum, 0, "Tuple(float64, int64)", example)
call_sum = SEAL.call


@jitable
def through_address(entries, pair, first, out):
    return call_sum(entries, pair, first, out)


def test_tuples_numbers_and_arrays_go_through_an_address():
    out = np.zeros(3)
    pair = Pair(np.array([1.0, 2.0, 4.0]), 2.0)
    assert compiled(through_address)(addresses(SEAL), pair, 1, out) == (12.0, 2)
    assert out.tolist() == [0.0, 4.0, 8.0]


def test_in_python_the_kernel_itself_is_called():
    out = np.zeros(1)
    entries = np.zeros(1, dtype=np.int64)
    assert through_address(entries, Pair(np.ones(1), 3.0), 0, out) == (3.0, 1)


def test_an_exception_comes_out_as_itself():
    with pytest.raises(ValueError, match="first must not be negative"):
        compiled(through_address)(addresses(SEAL), Pair(np.ones(1), 1.0), -1, np.zeros(1))


def test_an_address_that_was_not_written_is_an_error():
    with pytest.raises(RuntimeError, match="'scaled_sum' is not in the table"):
        compiled(through_address)(
            np.zeros(1, dtype=np.int64), Pair(np.ones(1), 1.0), 0, np.zeros(1)
        )


@pytest.mark.parametrize(
    ("pair", "out", "message"),
    [
        (Pair(np.ones(1, dtype=np.float32), 1.0), np.zeros(1), "'pair.values'"),
        (Pair(np.ones((1, 1)), 1.0), np.zeros(1), "'pair.values'"),
        ((np.ones(1), 1.0), np.zeros(1), "'pair'"),
        (Pair(np.ones(1), 1.0), np.ones(4)[::2], "'out'"),
        (Pair(np.ones(1), 1.0), example()[0].values, "'out'"),
    ],
)
def test_what_the_kernel_was_not_compiled_for_is_refused(pair, out, message):
    with pytest.raises(TypingError, match=f"takes .* as {message}, got"):
        compiled(through_address)(addresses(SEAL), pair, 0, out)


def test_a_kernel_that_returns_something_else_than_declared_is_refused():
    wrong = sealed(scaled_sum, 0, "float64", example)
    with pytest.raises(TypeError, match=r"scaled_sum returns Tuple\(float64, int64\), declared"):
        wrong.address()


def test_rooms_of_graphs_are_connected_by_problems_alone():
    """Each with what its cost needs."""
    for cost in ("hamming", "zero_one"):
        view = tiny_problem("graph", cost, compile=False).view
        _, room = workspace(view.data)
        # Python runs branch and bound compiled, and that calls message passing by its address; for
        # the rest nothing is compiled where a problem runs as Python.
        assert (room.entries != 0).tolist() == [True, False, False]
        connect(room, view.cost)
        assert (room.entries != 0).tolist() == [True, True, cost == "zero_one"]


@kernel
def smallest(pair, first):
    best = np.inf
    for k in range(first, pair.values.shape[0]):
        best = min(best, pair.factor * pair.values[k])
    return best


SMALLEST = sealed(smallest, 0, "float64", lambda: example()[:2])


def test_python_runs_the_code_behind_the_address():
    SMALLEST.address()
    with compiling_watched() as watch:
        for values in (np.array([3.0, 2.0]), example()[0].values):
            expected = min(2.0 * values)
            assert smallest(Pair(values, 2.0), 0) == expected
    assert watch.compiled == 0 and not smallest.signatures


def test_python_may_give_a_sealed_kernel_other_types():
    assert smallest(Pair(np.array([3, 2]), 2), 0) == 4
    assert smallest(Pair(np.arange(6.0)[::2], 2.0), 1) == 4.0
    assert len(smallest.signatures) == 2

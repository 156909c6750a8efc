"""A cost of rankings that a user defines by its difference D_j(i)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel, load_compiler
from maxmargin.costs.ranking.base import RankingBase
from maxmargin.inference.ranking.rule import (
    FUNCTIONS,
    USER,
    GeneralRule,
    RankingRule,
    call_difference,
    monotone_rule,
)

__all__ = ["RankingCost"]

#: Queries with at most this many pairs (j, i) are tried at all of them, larger ones at some.
MOST_PAIRS = 1 << 16

#: The most sizes of queries that are tried.
MOST_SHAPES = 64


@dataclass(frozen=True)
class RankingCost(RankingBase):
    """A cost of rankings given by its difference.

    With P relevant and N irrelevant samples, each numbered from the highest score down,
    ``difference(j, i, P, N)`` is what the cost changes by when irrelevant sample j, which has
    i - 1 relevant ones above it, lets relevant sample i pass as well: a number <= 0. The cost of a
    ranking is the sum of -difference over all pairs in which irrelevant stands above relevant.

    The function is compiled by numba. If it never falls as j grows, the most violating ranking is
    found by divide and conquer, else by a dynamic programme over all P N pairs. To choose, the
    function is tried: at all (j, i) of queries with up to 2^16 pairs, and in larger queries at
    some 200 values of i and 1000 of j, which lie close together near the first and the last and
    far apart between them. If queries have more than 64 different sizes, 64 of these are tried,
    the smallest and the largest among them. If the function falls only where it was not tried,
    the ranking found may not be the most violating one.

    Parameters
    ----------
    difference : function of four whole numbers (j, i, P, N), from 1 on

    Examples
    --------
    The reciprocal rank of the first relevant sample:

    >>> def first_rank(j, i, P, N):
    ...     return 1.0 / (j + 1) - 1.0 / j if i == 1 else 0.0
    >>> cost = RankingCost(first_rank)
    >>> cost.value([1, 1, 0, 0], [2, 3, 0, 1]), cost.is_monotone([(2, 2)])
    (0.6666666666666667, True)
    """

    difference: Callable[[int, int, int, int], float]

    def __post_init__(self) -> None:
        _address(self.difference)

    def rule(self, shapes: Iterable[tuple[int, int]]) -> RankingRule:
        """Return the cost as compiled code reads it, for queries of these sizes."""
        address = _address(self.difference)
        if self.is_monotone(shapes):
            return monotone_rule(USER, address=address)
        return GeneralRule(address)

    def is_monotone(self, shapes: Iterable[tuple[int, int]]) -> bool:
        """Tell whether the difference never falls with j; refuse values above 0 or not finite."""
        address = _address(self.difference)
        sizes = sorted({(int(P), int(N)) for P, N in shapes if P > 0 and N > 0})
        if len(sizes) > MOST_SHAPES:
            picked = np.linspace(0, len(sizes) - 1, MOST_SHAPES).astype(int)
            sizes = [sizes[s] for s in picked]
        monotone = True
        for P, N in sizes:
            is_small = P * N <= MOST_PAIRS
            ranks = np.arange(1, N + 1) if is_small else _sample(N, 300)
            places = np.arange(1, P + 1) if is_small else _sample(P, 60)
            status, j, i, value = _try_pairs(address, ranks, places, P, N)
            if status == _INVALID:
                raise ValueError(
                    f"RankingCost: difference({j}, {i}, {P}, {N}) is {value}; expected a finite "
                    "number <= 0, as no cost falls when an irrelevant sample rises."
                )
            monotone &= status == _RISES
        return monotone


_RISES, _FALLS, _INVALID = range(3)


@cache
def _address(difference: Any) -> int:
    """Compile a user's function, once, and return its address."""
    if not callable(difference):
        raise TypeError(f"RankingCost: difference must be a function, got {difference!r}.")
    numba = load_compiler()
    from numba import types

    call = difference if numba.extending.is_jitted(difference) else numba.njit(difference)

    def with_whole_numbers(j, i, P, N):
        return float(call(j, i, P, N))

    try:
        entry = numba.cfunc(types.float64(*[types.int64] * 4), error_model="numpy")(
            with_whole_numbers
        )
    except numba.core.errors.NumbaError as error:
        reason = str(error).strip().splitlines()
        raise ValueError(
            "RankingCost: difference cannot be compiled by numba: "
            f"{reason[-1] if reason else error!r}. It must be a function of four whole numbers "
            "(j, i, P, N) that computes a number by plain arithmetic."
        ) from error
    # Never freed: rules hold only the address of the compiled function.
    _KEPT.append(entry)
    FUNCTIONS[entry.address] = difference
    return int(entry.address)


_KEPT: list[Any] = []


def _sample(n: int, n_each: int) -> npt.NDArray[np.int64]:
    """Return numbers in 1..n: all near 1 and n; between them pairs of neighbours, ever sparser."""
    sparse = np.geomspace(1, n, n_each).astype(np.int64)
    ends = np.arange(1, n_each + 1)
    picked = np.concatenate([ends, sparse, sparse + 1, n + 1 - ends])
    return np.unique(np.clip(picked, 1, n))


@kernel
def _try_pairs(address, ranks, places, P, N):
    """Return whether D rises along ranks at all places, and a pair where D is no difference."""
    status = _RISES
    for i in places:
        before = -np.inf
        for j in ranks:
            value = call_difference(address, j, i, P, N)
            if not (value <= 0.0 and value > -np.inf):
                return _INVALID, j, i, value
            # Rounding may make D fall a little where it is constant.
            if value < before + 1e-12 * before:
                status = _FALLS
            before = value
    return status, ranks[0], places[0], 0.0

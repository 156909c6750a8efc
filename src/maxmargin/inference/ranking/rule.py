"""What a ranking costs, as compiled code reads it.

A ranking of P positives and N negatives is an interleaving: both keep their own order by score,
and what is open is how many positives stand above each negative. Number the positives i = 1..P and
the negatives j = 1..N from the highest score down. D_j(i) <= 0 is what the cost changes by when
negative j, with i - 1 positives above it, lets positive i pass as well. So the cost of an
interleaving is the sum of -D_j(i) over its inverted pairs, and the truth costs nothing.

    average precision   D_j(i) = -(1/P) i / ((i + j) (i + j - 1))
    NDCG                D_j(i) = (d(i + j) - d(i + j - 1)) / C,    d(r) = 1 / log2(1 + r)
    AUC                 D_j(i) = -1/(P N)
    NDCG at k           as NDCG, with d(r) = 0 for r > k
    precision at k      D_j(i) = -1/min(k, P) where i + j = k + 1, else 0

C is d(1) + .. + d(P), or up to min(k, P). The first three, whose D_j(i) rises with j, are
QS-suitable: the best place of a negative never moves up as j grows, which is what the divide and
conquer of `ranking_search` rests on. The other two have algorithms of their own, and so has a
user's D that is not monotone: hence three types, and code is compiled for the one that is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from maxmargin.core.compile import jitable
from maxmargin.inference._inline import inlined

__all__ = [
    "AREA",
    "AVERAGE_PRECISION",
    "DCG",
    "DCG_AT_K",
    "FUNCTIONS",
    "PRECISION_AT_K",
    "USER",
    "GeneralRule",
    "MonotoneRule",
    "RankingRule",
    "TopRule",
    "call_difference",
    "cost_of_places",
    "discount",
    "discount_drop",
    "monotone_rule",
    "top_rule",
]

#: Kinds of monotone rules, and of rules for the first places.
AVERAGE_PRECISION, DCG, AREA, USER = range(4)
PRECISION_AT_K, DCG_AT_K = range(2)

#: Discounts are looked up below this rank and computed from there on, which takes three logarithms.
#: The table is made once, as far as the largest query so far needs it.
MOST_RANKS = 1 << 20

_LIKE_KERNELS = {"error_model": "numpy", "no_cfunc_wrapper": True}


class MonotoneRule(NamedTuple):
    """A QS-suitable cost. One rule serves queries of every size.

    Attributes
    ----------
    kind : int, one of AVERAGE_PRECISION, DCG, AREA, USER
    address : int
        Of a user's D, a compiled function of (j, i, P, N); else 0.
    discounts, drops : float64 arrays
        d(r), and d(r - 1) - d(r), for the first ranks r. Empty where they are not needed.
    ideal : float64 array
        ideal[p] = d(1) + .. + d(p), for as many positives as a query may have: the normaliser of
        each query is looked up here.
    """

    kind: int
    address: int
    discounts: npt.NDArray[np.float64]
    drops: npt.NDArray[np.float64]
    ideal: npt.NDArray[np.float64]

    def __reduce__(self):
        """Refuse to send a user's function to another process, where its address is another's."""
        _check_no_address(self.address)
        return MonotoneRule, tuple(self)


class TopRule(NamedTuple):
    """A cost of the first k places. Attributes as of `MonotoneRule`; ideal ends at k."""

    kind: int
    k: int
    discounts: npt.NDArray[np.float64]
    ideal: npt.NDArray[np.float64]


class GeneralRule(NamedTuple):
    """A user's D that is not monotone in j."""

    address: int
    kind: int = USER

    def __reduce__(self):
        """Refuse to send a user's function to another process, where its address is another's."""
        _check_no_address(self.address)
        return GeneralRule, tuple(self)


RankingRule = MonotoneRule | TopRule | GeneralRule


def _check_no_address(address):
    if address:
        raise TypeError(
            "the rule of a user-defined ranking cost holds the address of a compiled function and "
            "cannot be pickled. Pickle the cost, and make its rule where it is used."
        )


def monotone_rule(
    kind: int, n_positives: int = 0, n_samples: int = 0, address: int = 0
) -> MonotoneRule:
    """Return a rule for queries with up to so many positives, and samples (only NDCG asks).

    Examples
    --------
    >>> monotone_rule(DCG, n_positives=2, n_samples=5).ideal.round(3)
    array([0.   , 1.   , 1.631])
    """
    if kind == DCG:
        discounts, drops = _tables(n_samples)
        return MonotoneRule(kind, 0, discounts, drops, _ideal(n_positives))
    return MonotoneRule(kind, address, np.zeros(0), np.zeros(0), np.zeros(0))


def top_rule(kind: int, k: int) -> TopRule:
    """Return a rule for the first k places.

    Examples
    --------
    >>> top_rule(DCG_AT_K, 3).ideal.round(3)
    array([0.   , 1.   , 1.631, 2.131])
    """
    if kind == DCG_AT_K:
        return TopRule(kind, k, _tables(k)[0], _ideal(k))
    return TopRule(kind, k, np.zeros(0), np.zeros(0))


def _tables(n_ranks):
    """Return discounts and drops for at least so many ranks, if they are not too many."""
    return _tables_of_size(1 << min(n_ranks + 1, MOST_RANKS - 1).bit_length())


@cache
def _tables_of_size(size):
    rank = np.arange(2, size, dtype=np.float64)
    log_rank, log_next = np.log(rank), np.log1p(rank)
    discounts, drops = np.empty(size), np.empty(size)
    discounts[:2], drops[:2] = (np.inf, 1.0), 0.0
    discounts[2:] = math.log(2.0) / log_next
    drops[2:] = math.log(2.0) * np.log1p(1.0 / rank) / (log_rank * log_next)
    return discounts, drops


def _ideal(n):
    ideal = np.zeros(n + 1)
    np.cumsum(1.0 / np.log2(np.arange(2, n + 2)), out=ideal[1:])
    return ideal


@inlined
def discount(discounts, rank):
    """Return d(rank) = 1/log2(1 + rank), rank counted from 1."""
    if rank < discounts.shape[0]:
        return discounts[rank]
    return 1.0 / math.log2(1.0 + rank)


@inlined
def discount_drop(drops, rank):
    """Return d(rank - 1) - d(rank) for rank >= 2, without the difference of near equals."""
    if rank < drops.shape[0]:
        return drops[rank]
    return math.log(2.0) * math.log1p(1.0 / rank) / (math.log(rank) * math.log1p(rank))


@jitable
def _monotone_cost(rule, above, P, N):
    total = 0.0
    if rule.kind == AVERAGE_PRECISION:
        for i in range(1, P + 1):
            total += above[i - 1] / (i + np.float64(above[i - 1]))
        return total / P
    if rule.kind == DCG:
        for i in range(1, P + 1):
            if above[i - 1] > 0:
                lost = discount(rule.discounts, np.int64(i + above[i - 1]))
                total += discount(rule.discounts, i) - lost
        return total / rule.ideal[P]
    if rule.kind == AREA:
        for i in range(P):
            total += above[i]
        return total / (P * np.float64(N))
    return _user_cost(rule, above, P, N)


@jitable
def _user_cost(rule, above, P, N):
    total = 0.0
    for i in range(1, P + 1):
        for j in range(1, above[i - 1] + 1):
            total -= call_difference(rule.address, j, i, P, N)
    return total


@jitable
def _top_cost(rule, above, P, N):
    n_counted = min(rule.k, P)
    total = 0.0
    for i in range(1, n_counted + 1):
        rank = np.int64(i + above[i - 1])
        if rule.kind == PRECISION_AT_K:
            total += 1.0 if rank > rule.k else 0.0
        elif rank > i:
            kept = discount(rule.discounts, rank) if rank <= rule.k else 0.0
            total += discount(rule.discounts, i) - kept
    return total / (n_counted if rule.kind == PRECISION_AT_K else rule.ideal[n_counted])


_COSTS = {MonotoneRule: _monotone_cost, TopRule: _top_cost, GeneralRule: _user_cost}


def cost_of_places(rule, above, P, N):
    """Return the cost of an interleaving in which above[i - 1] negatives stand above positive i.

    above : int array of length >= P, not falling
    """
    return _COSTS[type(rule)](rule, above, P, N)


@overload(cost_of_places, jit_options=_LIKE_KERNELS)
def _overload_cost_of_places(rule, above, P, N):
    return _COSTS.get(getattr(rule, "instance_class", None))


#: Users' functions by address. They live as long as the process, since rules hold addresses only.
FUNCTIONS: dict[int, Callable[..., float]] = {}


def call_difference(address, j, i, P, N):
    """Call a user's D by its address: a number, so that all users' rules have one compiled type."""
    return FUNCTIONS[address](j, i, P, N)


@intrinsic
def _call_address(typing, address, j, i, P, N):
    def generate(context, builder, signature, arguments):
        function = ir.FunctionType(ir.DoubleType(), [ir.IntType(64)] * 4).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], function), arguments[1:])

    return types.float64(*[types.int64] * 5), generate


@overload(call_difference, jit_options=_LIKE_KERNELS)
def _overload_call_difference(address, j, i, P, N):
    def call(address, j, i, P, N):
        return _call_address(np.int64(address), np.int64(j), np.int64(i), np.int64(P), np.int64(N))

    return call

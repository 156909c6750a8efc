"""What a ranking costs, as compiled code reads it.

A ranking of P positives and N negatives is an interleaving: positives and negatives each stand in
the order of their scores, and a ranking only chooses how many positives stand above each negative.
Number the positives i = 1..P and the negatives j = 1..N from the highest score down. D_j(i) <= 0 is
the change of the cost when negative j, which has i - 1 positives above it, moves below positive i
as well. So the cost of an interleaving is the sum of -D_j(i) over its inverted pairs, and the truth
costs nothing.

    average precision   D_j(i) = -(1/P) i / ((i + j) (i + j - 1))
    NDCG                D_j(i) = (d(i + j) - d(i + j - 1)) / C,    d(r) = 1 / log2(1 + r)
    AUC                 D_j(i) = -1/(P N)
    NDCG at k           as NDCG, with d(r) = 0 for r > k
    precision at k      D_j(i) = -1/min(k, P) where i + j = k + 1, else 0

C is d(1) + .. + d(P); for NDCG at k the sum ends at min(k, P). In the first three, D_j(i) does not
fall as j grows; they are QS-suitable: the best place of a negative never moves up as j grows. The
divide and conquer of `places` needs this. The other two have algorithms of their own, and so has a
user's D that is not monotone. Hence there are three types of rules, and code is compiled for the
type that is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import jitable, overloads
from maxmargin.core.contract import CostOfPlaces, belongs, generic, implements
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

#: Discounts of ranks below this one are looked up in a table. From this rank on they are computed,
#: which takes three logarithms. A table is made once per size, a power of two.
MOST_RANKS = 1 << 20


@belongs(CostOfPlaces)
class MonotoneRule(NamedTuple):
    """A QS-suitable cost, one whose D_j(i) does not fall as j grows.

    One rule serves all queries of a data set.

    Attributes
    ----------
    kind : int, one of AVERAGE_PRECISION, DCG, AREA, USER
    address : int
        Address of a user's D, a compiled function of (j, i, P, N); 0 for the other kinds.
    discounts, drops : float64 arrays
        d(r), and d(r - 1) - d(r), for the first ranks r. Empty where they are not needed.
    ideal : float64 array
        ideal[p] = d(1) + .. + d(p), up to the largest number of positives of any query. ideal[P] is
        the normaliser C of a query with P positives.
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


@belongs(CostOfPlaces)
class TopRule(NamedTuple):
    """A cost of the first k places. Attributes as of `MonotoneRule`; ideal ends at k."""

    kind: int
    k: int
    discounts: npt.NDArray[np.float64]
    ideal: npt.NDArray[np.float64]


@belongs(CostOfPlaces)
class GeneralRule(NamedTuple):
    """A user's D that is not monotone in j, given by its address, as in `MonotoneRule`."""

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
    """Return a rule for queries with at most n_positives positives and n_samples samples.

    Only NDCG reads these two numbers; only a user's D has an address.

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
    """Return discounts and drops for at least n_ranks ranks, but never more than MOST_RANKS."""
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
    """Return d(rank - 1) - d(rank) for rank >= 2, without subtracting two nearly equal numbers."""
    if rank < drops.shape[0]:
        return drops[rank]
    return math.log(2.0) * math.log1p(1.0 / rank) / (math.log(rank) * math.log1p(rank))


@generic
def cost_of_places(rule, above, P, N):
    """Return the cost of an interleaving in which above[i - 1] negatives stand above positive i.

    above : int array of length >= P, not falling
    """


@implements(cost_of_places, MonotoneRule)
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


@implements(cost_of_places, GeneralRule)
@jitable
def _user_cost(rule, above, P, N):
    total = 0.0
    for i in range(1, P + 1):
        for j in range(1, above[i - 1] + 1):
            total -= call_difference(rule.address, j, i, P, N)
    return total


@implements(cost_of_places, TopRule)
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


#: Users' functions by address. Rules hold only addresses, so this dictionary keeps the functions
#: alive as long as the process lives.
FUNCTIONS: dict[int, Callable[..., float]] = {}


def call_difference(address, j, i, P, N):
    """Return D_j(i) of the user's function at `address`.

    An address is a number, so the rules of all users have one compiled type.
    """
    return FUNCTIONS[address](j, i, P, N)


@overloads(call_difference)
def _compiled_call_difference(address, j, i, P, N):
    call_address = _address_caller()

    def call(address, j, i, P, N):
        return call_address(np.int64(address), np.int64(j), np.int64(i), np.int64(P), np.int64(N))

    return call


@cache
def _address_caller():
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def call_address(typing, address, j, i, P, N):
        def generate(context, builder, signature, arguments):
            function = ir.FunctionType(ir.DoubleType(), [ir.IntType(64)] * 4).as_pointer()
            return builder.call(builder.inttoptr(arguments[0], function), arguments[1:])

        return types.float64(*[types.int64] * 5), generate

    return call_address

"""Documents sorted within their queries, and the scores of all queries in one go.

Documents of query q are where ``query == q``, for q from 0 without gaps. Every function returns one
value per query, nan where it is 0/0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ranked", "auc", "average_precision", "ndcg", "number_queries", "precision", "rank"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]


def number_queries(qid: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """The distinct queries in the order of their first documents, and the place of each document's.

    >>> number_queries(np.array([7, 3, 7]))
    (array([7, 3]), array([0, 1, 0]))
    """
    if qid.dtype.kind == "f" and not np.isfinite(qid).all():
        where = int(np.argmin(np.isfinite(qid)))
        raise ValueError(f"qid[{where}] is {qid[where]}; expected the query of the row.")
    try:
        names, first, query = np.unique(qid, return_index=True, return_inverse=True)
    except TypeError:
        kinds = ", ".join(sorted({type(name).__name__ for name in qid}))
        raise ValueError(
            f"qid must be all numbers or all strings, none missing, got entries of types {kinds}."
        ) from None
    by_first = np.argsort(first)
    return names[by_first], np.argsort(by_first)[query]


@dataclass(frozen=True)
class Ranked:
    """Documents sorted by group and, within a group, by falling score.

    `order` are the documents in this order, `group` numbers the group of each, from 0, `starts`
    says where each group begins, `places` is the place within the group, from 1. A run is what has
    equal scores: `run` numbers the run of each document, `run_starts` says where each run begins.
    """

    order: Ints
    group: Ints
    starts: Ints
    places: Ints
    run: Ints
    run_starts: Ints

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sums over the groups; `values` are in this order."""
        return np.add.reduceat(values, self.starts)

    def run_sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """For every document the sum over its run."""
        return np.add.reduceat(values, self.run_starts)[self.run]

    def run_means(self, values: NDArray[Any]) -> Floats:
        """For every document the mean over its run."""
        return self.run_sums(values) / self.run_sums(np.ones(len(values)))

    def sums_down_to_run(self, values: Bools) -> Ints:
        """For every document the sum from the first of its group to the last of its run."""
        total = np.concatenate([[0], np.cumsum(values)])
        ends = np.append(self.run_starts[1:], len(values))[self.run]
        return total[ends] - total[np.arange(len(values)) - (self.places - 1)]


def rank(scores: Floats, group: Ints, ignore_ties: bool = False) -> Ranked:
    """Sort; with `ignore_ties` every document is a run of its own."""
    order = np.lexsort((-scores, group))  # stable: equal scores stay in the order given
    scores, group = scores[order], group[order]
    is_first = np.append(True, group[1:] != group[:-1])
    starts_run = is_first | np.append(True, (scores[1:] != scores[:-1]) | ignore_ties)
    number, starts = np.cumsum(is_first) - 1, np.flatnonzero(is_first)
    places = np.arange(len(order)) - starts[number] + 1
    run, run_starts = np.cumsum(starts_run) - 1, np.flatnonzero(starts_run)
    return Ranked(order, number, starts, places, run, run_starts)


def _ratio(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """above/below, where 0/0 is nan."""
    return np.where(below == 0, np.nan, above / np.where(below == 0, 1, below))


def average_precision(ranked: Ranked, is_relevant: Bools) -> Floats:
    """Mean over the relevant documents of the precision down to the last of each one's run."""
    is_relevant = is_relevant[ranked.order]
    last_places = ranked.sums_down_to_run(np.ones(len(is_relevant), dtype=bool))
    precision = ranked.sums_down_to_run(is_relevant) / last_places
    return _ratio(ranked.sums(is_relevant * precision), ranked.sums(is_relevant.astype(np.int64)))


def precision(ranked: Ranked, is_relevant: Bools, cuts: list[int]) -> list[Floats]:
    """Share of relevant documents in the first k, for every k of `cuts`; the mean over ties."""
    share = ranked.run_means(is_relevant[ranked.order].astype(np.float64))
    return [ranked.sums(share * (ranked.places <= cut)) / cut for cut in cuts]


def ndcg(ranked: Ranked, gains: Floats, query: Ints, cuts: list[int]) -> list[Floats]:
    """Discounted gains over the best there can be, for every k of `cuts`; the mean over ties."""
    discounts = 1.0 / np.log2(1.0 + ranked.places)  # for both orders: queries have the same sizes
    found = ranked.run_means(gains[ranked.order]) * discounts
    best = gains[rank(gains, query).order] * discounts
    kept = [ranked.places <= cut for cut in cuts]
    return [_ratio(ranked.sums(found * keep), ranked.sums(best * keep)) for keep in kept]


def auc(grades: Floats, scores: Floats, query: Ints, n_queries: int) -> Floats:
    """Share of the pairs of different grades that stand right, ties half.

    Grades are numbered from 0, and a pair is counted at the highest bit in which the numbers of its
    grades differ. For one bit, documents whose higher bits are equal form a group. Within it, those
    with the bit set must stand above those without: this is the case of two grades. So every pair
    is counted once, in log2(n_grades) sorts.
    """
    distinct, level = np.unique(grades, return_inverse=True)
    n_bits = (len(distinct) - 1).bit_length()
    halves, n_pairs = np.zeros(n_queries), np.zeros(n_queries)
    for bit in range(n_bits):
        ranked = rank(scores, (query << (n_bits - bit - 1)) + (level >> (bit + 1)))
        is_upper = (level[ranked.order] >> bit) & 1 == 1
        n_lower = ranked.sums((~is_upper).astype(np.int64))
        n_lower = n_lower[ranked.group]
        behind = n_lower - ranked.sums_down_to_run(~is_upper)
        beside = ranked.run_sums((~is_upper).astype(np.int64))
        of_query = query[ranked.order[is_upper]]
        right = 2.0 * behind[is_upper] + beside[is_upper]
        halves += np.bincount(of_query, right, minlength=n_queries)
        n_pairs += np.bincount(of_query, n_lower[is_upper], minlength=n_queries)
    return _ratio(halves, 2.0 * n_pairs)

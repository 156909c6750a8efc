"""Workspaces of the most violating interleaving, and how many buckets there are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.ranking.buckets import GROUPS

__all__ = ["RankingRoom", "n_buckets", "n_buckets_to_sort", "ranking_room"]

#: How many buckets there are: BUCKETS_PER_POSITIVE for each positive that scores like negatives.
#: Where such positives are few, one bucket for VALUES_PER_BUCKET negatives, up to ENOUGH_BUCKETS.
#: Never more buckets than negatives, or than MOST_BUCKETS. With more buckets fewer negatives must
#: be sorted, but each call goes through the tables of all buckets, and these must stay in the
#: processor's cache.
BUCKETS_PER_POSITIVE = 64
VALUES_PER_BUCKET = 8
ENOUGH_BUCKETS = 1 << 14
MOST_BUCKETS = 1 << 17


class RankingRoom(NamedTuple):
    """Workspaces of `interleave`, for queries up to the sizes that they were made for.

    Attributes
    ----------
    high, order : float64 and int32 arrays of shape (P,)
        After a call: the scores of the positives, from the highest down, and their indices.
    at : int64 array of shape (P + 1,)
        After a call: how many negatives stand at each place.
    values, ids, gathered : float64, int32 and int32 arrays of length max(P, N)
        Negatives that had to be sorted. `gathered` has one entry more.
    first, cursor, bound, runs : int32 arrays, one entry per bucket and one more
    stack, sketch : int64 and float64 arrays of fixed size
    tally : int64 array of shape (2,)
        Numbers of evaluations of D and of comparisons (to look up a bucket counts as one). Every
        call adds to them; the caller reads and clears them.
    """

    high: npt.NDArray[np.float64]
    order: npt.NDArray[np.int32]
    at: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    ids: npt.NDArray[np.int32]
    gathered: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    cursor: npt.NDArray[np.int32]
    bound: npt.NDArray[np.int32]
    runs: npt.NDArray[np.int32]
    stack: npt.NDArray[np.int64]
    sketch: npt.NDArray[np.float64]
    tally: npt.NDArray[np.int64]


def ranking_room(n_positives: int, n_negatives: int) -> RankingRoom:
    """Return workspaces for queries with at most n_positives positives and n_negatives negatives.

    Examples
    --------
    >>> ranking_room(3, 100).at.shape
    (4,)
    """
    larger = max(n_positives, n_negatives)
    n_tables = 1 + max(n_buckets(n_negatives, n_positives), n_buckets_to_sort(larger))
    return RankingRoom(
        high=np.empty(n_positives),
        order=np.empty(n_positives, dtype=np.int32),
        at=np.zeros(n_positives + 1, dtype=np.int64),
        values=np.empty(larger),
        ids=np.empty(larger, dtype=np.int32),
        gathered=np.empty(larger + 1, dtype=np.int32),
        first=np.empty(n_tables, dtype=np.int32),
        cursor=np.empty(n_tables, dtype=np.int32),
        bound=np.empty(n_tables, dtype=np.int32),
        runs=np.empty(n_tables, dtype=np.int32),
        stack=np.empty((128, 5), dtype=np.int64),
        sketch=np.empty((2, GROUPS)),
        tally=np.zeros(2, dtype=np.int64),
    )


@kernel
def n_buckets(n, P):
    """Return the number of buckets for n negatives and the P positives that score like them.

    It is a power of two.
    """
    wanted = max(BUCKETS_PER_POSITIVE * P, min(n // VALUES_PER_BUCKET, ENOUGH_BUCKETS))
    return _power_of_two(min(wanted, n, MOST_BUCKETS))


@kernel
def n_buckets_to_sort(n):
    """Return the number of buckets that sort n values, about n: a power of two."""
    return _power_of_two(min(n, MOST_BUCKETS))


@kernel
def _power_of_two(wanted):
    power = 4
    while 2 * power <= wanted:
        power *= 2
    return power

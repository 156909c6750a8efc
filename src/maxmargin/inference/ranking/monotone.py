"""Places of negatives for a cost that is monotone in j: most of them are known by their bucket.

The edge of a bucket is treated as a negative whose rank j is known: its best place bounds the
places in the buckets on both sides. If both edges of a bucket have the same best place, all
negatives in the bucket have that place. That holds for most buckets, and for all but the first few
where positives and negatives are well apart. The negatives of the other buckets are sorted as far
as `place_runs` needs it.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import jitable, kernel
from maxmargin.inference.ranking.buckets import SHORT_RUN, bucket_edge, bucket_of, count_buckets
from maxmargin.inference.ranking.by_score import fit_negatives, gather_open, place_by_score
from maxmargin.inference.ranking.places import best_place, place_runs
from maxmargin.inference.ranking.rule import AREA, AVERAGE_PRECISION, DCG


@jitable
def place_monotone(rule, cost_scale, negatives, P, room, places):
    """Write the best place of every negative for a monotone cost."""
    if cost_scale == 0.0 or rule.kind == AREA:
        # AUC gains cost_scale/2 per inverted pair, in the units of `places`.
        place_by_score(negatives, 0.5 * cost_scale, P, room, places)
        return
    N = negatives.shape[0]
    pull = cost_scale * 0.5 * P * N
    if rule.kind == AVERAGE_PRECISION:
        pull /= P
    elif rule.kind == DCG:
        pull /= rule.ideal[P]
    values, ids, first, cursor, bound = room.values, room.ids, room.first, room.cursor, room.bound
    n_runs = np.int64(1)
    if N <= SHORT_RUN:
        for s in range(N):
            values[s] = negatives[s]
            ids[s] = s
        room.runs[0] = 0
        first[0] = 0
        cursor[0] = N
        bound[0] = 0
        bound[1] = P
    else:
        B, base, scale = fit_negatives(negatives, P, room)
        count_buckets(negatives, base, scale, B, places, first)
        room.tally[1] += N
        n_runs = _bound_buckets(
            rule.kind, rule.address, rule.drops, pull, P, N, base, scale, B, first, bound, cursor,
            room.runs, room.at, room.high, room.stack, room.tally,
        )  # fmt: skip
        n_open = gather_open(places, bound, room.gathered)
        _collect(negatives, base, scale, B, n_open, room.gathered, cursor, values, ids)
    place_runs(
        rule.kind, rule.address, rule.drops, pull, room.high, P, N, values, ids, n_runs, room.runs,
        cursor, first, bound, places, room.at, room.stack, room.tally,
    )  # fmt: skip


@kernel
def _collect(negatives, base, scale, B, n_open, gathered, cursor, values, ids):
    """Write the gathered negatives to values and ids, bucket after bucket.

    On entry cursor[b] is where bucket b starts, on return where it ends.
    """
    for g in range(n_open):
        s = gathered[g]
        b = bucket_of(negatives[s], base, scale, B)
        values[cursor[b]] = negatives[s]
        ids[cursor[b]] = s
        cursor[b] += 1


@kernel
def _bound_buckets(
    kind, address, drops, pull, P, N, base, scale, B, first, bound, cursor, runs, at, high, stack,
    tally,
):  # fmt: skip
    """Bound the places in all buckets, and count in `at` the negatives that this places.

    Places from bucket b on are >= bound[b], those before bucket b are <= bound[b]. bound[b] is the
    best place of a negative whose score is the edge above bucket b and whose rank is that of the
    last negative before bucket b: all negatives before rank at least as high, all after lower.

    Returns the number of open buckets, those whose two bounds differ. runs receives them in their
    order, and cursor[b] where bucket b starts if the open buckets lie one after the other.
    """
    bound[0] = 0
    bound[B] = P
    n_runs = np.int64(0)
    n_open = np.int64(0)
    depth = 0
    stack[0, 0] = 0
    stack[0, 1] = B
    while depth >= 0:
        left = stack[depth, 0]
        right = stack[depth, 1]
        depth -= 1
        low = np.int64(bound[left])
        top = np.int64(bound[right])
        while right - left > 1 and low < top and first[left] < first[right]:
            middle = (left + right) // 2
            rank = np.int64(max(first[middle], 1))
            edge = bucket_edge(middle, base, scale, B)
            best = best_place(kind, address, drops, pull, high, P, N, rank, edge, low, top, tally)
            bound[middle] = best
            depth += 1
            stack[depth, 0] = middle
            stack[depth, 1] = right
            right = middle
            top = best
        n_here = first[right] - first[left]
        if low == top or n_here == 0:
            # The bounds are equal, or the buckets are empty.
            for b in range(left + 1, right):
                bound[b] = low
            at[low] += n_here
        else:
            cursor[left] = n_open
            n_open += n_here
            runs[n_runs] = left
            n_runs += 1
    return n_runs

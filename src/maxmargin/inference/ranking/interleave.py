"""The most violating interleaving of positives and negatives.

    maximise  sum_ij +-(s+_i - s-_j) / (P N)  +  cost_scale cost(interleaving)

with + where positive i stands above negative j. The positives are sorted. The negatives are only
put into buckets. The edge of a bucket is treated as a negative whose rank j is known: its best
place bounds the places in the buckets on both sides. If both edges of a bucket have the same best
place, all negatives in the bucket have that place. That holds for most buckets, and for all but the
first few where positives and negatives are well apart. The negatives of the other buckets are
sorted as far as `place_runs` needs it.

Of tied interleavings the one nearest to the truth is taken, whatever the cost scale is: a negative
that scores as much as a positive stands below it, unless the cost makes a difference.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import jitable, kernel
from maxmargin.core.dispatch import generic, implements
from maxmargin.inference.ranking.buckets import (
    SHORT_RUN,
    bucket_edge,
    bucket_of,
    count_buckets,
    fit_buckets,
    insert_run,
    sort_run,
    spread_of,
)
from maxmargin.inference.ranking.general import place_all
from maxmargin.inference.ranking.places import best_place, count_at_least, place_runs
from maxmargin.inference.ranking.rule import (
    AREA,
    AVERAGE_PRECISION,
    DCG,
    PRECISION_AT_K,
    GeneralRule,
    MonotoneRule,
    TopRule,
    cost_of_places,
)
from maxmargin.inference.ranking.top import best_top_dcg, best_top_precision, place_top_dcg
from maxmargin.inference.ranking.workspace import (
    RankingRoom,
    n_buckets,
    n_buckets_to_sort,
    ranking_room,
)

__all__ = ["RankingRoom", "interleave", "ranking_cost", "ranking_room"]


@kernel
def interleave(rule, positives, negatives, cost_scale, room, negatives_above, positives_above):
    """Find the most violating interleaving; return its cost.

    Parameters
    ----------
    rule : RankingRule
    positives, negatives : float32 or float64 arrays of shapes (P,) and (N,), in any order, finite
    cost_scale : float, at least 0
    room : RankingRoom for at least P and N
    negatives_above : int32 array of shape (P,); receives for each positive how many negatives
        stand above it. The weight of its score is (N - 2 negatives_above) / (P N).
    positives_above : int32 array of shape (N,); receives for each negative how many positives
        stand above it. The weight of its score is (P - 2 positives_above) / (P N).

    If P = 0 or N = 0 there is one interleaving, the truth, and its cost is 0. For costs that are
    not monotone the kernels add up all P N differences of scores, and this sum must be finite.
    """
    P = positives.shape[0]
    N = negatives.shape[0]
    at = room.at
    for a in range(P + 1):
        at[a] = 0
    if P == 0 or N == 0:
        at[P] = N
        negatives_above[:] = 0
        positives_above[:] = P
        return 0.0
    _sort(positives, room, room.high, room.order, negatives_above)
    place_negatives(rule, cost_scale, negatives, P, room, positives_above)
    # Exactly the negatives at places 0..i stand above positive i, counted from 0.
    total = np.int64(0)
    for i in range(P):
        total += at[i]
        room.ids[i] = total
        negatives_above[room.order[i]] = total
    return cost_of_places(rule, room.ids, P, N)


@kernel
def ranking_cost(rule, positives_above, P, room):
    """Return the cost of an interleaving of P positives and N negatives.

    positives_above : int array of shape (N,), how many positives stand above each negative
    room : RankingRoom for at least P and N; its `at` and `ids` are overwritten

    Takes one pass over the negatives.
    """
    N = positives_above.shape[0]
    if P == 0 or N == 0:
        return 0.0
    at = room.at
    for a in range(P + 1):
        at[a] = 0
    for s in range(N):
        at[positives_above[s]] += 1
    total = np.int64(0)
    for i in range(P):
        total += at[i]
        room.ids[i] = total
    return cost_of_places(rule, room.ids, P, N)


@kernel
def _fit_negatives(negatives, P, room):
    """Return (B, base, scale), the buckets for the negatives; room.high holds the positives."""
    low, high = spread_of(negatives, room.sketch)
    n_beside = count_at_least(room.high, 0, P, 0.0, low, room.tally)
    n_beside -= count_at_least(room.high, 0, n_beside, 0.0, high, room.tally)
    B = n_buckets(negatives.shape[0], n_beside)
    base, scale = fit_buckets(low, high, B)
    return B, base, scale


@kernel
def _sort(values, room, sorted_values, order, which):
    """Write values, sorted from the highest down, to sorted_values, and their indices to order.

    which : int32 workspace as long as values
    """
    n = values.shape[0]
    if n <= SHORT_RUN:
        for s in range(n):
            sorted_values[s] = values[s]
            order[s] = s
        sort_run(sorted_values, order, np.int64(0), n, room.stack, room.tally)
        return
    B = n_buckets_to_sort(n)
    low, high = spread_of(values, room.sketch)
    base, scale = fit_buckets(low, high, B)
    count_buckets(values, base, scale, B, which, room.first)
    room.tally[1] += n
    for b in range(B):
        room.cursor[b] = room.first[b]
    for s in range(n):
        slot = room.cursor[which[s]]
        room.cursor[which[s]] = slot + 1
        sorted_values[slot] = values[s]
        order[slot] = s
    for b in range(B):
        if room.first[b + 1] - room.first[b] > SHORT_RUN:
            start = np.int64(room.first[b])
            end = np.int64(room.first[b + 1])
            sort_run(sorted_values, order, start, end, room.stack, room.tally)
    # One insertion sort over all buckets: no value leaves its own bucket.
    insert_run(sorted_values, order, np.int64(0), n, room.tally)


@jitable
def _place_monotone(rule, cost_scale, negatives, P, room, places):
    """Write the best place of every negative for a monotone cost."""
    if cost_scale == 0.0 or rule.kind == AREA:
        # AUC gains cost_scale/2 per inverted pair, in the units of `places`.
        _place_by_score(negatives, 0.5 * cost_scale, P, room, places)
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
        B, base, scale = _fit_negatives(negatives, P, room)
        count_buckets(negatives, base, scale, B, places, first)
        room.tally[1] += N
        n_runs = _bound_buckets(
            rule.kind, rule.address, rule.drops, pull, P, N, base, scale, B, first, bound, cursor,
            room.runs, room.at, room.high, room.stack, room.tally,
        )  # fmt: skip
        n_open = _gather_open(places, bound, room.gathered)
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
def _place_by_score(negatives, margin, P, room, places):
    """Write how many positives score at least `margin` more than each negative."""
    N = negatives.shape[0]
    high, bound, at = room.high, room.bound, room.at
    if N <= SHORT_RUN:
        for s in range(N):
            places[s] = count_at_least(
                high, np.int64(0), P, np.float64(negatives[s]), margin, room.tally
            )
            at[places[s]] += 1
        return
    B, base, scale = _fit_negatives(negatives, P, room)
    count_buckets(negatives, base, scale, B, places, room.first)
    room.tally[1] += N
    bound[0] = 0
    bound[B] = P
    i = np.int64(0)
    for b in range(1, B):
        edge = bucket_edge(b, base, scale, B)
        while i < P and high[i] - edge >= margin:
            i += 1
        bound[b] = i
    for b in range(B):
        # As in `_gather_open`, a product in place of a branch that the processor must predict.
        at[bound[b]] += (room.first[b + 1] - room.first[b]) * (bound[b] == bound[b + 1])
    gathered = room.gathered
    n_open = _gather_open(places, bound, gathered)
    before = np.nan
    place = np.int64(0)
    for g in range(n_open):
        s = gathered[g]
        value = np.float64(negatives[s])
        # A negative that scores as much as the one before has the same place.
        if value != before:
            before = value
            b = bucket_of(value, base, scale, B)
            place = count_at_least(
                high, np.int64(bound[b]), np.int64(bound[b + 1]), value, margin, room.tally
            )
        places[s] = place
        at[place] += 1


@jitable
def _place_general(rule, cost_scale, negatives, P, room, places):
    """Write the best place of every negative for a cost that need not be monotone."""
    if cost_scale == 0.0:
        # Compare scores exactly: the sums of `place_all` would lose small scores beside large ones.
        _place_by_score(negatives, 0.0, P, room, places)
        return
    N = negatives.shape[0]
    pull = cost_scale * 0.5 * P * N
    _sort(negatives, room, room.values, room.ids, places)
    place_all(rule, pull, room.high, P, N, room.values, room.ids, places, room.at, room.tally)


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


@kernel
def _gather_open(places, bound, gathered):
    """Place the negatives of buckets whose two bounds are equal; return how many others there are.

    places : on entry the bucket of every negative; on return its place, or a lower bound of it
    gathered : receives the negatives that have no place yet
    """
    n_open = 0
    for s in range(places.shape[0]):
        b = places[s]
        places[s] = bound[b]
        # Write s always, and keep it only if bucket b is open: the processor has no branch to
        # predict.
        gathered[n_open] = s
        n_open += bound[b] != bound[b + 1]
    return n_open


@jitable
def _place_top(rule, cost_scale, negatives, P, room, places):
    """Write the best place of every negative for a cost of the first k places."""
    _place_by_score(negatives, 0.0, P, room, places)
    N = negatives.shape[0]
    k = min(rule.k, P + N)
    if cost_scale == 0.0 or (rule.kind == PRECISION_AT_K and k == P + N):
        return
    n_top = min(k, N)
    _gather_top(negatives, n_top, P, room)
    high, values, ids, at = room.high, room.values, room.ids, room.at
    high_sums = np.zeros(P + 1)
    value_sums = np.zeros(n_top + 1)
    shifted = np.empty(n_top)
    top_places = np.empty(n_top, dtype=np.int64)
    # Subtract values[0] from all scores: the sums then stay small even if all scores are large.
    for i in range(P):
        high_sums[i + 1] = high_sums[i] + (high[i] - values[0])
    for s in range(n_top):
        shifted[s] = values[s] - values[0]
        value_sums[s + 1] = value_sums[s] + shifted[s]
        top_places[s] = places[ids[s]]
    n_counted = min(k, P)
    pull = cost_scale * 0.5 * P * N
    if rule.kind == PRECISION_AT_K:
        gain = pull / n_counted
        q = best_top_precision(high_sums, shifted, value_sums, top_places, n_top, k, gain)
        for s in range(q):
            at[top_places[s]] -= 1
            top_places[s] = min(top_places[s], k - q)
    else:
        room.tally[0] += n_counted * n_top
        unit = pull / rule.ideal[n_counted]
        best = np.empty(n_counted + 1)
        q = best_top_dcg(rule.discounts, high_sums, shifted, top_places, n_top, P, k, unit, best)
        for s in range(q):
            at[top_places[s]] -= 1
        place_top_dcg(rule.discounts, high, values, q, k - q, unit, top_places)
    for s in range(q):
        places[ids[s]] = top_places[s]
        at[top_places[s]] += 1


@kernel
def _gather_top(negatives, n_top, P, room):
    """Sort the n_top highest negatives into the beginning of room.values and room.ids."""
    N = negatives.shape[0]
    values, ids = room.values, room.ids
    lowest = -np.inf
    if N > SHORT_RUN:
        # room.first still holds the counts of the buckets, from `_place_by_score`.
        B, base, scale = _fit_negatives(negatives, P, room)
        b = 1
        while b < B and room.first[b] < n_top:
            b += 1
        if b < B:
            lowest = bucket_edge(b, base, scale, B)
    n = np.int64(0)
    for s in range(N):
        if negatives[s] >= lowest:
            values[n] = negatives[s]
            ids[n] = s
            n += 1
    room.tally[1] += N
    sort_run(values, ids, np.int64(0), n, room.stack, room.tally)


@generic
def place_negatives(rule, cost_scale, negatives, P, room, places):
    """Write the best place of every negative, and count the negatives per place in room.at."""


implements(place_negatives, MonotoneRule)(_place_monotone)
implements(place_negatives, TopRule)(_place_top)
implements(place_negatives, GeneralRule)(_place_general)

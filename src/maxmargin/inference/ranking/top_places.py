"""Places of negatives for a cost of the first k places: only the highest negatives can move."""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import jitable, kernel
from maxmargin.inference.ranking.buckets import SHORT_RUN, bucket_edge, sort_run
from maxmargin.inference.ranking.by_score import fit_negatives, place_by_score
from maxmargin.inference.ranking.rule import PRECISION_AT_K
from maxmargin.inference.ranking.top import best_top_dcg, best_top_precision, place_top_dcg


@jitable
def place_top(rule, cost_scale, negatives, P, room, places):
    """Write the best place of every negative for a cost of the first k places."""
    place_by_score(negatives, 0.0, P, room, places)
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
        # room.first still holds the counts of the buckets, from `place_by_score`.
        B, base, scale = fit_negatives(negatives, P, room)
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

"""Places of negatives that scores alone decide, and what all ways to place negatives share."""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel
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
from maxmargin.inference.ranking.places import count_at_least
from maxmargin.inference.ranking.workspace import n_buckets, n_buckets_to_sort


@kernel
def place_by_score(negatives, margin, P, room, places):
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
    B, base, scale = fit_negatives(negatives, P, room)
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
        # As in `gather_open`, a product in place of a branch that the processor must predict.
        at[bound[b]] += (room.first[b + 1] - room.first[b]) * (bound[b] == bound[b + 1])
    gathered = room.gathered
    n_open = gather_open(places, bound, gathered)
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


@kernel
def gather_open(places, bound, gathered):
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


@kernel
def fit_negatives(negatives, P, room):
    """Return (B, base, scale), the buckets for the negatives; room.high holds the positives."""
    low, high = spread_of(negatives, room.sketch)
    n_beside = count_at_least(room.high, 0, P, 0.0, low, room.tally)
    n_beside -= count_at_least(room.high, 0, n_beside, 0.0, high, room.tally)
    B = n_buckets(negatives.shape[0], n_beside)
    base, scale = fit_buckets(low, high, B)
    return B, base, scale


@kernel
def sort_values(values, room, sorted_values, order, which):
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

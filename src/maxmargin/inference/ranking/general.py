"""Interleavings for a cost that is not monotone in j: all places of all negatives, O(P N)."""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import jitable, kernel
from maxmargin.inference.ranking.by_score import place_by_score, sort_values
from maxmargin.inference.ranking.rule import call_difference

__all__ = ["place_all", "place_general"]


@jitable
def place_general(rule, cost_scale, negatives, P, room, places):
    """Write the best place of every negative for a cost that need not be monotone."""
    if cost_scale == 0.0:
        # Compare scores exactly: the sums of `place_all` would lose small scores beside large ones.
        place_by_score(negatives, 0.0, P, room, places)
        return
    N = negatives.shape[0]
    pull = cost_scale * 0.5 * P * N
    sort_values(negatives, room, room.values, room.ids, places)
    place_all(rule, pull, room.high, P, N, room.values, room.ids, places, room.at, room.tally)


@kernel
def place_all(rule, pull, high, P, N, values, ids, places, at, tally):
    """Place all negatives by a dynamic programme over prefixes of both sorted lists.

    best[a] is the highest value of the negatives so far, given that the last of them stands at
    place a or before. No negative may stand before the one that precedes it. Of tied places the
    largest wins. is_here keeps one bit for each of the (P + 1) N cells: whether the best place of
    the negative among 0..a is a itself.

    values, ids : scores of the negatives, from the highest down, and their indices
    places, at : places[ids[s]] receives a place, at[a] is raised by the number placed at a
    """
    best = np.zeros(P + 1)
    is_here = np.zeros((N, P // 8 + 1), dtype=np.uint8)
    tally[0] += P * N
    for j in range(1, N + 1):
        value = values[j - 1]
        # here is the value of negative j at place a, relative to place 0.
        here = 0.0
        before = -np.inf
        for a in range(P + 1):
            if a > 0:
                here += high[a - 1] - value + pull * call_difference(rule.address, j, a, P, N)
            total = best[a] + here
            if total >= before:
                is_here[j - 1, a >> 3] |= np.uint8(1 << (a & 7))
                before = total
            best[a] = before
    a = P
    for s in range(N - 1, -1, -1):
        while a > 0 and (is_here[s, a >> 3] >> (a & 7)) & 1 == 0:
            a -= 1
        places[ids[s]] = a
        at[a] += 1

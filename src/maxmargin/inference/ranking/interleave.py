"""The most violating interleaving of positives and negatives.

    maximise  sum_ij +-(s+_i - s-_j) / (P N)  +  cost_scale cost(interleaving)

with + where positive i stands above negative j. The positives are sorted. The negatives are only
put into buckets, and sorted as far as a cost needs it: monotone.py, top_places.py and general.py
place them by the kind of cost, by_score.py where scores alone decide.

Of tied interleavings the one nearest to the truth is taken, whatever the cost scale is: a negative
that scores as much as a positive stands below it, unless the cost makes a difference.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel
from maxmargin.core.contract import generic, implements
from maxmargin.inference.ranking.by_score import sort_values
from maxmargin.inference.ranking.general import place_general
from maxmargin.inference.ranking.monotone import place_monotone
from maxmargin.inference.ranking.rule import GeneralRule, MonotoneRule, TopRule, cost_of_places
from maxmargin.inference.ranking.top_places import place_top
from maxmargin.inference.ranking.workspace import RankingRoom, ranking_room

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
    sort_values(positives, room, room.high, room.order, negatives_above)
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


@generic
def place_negatives(rule, cost_scale, negatives, P, room, places):
    """Write the best place of every negative, and count the negatives per place in room.at."""


implements(place_negatives, MonotoneRule)(place_monotone)
implements(place_negatives, TopRule)(place_top)
implements(place_negatives, GeneralRule)(place_general)

"""Sets of nodes whose k best can be found: the k best with costs, and the zero-one cost.

With the zero-one cost all sets but the truth cost the same, so the best sets by score are the best
of all, but for the place of the truth.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from maxmargin.core.compile import jitable
from maxmargin.core.contract import generic, implements, k_best, maximize
from maxmargin.costs.tables import SumOverNodes, WholeCost
from maxmargin.structures.hierarchy.costs import augment, scales_with_ties
from maxmargin.structures.hierarchy.data import RankedSets
from maxmargin.structures.hierarchy.sets import write_difference


@generic
def rank_sets(data, room, k, own):
    """Find the k best sets under room.gains; return how many there are.

    Their scores are in own.scores, best first.
    """


@generic
def write_rank(data, rank, room, own):
    """Write the set of a rank of the last `rank_sets` to room.y, as flags of all nodes."""


@implements(k_best, RankedSets, SumOverNodes)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Rank the sets with the cost added to the scores."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    augment(data, cost, i, theta, score_scale, cost_scale, room.gains)
    count = rank_sets(data, room, k, own)
    for rank in range(count):
        write_rank(data, rank, room, own)
        write_difference(data, i, room.y, outputs, at + rank * (data.n_nodes + 1))
    return count


@jitable
def _k_best_priced(data, price, i, theta, room, score_scale, k, own, outputs, at):
    """Rank k + 1 sets by score, where all but the truth have a price added; write k of them."""
    for n in range(data.n_nodes):
        room.gains[n] = theta.nodes[0, n]
    count = rank_sets(data, room, k + 1, own)
    place = count  # of the truth
    size = data.n_nodes + 1
    for rank in range(count):
        write_rank(data, rank, room, own)
        write_difference(data, i, room.y, outputs, at)
        if outputs[at] == 0:
            place = rank
    # The truth is the only one without the price. It moves down to ``after``, right before the
    # first set that is worse even with the price added.
    after = place
    while after + 1 < count and score_scale * (own.scores[place] - own.scores[after + 1]) <= price:
        after += 1
    n_written = min(count, k)
    for rank in range(n_written):
        source = rank
        if place <= rank < after:
            source = rank + 1
        elif rank == after:
            source = place
        write_rank(data, source, room, own)
        write_difference(data, i, room.y, outputs, at + rank * size)
    return n_written


@implements(k_best, RankedSets, WholeCost)
def _k_best_whole(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Write the k best sets, where all but the truth cost the same."""
    price = cost_scale * cost.price[i]
    return _k_best_priced(data, price, i, theta, room, score_scale, k, own, outputs, at)


@jitable
def best_priced(data, price, i, theta, room, score_scale, outputs, at):
    """Write the best set, where all but the truth have a price added: the first of k = 1."""
    _k_best_priced(data, price, i, theta, room, score_scale, 1, room.two, outputs, at)


@implements(maximize, RankedSets, WholeCost)
def _maximize_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write the best set, where all but the truth cost the same."""
    best_priced(data, cost_scale * cost.price[i], i, theta, room, score_scale, outputs, at)

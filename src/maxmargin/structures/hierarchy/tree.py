"""Oracles of sets of nodes of a forest: dynamic programmes from the leaves to the roots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import implements, k_best, k_best_room, maximize, workspace
from maxmargin.costs.tables import SwitchCost, WholeCost
from maxmargin.inference.hierarchy.forest import (
    BestSets,
    best_k_sets,
    best_set,
    best_sets_room,
    write_ranked_set,
)
from maxmargin.structures.hierarchy.costs import augment, scales_with_ties
from maxmargin.structures.hierarchy.data import TreeSets
from maxmargin.structures.hierarchy.sets import NodePotentials, write_difference


class TreeRoom(NamedTuple):
    """Room for the best outputs of one example."""

    gains: Any  # (n_nodes,)
    below: Any  # (n_nodes + 1,)
    single: Any  # (n_nodes + 1,) int32
    y: Any  # (n_nodes,) int8
    must: Any  # (0,) int8: no node must be in the output
    two: BestSets


@implements(workspace, TreeSets)
def _workspace(data):
    """Return theta and room for sums below nodes, and for the two best sets."""
    M = data.n_nodes
    room = TreeRoom(
        np.zeros(M),
        np.zeros(M + 1),
        np.zeros(M + 1, dtype=np.int32),
        np.zeros(M, dtype=np.int8),
        np.zeros(0, dtype=np.int8),
        best_sets_room(M, 2),
    )
    return NodePotentials(np.zeros((1, M))), room


@implements(maximize, TreeSets, SwitchCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Find the best set with the cost added to the scores."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    augment(data, cost, i, theta, score_scale, cost_scale, room.gains)
    best_set(room.gains, data.parent, data.to_leaves, room.must, room.below, room.single, room.y)
    write_difference(data, i, room.y, outputs, at)


@implements(k_best_room, TreeSets)
def _k_best_room(data, cost, k):
    """Return room for k sets; with a `WholeCost` for one more, since one may be the truth."""
    return best_sets_room(data.n_nodes, k + isinstance(cost, WholeCost))


@jitable
def _rank(data, room, k, own):
    """Find the k best sets under room.gains; return how many there are."""
    return best_k_sets(room.gains, data.parent, data.n_children, data.to_leaves, room.must, k, own)


@jitable
def _write_rank(data, i, rank, room, own, outputs, at):
    """Write the set of a rank as an output."""
    write_ranked_set(rank, data.parent, data.n_children, data.to_leaves, own, room.y)
    write_difference(data, i, room.y, outputs, at)


@implements(k_best, TreeSets, SwitchCost)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Rank the sets with the cost added to the scores."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    augment(data, cost, i, theta, score_scale, cost_scale, room.gains)
    count = _rank(data, room, k, own)
    for rank in range(count):
        _write_rank(data, i, rank, room, own, outputs, at + rank * (data.n_nodes + 1))
    return count


@jitable
def _k_best_priced(data, price, i, theta, room, score_scale, k, own, outputs, at):
    """Rank k + 1 sets by score, where all but the truth have a price added; write k of them."""
    for n in range(data.n_nodes):
        room.gains[n] = theta.nodes[0, n]
    count = _rank(data, room, k + 1, own)
    place = count  # of the truth
    size = data.n_nodes + 1
    for rank in range(count):
        _write_rank(data, i, rank, room, own, outputs, at)
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
        _write_rank(data, i, source, room, own, outputs, at + rank * size)
    return n_written


@implements(k_best, TreeSets, WholeCost)
def _k_best_whole(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Write the k best sets, where all but the truth cost the same."""
    price = cost_scale * cost.price[i]
    return _k_best_priced(data, price, i, theta, room, score_scale, k, own, outputs, at)


@implements(maximize, TreeSets, WholeCost)
def _maximize_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Take the first of the k best, k = 1."""
    price = cost_scale * cost.price[i]
    _k_best_priced(data, price, i, theta, room, score_scale, 1, room.two, outputs, at)

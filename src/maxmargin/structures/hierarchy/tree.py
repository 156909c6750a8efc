"""Oracles of sets of nodes of a forest: dynamic programmes from the leaves to the roots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import implements, k_best_room, maximize, workspace
from maxmargin.costs.tables import SumOverNodes, WholeCost
from maxmargin.inference.hierarchy.forest import (
    BestSets,
    best_k_sets,
    best_set,
    best_sets_room,
    write_ranked_set,
)
from maxmargin.structures.hierarchy.costs import augment, scales_with_ties
from maxmargin.structures.hierarchy.data import TreeSets
from maxmargin.structures.hierarchy.ranked import rank_sets, write_rank
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


@implements(maximize, TreeSets, SumOverNodes)
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


@implements(rank_sets, TreeSets)
def _rank_sets(data, room, k, own):
    """Find the k best sets; return how many there are."""
    return best_k_sets(room.gains, data.parent, data.n_children, data.to_leaves, room.must, k, own)


@implements(write_rank, TreeSets)
def _write_rank(data, rank, room, own):
    """Write the set of a rank."""
    write_ranked_set(rank, data.parent, data.n_children, data.to_leaves, own, room.y)

"""Oracles of closed sets of nodes of a DAG: minimum cuts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import implements, k_best_room, maximize, workspace
from maxmargin.costs.tables import SumOverNodes, WholeCost
from maxmargin.inference.hierarchy.closure import ClosureRoom, best_closure, closure_room
from maxmargin.inference.hierarchy.closure_kbest import (
    BestClosures,
    best_closures_room,
    best_k_closures,
)
from maxmargin.structures.hierarchy.costs import augment, scales_with_ties
from maxmargin.structures.hierarchy.data import CutSets
from maxmargin.structures.hierarchy.ranked import best_priced, rank_sets, write_rank
from maxmargin.structures.hierarchy.sets import NodePotentials, write_difference


class CutRoom(NamedTuple):
    """Room for the best outputs of one example."""

    gains: Any  # (n_nodes,)
    y: Any  # (n_nodes,) int8
    must: Any  # (0,) int8: no node must be in the output
    closure: ClosureRoom
    two: BestClosures


@implements(workspace, CutSets)
def _workspace(data):
    """Return theta, a network with room for its flow, and room for the two best sets."""
    M = data.n_nodes
    none = np.zeros(0, dtype=np.int8)
    y = np.zeros(M, dtype=np.int8)
    room = CutRoom(np.zeros(M), y, none, closure_room(data.shape), best_closures_room(M, 2))
    return NodePotentials(np.zeros((1, M))), room


@implements(maximize, CutSets, SumOverNodes)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Find the best closed set with the cost added to the scores."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    augment(data, cost, i, theta, score_scale, cost_scale, room.gains)
    best_closure(room.gains, data.shape, room.must, room.closure, room.y)
    write_difference(data, i, room.y, outputs, at)


@implements(maximize, CutSets, WholeCost)
def _maximize_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Take the set of best score; where that is the truth, compare it with the second best."""
    for n in range(data.n_nodes):
        room.gains[n] = theta.nodes[0, n]
    best_closure(room.gains, data.shape, room.must, room.closure, room.y)
    write_difference(data, i, room.y, outputs, at)
    if outputs[at] == 0:
        best_priced(data, cost_scale * cost.price[i], i, theta, room, score_scale, outputs, at)


@implements(k_best_room, CutSets)
def _k_best_room(data, cost, k):
    """Return room for k sets; with a `WholeCost` for one more, since one may be the truth."""
    return best_closures_room(data.n_nodes, k + isinstance(cost, WholeCost))


@implements(rank_sets, CutSets)
def _rank_sets(data, room, k, own):
    """Find the k best closed sets; return how many there are."""
    return best_k_closures(room.gains, data.shape, room.must, k, room.closure, own)


@implements(write_rank, CutSets)
def _write_rank(data, rank, room, own):
    """Write the set of a rank."""
    for n in range(data.n_nodes):
        room.y[n] = own.sets[rank, n]

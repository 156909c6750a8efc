"""Oracles of closed sets of nodes of a DAG: one minimum cut."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import implements, maximize, workspace
from maxmargin.costs.tables import SwitchCost, WholeCost
from maxmargin.inference.hierarchy.closure import ClosureRoom, best_closure, closure_room
from maxmargin.structures.hierarchy.costs import augment, scales_with_ties
from maxmargin.structures.hierarchy.data import CutSets
from maxmargin.structures.hierarchy.sets import NodePotentials, write_difference


class CutRoom(NamedTuple):
    """Room for the best output of one example."""

    gains: Any  # (n_nodes,)
    y: Any  # (n_nodes,) int8
    must: Any  # (0,) int8: no node must be in the output
    first: Any  # (n_nodes,) int8: the best set
    path: Any  # (n_nodes,) int8: a node and all above it
    best: Any  # (n_nodes,) int8: the best set other than the truth so far
    closure: ClosureRoom


@implements(workspace, CutSets)
def _workspace(data):
    """Return theta and a network with room for its flow."""
    M = data.n_nodes
    y, first, path, best = np.zeros((4, M), dtype=np.int8)
    none = np.zeros(0, dtype=np.int8)
    room = CutRoom(np.zeros(M), y, none, first, path, best, closure_room(data.shape))
    return NodePotentials(np.zeros((1, M))), room


@implements(maximize, CutSets, SwitchCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Find the best closed set with the cost added to the scores."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    augment(data, cost, i, theta, score_scale, cost_scale, room.gains)
    best_closure(room.gains, data.shape, room.must, room.closure, room.y)
    write_difference(data, i, room.y, outputs, at)


# -- the zero-one cost ---------------------------------------------------------------------------


@jitable
def _has_flag(ends, others, v, flags, flag):
    """Tell whether a neighbour of node v, others[ends[v] : ends[v + 1]], has this flag."""
    for place in range(ends[v], ends[v + 1]):
        if flags[others[place]] == flag:
            return True
    return False


@jitable
def _best_other(data, room):
    """Write the best closed set other than the one in room.y, a best one, to room.best.

    Another closed set has a node more all whose parents are in room.y, or lacks a node of it that
    has no child there. So one cut for each of these nodes finds it. Returns its score, under
    room.gains.
    """
    shape = data.shape
    for n in range(data.n_nodes):
        room.first[n] = room.y[n]
    found = -np.inf
    for n in range(data.n_nodes):
        is_in = room.first[n] == 1
        if is_in and _has_flag(shape.child_at, shape.children, n, room.first, 1):
            continue
        if not is_in and _has_flag(shape.parent_at, shape.parents, n, room.first, 0):
            continue
        if is_in:
            kept = room.gains[n]
            room.gains[n] = -np.inf
            value = best_closure(room.gains, shape, room.must, room.closure, room.y)
            room.gains[n] = kept
        else:
            for v in range(data.n_nodes):
                room.path[v] = 1 if v == n else 0
            for v in range(n, -1, -1):
                if room.path[v] == 1:
                    for place in range(shape.parent_at[v], shape.parent_at[v + 1]):
                        room.path[shape.parents[place]] = 1
            value = best_closure(room.gains, shape, room.path, room.closure, room.y)
        if value > found:
            found = value
            for v in range(data.n_nodes):
                room.best[v] = room.y[v]
    return found


@implements(maximize, CutSets, WholeCost)
def _maximize_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Take the best set other than the truth, unless its value is below 0, the truth's.

    Slow where the truth itself has the best score: then a cut for many of the nodes is needed.
    """
    for n in range(data.n_nodes):
        room.gains[n] = theta.nodes[0, n]
    score = best_closure(room.gains, data.shape, room.must, room.closure, room.y)
    write_difference(data, i, room.y, outputs, at)
    if outputs[at] > 0:
        return
    other = _best_other(data, room)
    if score_scale * (other - score) + cost_scale * cost.price[i] >= 0.0:
        write_difference(data, i, room.best, outputs, at)

"""Oracles of closed sets of nodes of a DAG: one minimum cut."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import implements, maximize, workspace
from maxmargin.costs.tables import SwitchCost
from maxmargin.inference.hierarchy.closure import ClosureRoom, best_closure, closure_room
from maxmargin.structures.hierarchy.costs import augment, scales_with_ties
from maxmargin.structures.hierarchy.data import CutSets
from maxmargin.structures.hierarchy.sets import NodePotentials, write_difference


class CutRoom(NamedTuple):
    """Room for the best output of one example."""

    gains: Any  # (n_nodes,)
    y: Any  # (n_nodes,) int8
    must: Any  # (0,) int8: no node must be in the output
    closure: ClosureRoom


@implements(workspace, CutSets)
def _workspace(data):
    """Return theta and a network with room for its flow."""
    M = data.n_nodes
    none = np.zeros(0, dtype=np.int8)
    room = CutRoom(np.zeros(M), np.zeros(M, dtype=np.int8), none, closure_room(data.shape))
    return NodePotentials(np.zeros((1, M))), room


@implements(maximize, CutSets, SwitchCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Find the best closed set with the cost added to the scores."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    augment(data, cost, i, theta, score_scale, cost_scale, room.gains)
    best_closure(room.gains, data.shape, room.must, room.closure, room.y)
    write_difference(data, i, room.y, outputs, at)

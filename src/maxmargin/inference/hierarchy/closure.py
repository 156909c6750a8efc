"""The best closed set of nodes of any hierarchy, by one minimum cut.

A set of nodes is closed if it holds the parents of its nodes. The closed set of largest score is
the classical maximum-weight closure: let every node send its score, if positive, along the arcs to
its parents, as long as nodes of negative score absorb it. What can be reached from the rest is the
best set, and the smallest of the best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.maxflow import FlowNetwork, FlowRoom, flow_room, max_flow
from maxmargin.inference.hierarchy.shape import HierarchyShape

__all__ = ["ClosureRoom", "best_closure", "closure_room"]


class ClosureRoom(NamedTuple):
    """The network of a hierarchy, and workspace of `best_closure`."""

    network: FlowNetwork
    flow: FlowRoom
    is_up: npt.NDArray[np.bool_]  # (2 E,): whether an arc leads to a parent


def closure_room(shape: HierarchyShape) -> ClosureRoom:
    """Return the network that has an arc from each node to each of its parents, and room for it."""
    n_nodes = len(shape.parent_at) - 1
    child = np.repeat(np.arange(n_nodes), np.diff(shape.parent_at))
    n_edges = len(child)
    # Arc e leads from child to parent, arc n_edges + e back; sort all by the node that they leave.
    tails = np.concatenate([child, shape.parents])
    heads = np.concatenate([shape.parents, child])
    order = np.argsort(tails, kind="stable")
    place = np.empty(2 * n_edges, dtype=np.int64)
    place[order] = np.arange(2 * n_edges)
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(tails, minlength=n_nodes), out=start[1:])
    network = FlowNetwork(
        start,
        heads[order].astype(np.int32),
        np.roll(place, n_edges)[order].astype(np.int32),
        np.zeros(2 * n_edges),
        np.zeros(n_nodes),
    )
    return ClosureRoom(network, flow_room(n_nodes), order < n_edges)


@kernel
def best_closure(scores, shape, must, room, y):
    """Write the smallest of the best closed sets into y; return its score.

    Parameters
    ----------
    scores : float64 array of shape (M,)
        -inf keeps a node out, and so the nodes below it.
    shape : HierarchyShape
    must : int8 array of shape (M,) or (0,)
        Flags of nodes that are in every set; holds the parents of its nodes.
    room : ClosureRoom
    y : int8 array of length >= M, 0 or 1

    Returns
    -------
    score : float
        -inf if a node of ``must`` is kept out; y is not to be used then.
    """
    M = shape.parent_at.shape[0] - 1
    excess, residual = room.network.excess, room.network.residual
    has_must = must.shape[0] > 0
    # Nodes that are in, and nodes that are kept out, neither supply nor absorb anything. All
    # parents of the former are in, and all children of the latter are out, so the flow between the
    # other nodes is as if these were not there.
    total = limit = 0.0
    for n in range(M):
        y[n] = 0  # 2: kept out
        if scores[n] == -np.inf:
            y[n] = 2
        for place in range(shape.parent_at[n], shape.parent_at[n + 1]):
            if y[shape.parents[place]] == 2:
                y[n] = 2
        if y[n] == 2:
            excess[n] = 0.0
            if has_must and must[n] == 1:
                return -np.inf
        elif has_must and must[n] == 1:
            excess[n] = 0.0
            y[n] = 1
            total += scores[n]
        else:
            excess[n] = scores[n]
            limit += max(scores[n], 0.0)
    for arc in range(residual.shape[0]):
        residual[arc] = 2.0 * limit if room.is_up[arc] else 0.0  # twice what can flow: never full
    if limit > 0.0:
        max_flow(M, room.network, room.flow)
        for n in range(M):
            if y[n] == 2:
                y[n] = 0
            elif y[n] == 0 and room.flow.level[n] >= 0:
                y[n] = 1
                total += scores[n]
    else:
        for n in range(M):
            if y[n] == 2:
                y[n] = 0
    return total

"""Edge fields of trees whose partial paths have weights besides: exact, state by state of a path.

The value of a node depends on the labels of the path from its root to the node alone. So with
B_v(a) the best value of all below and including v, given the labels a of its ancestors,

    B_v(a) = max over y_v of value_v(a, y_v) + sum over children c of B_c(a, y_v).

A node at depth k (a root has depth 1) has 2^k cells; nothing else grows with the depth.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import belongs, implements, maximize
from maxmargin.costs.tables import SumOverParts
from maxmargin.features.rows import frozen
from maxmargin.structures.graph.costs import SMALL_SCALE, augment
from maxmargin.structures.graph.data import AnyGraphs, Graphs, IntegralGraphs


@belongs(IntegralGraphs, AnyGraphs)
class PathFields(NamedTuple):
    """Examples that share one forest of M nodes, numbered parents first; node M is always on.

    Edge v leads to node v from its parent, or from node M. Hyperedges join the nodes of paths.
    """

    graphs: Graphs
    parent: Any  # (M,) int32: -1 for roots
    value_at: Any  # (M + 1,) int64: where the cells of each node begin
    hyper: Any  # (M,) int32: the hyperedge that ends in a node, -1 without one


def path_field(graphs: Graphs, parent: np.ndarray, hyper: np.ndarray) -> PathFields:
    """Return fields of a forest, by the parent of each node and the hyperedge that ends in it."""
    depth = np.zeros(len(parent), dtype=np.int64)
    for v, above in enumerate(parent.tolist()):
        depth[v] = 1 + (depth[above] if above >= 0 else 0)
    ends = np.concatenate([[0], np.cumsum(2**depth)])
    return PathFields(
        graphs, frozen(parent, np.int32), frozen(ends, np.int64), frozen(hyper, np.int32)
    )


@jitable
def fill_values(data, i, unary, tables, values):
    """Fill the cells of all nodes with what the node, its edge and its path add to the score."""
    shapes = data.graphs.shapes
    n_edges = data.graphs.edge_at[i + 1] - data.graphs.edge_at[i]
    first = shapes.factor_at[i]
    for v in range(data.parent.shape[0]):
        at, edge = data.value_at[v], shapes.table_at[first + v]
        for cell in range(data.value_at[v + 1] - at):
            # The labels of the parent and of v are the last two bits; node M is on.
            pair = cell % 4 if data.parent[v] >= 0 else 2 + cell
            values[at + cell] = unary[2 * v + cell % 2] + tables[edge + pair]
        if data.hyper[v] >= 0:
            path = shapes.table_at[first + n_edges + data.hyper[v]]
            for cell in range(data.value_at[v + 1] - at):
                values[at + cell] += tables[path + cell]


@jitable
def _best_set(data, room, labels):
    """Write the best labels of all nodes; ties go to off."""
    values, value_at, n_nodes = room.values, data.value_at, data.parent.shape[0]
    for back in range(n_nodes):
        v = n_nodes - 1 - back  # children come after their parents
        if data.parent[v] >= 0:
            at, into = value_at[v], value_at[data.parent[v]]
            for above in range((value_at[v + 1] - at) // 2):
                values[into + above] += max(values[at + 2 * above], values[at + 2 * above + 1])
    for v in range(n_nodes):
        code = 2 * room.code[data.parent[v]] if data.parent[v] >= 0 else 0
        at = value_at[v] + code
        labels[v] = 1 if values[at + 1] > values[at] else 0
        room.code[v] = code + labels[v]
    labels[n_nodes] = 1


@implements(maximize, PathFields, SumOverParts)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Find the best set, with the cost added to the potentials."""
    own = augment(cost, data, i, theta, max(score_scale, SMALL_SCALE), cost_scale, room)
    fill_values(data, i, own.unary, own.tables, room.values)
    _best_set(data, room, outputs[at : at + data.parent.shape[0] + 1])

"""Oracles of graphs without cycles: the best labelling and the k best, exactly."""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    implements,
    k_best,
    k_best_room,
    margin_error,
    maximize,
    workspace,
)
from maxmargin.costs.tables import SumOverParts, WholeCost
from maxmargin.features.rows import frozen
from maxmargin.inference.graph.forest import (
    ForestOrder,
    ForestRoom,
    KBestRoom,
    best_forest,
    best_k_forest,
    find_forest,
    forest_room,
    kbest_room,
)
from maxmargin.inference.graph.shape import Shape
from maxmargin.structures.graph.costs import SMALL_SCALE, augment, is_truth, write_truth
from maxmargin.structures.graph.cycles import cycle_of
from maxmargin.structures.graph.data import ForestGraphs, Graphs, graph_potentials
from maxmargin.structures.graph.shapes import Shapes, graph_of


def forest_data(graphs: Graphs) -> ForestGraphs:
    """Return graphs without cycles; refuse hyperedges, and a cycle by naming its nodes."""
    orders = []
    for i in range(len(graphs.shapes.n_cells)):
        shape = graph_of(graphs.shapes, i)
        found = find_forest(shape)
        if found is None:
            raise ValueError(f"graph {i} is no forest: {_why_no_forest(shape)}.")
        orders.append(found)
    empty = ForestOrder(*(np.zeros(0, dtype=np.int32) for _ in range(3)))
    columns = zip(empty, *orders, strict=True)
    return ForestGraphs(graphs, *(frozen(np.concatenate(each), np.int32) for each in columns))


def _why_no_forest(shape: Shape) -> str:
    """Return what keeps a graph from being a forest of edges."""
    orders = np.diff(shape.member_at)
    if (orders > 2).any():
        f = int(np.argmax(orders > 2))
        nodes = shape.members[shape.member_at[f] : shape.member_at[f + 1]].tolist()
        return f"a hyperedge joins the nodes {', '.join(map(str, nodes))}"
    cycle = cycle_of(len(shape.n_labels), shape.members.reshape(-1, 2))
    return f"the nodes {' - '.join(map(str, cycle))} lie on a cycle"


def are_forests(graphs: Graphs) -> bool:
    """Tell whether no graph has a cycle or a hyperedge."""
    shapes = graphs.shapes
    if np.asarray(graphs.hyper_at)[-1] > 0:
        return False
    if (np.diff(graphs.edge_at) >= np.maximum(np.diff(shapes.node_at), 1)).any():
        return False
    return all(find_forest(graph_of(shapes, i)) for i in range(len(shapes.n_cells)))


def largest_shape(shapes: Shapes) -> Shape:
    """Return a shape that is as large as that of the largest graph; for sizes only."""
    none = np.zeros(0, dtype=np.int64)
    few = none.astype(np.int32)
    return Shape(
        shapes.n_labels,
        shapes.unary_at,
        none,
        few,
        shapes.on,
        shapes.kinds,
        none,
        shapes.message_at,
        none,
        few,
        few,
    )


class ForestOracleRoom(NamedTuple):
    """Room for the best labelling of one graph, and for the two best."""

    augmented: Any  # (most nodes * n_labels,)
    tables: Any  # (most cells,), for costs of edges
    forest: ForestRoom
    two: KBestRoom
    pair: Any  # (2 * most nodes,) int32
    scores: Any  # (2,)


@implements(workspace, ForestGraphs)
def _workspace(data):
    """Return theta and room for the largest graph."""
    shape = largest_shape(data.graphs.shapes)
    theta = graph_potentials(data)
    room = ForestOracleRoom(
        np.zeros(len(theta.unary)),
        np.zeros(len(theta.tables)),
        forest_room(shape),
        kbest_room(shape, 2),
        np.zeros(2 * len(shape.n_labels), dtype=np.int32),
        np.zeros(2),
    )
    return theta, room


@jitable
def forest_of(data, i):
    """Return the order of graph i, made of views."""
    first, last = data.graphs.shapes.node_at[i], data.graphs.shapes.node_at[i + 1]
    return ForestOrder(data.order[first:last], data.parent[first:last], data.edge[first:last])


@implements(maximize, ForestGraphs, SumOverParts)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Find the best labelling in two passes, with the cost added to the potentials."""
    shape = graph_of(data.graphs.shapes, i)
    own = augment(cost, data, i, theta, max(score_scale, SMALL_SCALE), cost_scale, room)
    found = outputs[at : at + shape.n_labels.shape[0]]
    best_forest(shape, own.unary, own.tables, forest_of(data, i), room.forest, found)


# -- the k best ----------------------------------------------------------------------------------


class KBestOracleRoom(NamedTuple):
    """Room for the k best labellings of one graph."""

    best: KBestRoom
    labels: Any  # (k * most nodes,) int32
    scores: Any  # (k,)


@implements(k_best_room, ForestGraphs)
def _k_best_room(data, cost, k):
    """Return room for k labellings, and one more where the truth may be one of them."""
    if isinstance(cost, WholeCost):
        k += 1
    shape = largest_shape(data.graphs.shapes)
    labels = np.zeros(k * len(shape.n_labels), dtype=np.int32)
    return KBestOracleRoom(kbest_room(shape, k), labels, np.zeros(k))


@implements(k_best, ForestGraphs, SumOverParts)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Find the k best labellings, with the cost added to the potentials."""
    shape = graph_of(data.graphs.shapes, i)
    n = shape.n_labels.shape[0]
    priced = augment(cost, data, i, theta, max(score_scale, SMALL_SCALE), cost_scale, room)
    return best_k_forest(
        shape,
        priced.unary,
        priced.tables,
        forest_of(data, i),
        k,
        own.best,
        outputs[at : at + k * n].reshape((k, n)),
        own.scores,
    )


# -- the zero-one cost: the right labelling against all others, which cost the same ----------------


@jitable
def best_other(data, i, theta, room):
    """Find the best labelling other than the truth; return where room.pair has it, or -1."""
    shape = graph_of(data.graphs.shapes, i)
    n = shape.n_labels.shape[0]
    n_found = best_k_forest(
        shape,
        theta.unary,
        theta.tables,
        forest_of(data, i),
        2,
        room.two,
        room.pair[: 2 * n].reshape((2, n)),
        room.scores,
    )
    for rank in range(n_found):
        if not is_truth(data, i, room.pair, rank * n):
            return rank * n
    return -1


@implements(maximize, ForestGraphs, WholeCost)
def _maximize_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Compare the best labelling other than the truth with the truth, whose value is 0."""
    place = best_other(data, i, theta, room)
    if place >= 0:
        error = margin_error(data, i, theta, room.pair, place)
        if score_scale * error + cost_scale * cost.price[i] > 0.0:
            for v in range(data.graphs.shapes.node_at[i + 1] - data.graphs.shapes.node_at[i]):
                outputs[at + v] = room.pair[place + v]
            return
    write_truth(data, i, outputs, at)


@implements(k_best, ForestGraphs, WholeCost)
def _k_best_whole(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Write the k best labellings, where all but the truth cost the same.

    The k best others are among the k + 1 of highest score. The truth, whose value is 0, is put
    before the first of them whose value is not above 0.
    """
    shape = graph_of(data.graphs.shapes, i)
    n = shape.n_labels.shape[0]
    listed = own.labels[: (k + 1) * n]
    n_found = best_k_forest(
        shape,
        theta.unary,
        theta.tables,
        forest_of(data, i),
        k + 1,
        own.best,
        listed.reshape((k + 1, n)),
        own.scores,
    )
    count = 0
    truth_waits = True
    for rank in range(n_found + 1):
        is_other = rank < n_found and not is_truth(data, i, listed, rank * n)
        value = -np.inf
        if is_other:
            error = margin_error(data, i, theta, listed, rank * n)
            value = score_scale * error + cost_scale * cost.price[i]
        if truth_waits and value <= 0.0 and count < k and (is_other or rank == n_found):
            write_truth(data, i, outputs, at + count * n)
            count += 1
            truth_waits = False
        if is_other and count < k:
            for v in range(n):
                outputs[at + count * n + v] = listed[rank * n + v]
            count += 1
    return count

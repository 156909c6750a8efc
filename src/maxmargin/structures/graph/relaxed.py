"""Oracles of graphs relaxed to the local polytope: message passing, then ADMM.

If the bound of message passing is that of its labelling, the labelling is the best point as well.
Elsewhere ADMM goes on from its messages, to a point that is projected onto the polytope exactly,
and a bound. Both bounds hold for all points. The messages of ADMM are kept where its bound is the
better one: the next search in the graph starts with them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    connect,
    implements,
    maximize,
    maximize_bounded,
    workspace,
)
from maxmargin.core.sealed import write_addresses
from maxmargin.costs.tables import SumOverPositions
from maxmargin.features.rows import frozen
from maxmargin.inference.graph.admm import ADMM, AdmmRoom
from maxmargin.inference.graph.projection import point_value, project
from maxmargin.inference.graph.score import dense_score
from maxmargin.structures.graph.costs import SMALL_SCALE, augment, largest_prices
from maxmargin.structures.graph.data import Effort, Graphs, RelaxedGraphs, graph_potentials
from maxmargin.structures.graph.messages import (
    MOST_BYTES,
    CyclicRoom,
    cyclic_room,
    message_memory,
    passing_of_all,
)
from maxmargin.structures.graph.oracles import (
    ROUNDING,
    search,
    search_bounded,
    search_graph,
    wanted_effort,
)
from maxmargin.structures.graph.points import write_labelling, write_point
from maxmargin.structures.graph.shapes import graph_of

#: Most iterations of ADMM, and in haste.
N_ITERATIONS, HASTY_ITERATIONS = 1000, 50
#: Marginals below this are set to 0 before the projection, so that outputs are sparse.
SMALLEST_MASS = 1e-7


def relaxed_data(
    graphs: Graphs, precision: float = 0.0, n_iterations: int = 100, most_bytes: int = MOST_BYTES
) -> RelaxedGraphs:
    """Return graphs whose outputs are the points of the local polytope.

    Parameters are those of `general_data`.
    """
    shapes = graphs.shapes
    ends = [
        np.append(shapes.table_at[shapes.factor_at[i] : shapes.factor_at[i + 1]], shapes.n_cells[i])
        for i in range(len(shapes.n_cells))
    ]
    return RelaxedGraphs(
        graphs,
        passing_of_all(graphs),
        message_memory(graphs, most_bytes),
        Effort(precision, n_iterations, 0),
        frozen(np.concatenate([np.zeros(0), *ends]), np.int64),
    )


class RelaxedRoom(NamedTuple):
    """Room for the best point of one graph; arrays are as long as the largest graph needs."""

    search: CyclicRoom
    labels: Any  # (most nodes,) int32
    messages: Any
    nodes: Any
    factors: Any
    admm: AdmmRoom
    entries: Any  # (1,) int64: the address of `admm`


@implements(workspace, RelaxedGraphs)
def _workspace(data):
    """Return theta and room for the largest graph."""
    theta, room = graph_potentials(data), cyclic_room(data)
    return theta, RelaxedRoom(
        room,
        np.zeros(len(room.labels), dtype=np.int32),
        np.zeros(len(room.messages)),
        np.zeros(len(theta.unary)),
        np.zeros(len(theta.tables)),
        _admm_room(data, len(room.messages), len(theta.unary), len(theta.tables)),
        np.zeros(1, dtype=np.int64),
    )


def _admm_room(data: RelaxedGraphs, n_messages: int, n_unary: int, n_cells: int) -> AdmmRoom:
    """Return the workspace of ADMM for the largest graph, as `admm_room` does for one."""
    shapes, n_labels = data.graphs.shapes, data.graphs.layout.n_labels
    n_factors, n_slots = np.diff(shapes.factor_at), np.diff(shapes.slot_from)
    # Graphs follow one another, each from 0 on: where one ends differences are no lengths, but < 0.
    order = max(int(np.diff(shapes.member_at).max(initial=1)), 1)
    most = order * (n_labels - 1) + 2
    n_support = int((n_slots * (n_labels - 1) + 2 * n_factors).max(initial=1))
    most_factors = int(n_factors.max(initial=0))
    return AdmmRoom(
        np.zeros(n_unary // n_labels),
        np.zeros(n_unary),
        np.zeros(n_messages),
        np.zeros(most_factors + 1, dtype=np.int64),
        np.zeros(n_support, dtype=np.int64),
        np.zeros(n_support),
        np.zeros(most_factors, dtype=np.int64),
        np.zeros(max(int(np.diff(data.cell_at).max(initial=1)), 1)),
        np.zeros(order, dtype=np.int64),
        np.zeros((most + 1, most + 1)),
        np.zeros(most + 1),
        np.zeros(1, dtype=np.int64),
        data.cell_at,
        np.zeros(n_messages),
        np.zeros(n_unary),
        np.zeros(n_cells),
        np.zeros(n_labels),
    )


@jitable
def _admm_room_of(data, room, i, shape):
    """Return the workspace of ADMM in graph i, made of views."""
    n, n_factors = shape.n_labels.shape[0], shape.kinds.shape[0]
    n_labels, n_messages = data.graphs.layout.n_labels, shape.message_at[shape.slots.shape[0]]
    first = data.graphs.shapes.factor_at[i] + i
    for v in range(n):
        n_slots = shape.slot_at[v + 1] - shape.slot_at[v]
        room.share[v] = 1.0 / n_slots if n_slots > 0 else 0.0
    room.support_at[0] = 0
    for f in range(n_factors):
        order = shape.member_at[f + 1] - shape.member_at[f]
        room.support_at[f + 1] = room.support_at[f] + order * (n_labels - 1) + 2
    return AdmmRoom(
        room.share[:n],
        room.mean[: n * n_labels],
        room.own[:n_messages],
        room.support_at[: n_factors + 1],
        room.support,
        room.mass,
        room.n_support[:n_factors],
        room.scores,
        room.sizes,
        room.matrix,
        room.right,
        room.n_done,
        data.cell_at[first : first + n_factors + 1],
        room.spare[:n_messages],
        room.nodes[: n * n_labels],
        room.factors[: data.graphs.shapes.n_cells[i]],
        room.out,
    )


call_admm = ADMM.call


@implements(connect, RelaxedRoom)
def _connect(room: RelaxedRoom, cost: Any) -> None:
    """Compile or load what the room is for, and write the addresses."""
    connect(room.search, cost)
    write_addresses(room.entries, ADMM)


@jitable
def _search_from(
    data, cost, i, theta, room, score_scale, cost_scale, messages, effort, outputs, at
):  # fmt: skip
    """Write a good point; return how much better the best one can be at most."""
    shapes, n_labels = data.graphs.shapes, data.graphs.layout.n_labels
    n = shapes.node_at[i + 1] - shapes.node_at[i]
    labels = room.labels[:n]
    left, wanted = search_graph(
        data, cost, i, theta, room.search, score_scale, cost_scale, messages, effort, labels
    )
    write_labelling(data, i, labels, outputs, at)
    if left <= wanted:
        return left
    shape = graph_of(shapes, i)
    priced = augment(cost, data, i, theta, score_scale, cost_scale, room.search)
    unary, tables = priced.unary[: n * n_labels], priced.tables
    best = dense_score(shape, unary, tables, labels)
    bound = best + left if left < np.inf else np.inf
    nodes, factors = room.nodes[: n * n_labels], room.factors[: shapes.n_cells[i]]
    own = _admm_room_of(data, room.admm, i, shape)
    warm = room.messages[: messages.shape[0]]
    for k in range(messages.shape[0]):
        warm[k] = messages[k]
    is_hasty = effort.precision > 0.0 and data.memory.haste[0] > 0.0
    n_iterations = HASTY_ITERATIONS if is_hasty else N_ITERATIONS
    tolerance = max(wanted / (1.0 + abs(bound)), ROUNDING)
    found, _, _, _ = call_admm(
        room.entries, shape, unary, tables, warm, 0.0, n_iterations, tolerance, own, nodes, factors
    )
    if found < bound:
        bound = found
        for k in range(messages.shape[0]):
            messages[k] = warm[k]
    _drop_small(nodes, n, n_labels)
    for k in range(factors.shape[0]):
        factors[k] = factors[k] if factors[k] > SMALLEST_MASS else 0.0
    project(shape, own.cell_at, nodes, factors, own.spare)
    value = point_value(shape, unary, tables, own.cell_at, nodes, factors)
    if value > best:
        best = value
        write_point(data, i, nodes, factors, outputs, at)
    if not (bound < np.inf and best < np.inf):  # scores overflow: nothing is proved
        return np.inf
    return max(bound - best, 0.0)


@jitable
def _drop_small(nodes, n, n_labels):
    """Set small marginals of nodes to 0, and scale the others to the sum 1."""
    for v in range(n):
        total = 0.0
        for k in range(v * n_labels, (v + 1) * n_labels):
            nodes[k] = nodes[k] if nodes[k] > SMALLEST_MASS else 0.0
            total += nodes[k]
        for k in range(v * n_labels, (v + 1) * n_labels):
            nodes[k] /= total


@implements(search, RelaxedGraphs)
def _search(data, cost, i, theta, room, score_scale, cost_scale, is_warm, outputs, at):
    """Write a point."""
    shapes, memory = data.graphs.shapes, data.memory
    n_messages = (shapes.slot_from[i + 1] - shapes.slot_from[i]) * data.graphs.layout.n_labels
    messages = memory.messages[memory.at[i] : memory.at[i + 1]]
    effort = wanted_effort(data)
    if not is_warm or messages.shape[0] < n_messages:
        messages = room.search.messages[:n_messages]
        messages[:] = 0.0
    if not is_warm:
        effort = Effort(0.0, data.effort.n_iterations, 0)
    return _search_from(
        data, cost, i, theta, room, score_scale, cost_scale, messages, effort, outputs, at
    )


@jitable
def _write_largest(data, cost, i, theta, room, outputs, at):
    most = largest_prices(data, cost, i, theta, room.labels, 0)
    write_labelling(data, i, room.labels, outputs, at)
    return most


@implements(maximize, RelaxedGraphs, SumOverPositions)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Search from nothing, to the end."""
    if score_scale == 0.0 and data.graphs.edge_barrier.shape[0] == 0:
        _write_largest(data, cost, i, theta, room, outputs, at)
        return
    scale = max(score_scale, SMALL_SCALE)
    search(data, cost, i, theta, room, scale, cost_scale, False, outputs, at)


@implements(maximize_bounded, RelaxedGraphs, SumOverPositions)
def _maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Search from the messages that are remembered, as far as the effort goes."""
    if score_scale == 0.0 and data.graphs.edge_barrier.shape[0] == 0:
        return cost_scale * _write_largest(data, cost, i, theta, room, outputs, at)
    return search_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)

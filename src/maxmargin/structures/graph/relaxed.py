"""Oracles of graphs relaxed to the local polytope: message passing, then smoothed ascent.

If the bound of message passing is that of its labelling, the labelling is the best point as well.
Elsewhere smoothed ascent finds a point near the best, which is projected onto the polytope exactly,
and a bound. Both bounds hold for all points.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    connect,
    implements,
    margin_error,
    maximize,
    maximize_bounded,
    output_cost,
    workspace,
)
from maxmargin.core.sealed import write_addresses
from maxmargin.costs.edge_tables import EdgeCost
from maxmargin.costs.tables import SumOverPositions
from maxmargin.features.rows import frozen
from maxmargin.inference.graph.projection import point_value, project
from maxmargin.inference.graph.score import dense_score
from maxmargin.inference.graph.smoothed import SMOOTHED, SmoothedRoom
from maxmargin.structures.graph.costs import SMALL_SCALE, augment, largest_prices
from maxmargin.structures.graph.data import Effort, Graphs, RelaxedGraphs, graph_potentials
from maxmargin.structures.graph.messages import (
    MOST_BYTES,
    CyclicRoom,
    cyclic_room,
    message_memory,
    passing_of_all,
    srmp_room_of,
)
from maxmargin.structures.graph.oracles import search_graph, wanted_effort
from maxmargin.structures.graph.points import write_labelling, write_point
from maxmargin.structures.graph.shapes import graph_of

#: First temperature (as a share of the spread of potentials), temperatures and passes at each: from
#: the messages of SRMP, and from nothing where those were not the best and it was not enough.
SCHEDULES = ((0.05, 4, 60), (0.2, 8, 100))
#: The only one in haste.
HASTY_SCHEDULE = (0.05, 3, 20)
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
    spare: Any
    trial_nodes: Any
    trial_factors: Any
    nodes: Any
    factors: Any
    entries: Any  # (1,) int64: the address of `smoothed`


@implements(workspace, RelaxedGraphs)
def _workspace(data):
    """Return theta and room for the largest graph."""
    theta, room = graph_potentials(data), cyclic_room(data)
    n_messages = len(room.messages)
    return theta, RelaxedRoom(
        room,
        np.zeros(len(room.labels), dtype=np.int32),
        np.zeros(n_messages),
        np.zeros(n_messages),
        np.zeros(len(theta.unary)),
        np.zeros(len(theta.tables)),
        np.zeros(len(theta.unary)),
        np.zeros(len(theta.tables)),
        np.zeros(1, dtype=np.int64),
    )


@jitable
def _smoothed_room(data, room, i, n_messages):
    """Return the workspace of smoothed ascent in graph i, made of views."""
    shapes, n_labels = data.graphs.shapes, data.graphs.layout.n_labels
    n = shapes.node_at[i + 1] - shapes.node_at[i]
    first, last = shapes.factor_at[i] + i, shapes.factor_at[i + 1] + i + 1
    return SmoothedRoom(
        data.cell_at[first:last],
        room.spare[:n_messages],
        room.trial_nodes[: n * n_labels],
        room.trial_factors[: shapes.n_cells[i]],
        srmp_room_of(data, room.search, i),
    )


call_smoothed = SMOOTHED.call


@implements(connect, RelaxedRoom)
def _connect(room: RelaxedRoom, cost: Any) -> None:
    """Compile or load what the room is for, and write the addresses."""
    connect(room.search, cost)
    write_addresses(room.entries, SMOOTHED)


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
    bound = best + left
    nodes, factors = room.nodes[: n * n_labels], room.factors[: shapes.n_cells[i]]
    own = _smoothed_room(data, room, i, messages.shape[0])
    warm = room.messages[: messages.shape[0]]
    is_hasty = effort.precision > 0.0 and data.memory.haste[0] > 0.0
    for attempt in range(1 if is_hasty else 2):
        share, n_rounds, n_passes = HASTY_SCHEDULE if is_hasty else SCHEDULES[attempt]
        for k in range(messages.shape[0]):
            warm[k] = messages[k] if attempt == 0 else 0.0
        found, _, _ = call_smoothed(
            room.entries,
            shape,
            unary,
            tables,
            warm,
            share,
            n_rounds,
            n_passes,
            own,
            nodes,
            factors,
        )
        is_stuck = found < bound  # then message passing stopped above the optimum
        bound = min(bound, found)
        _drop_small(nodes, n, n_labels)
        for k in range(factors.shape[0]):
            factors[k] = factors[k] if factors[k] > SMALLEST_MASS else 0.0
        project(shape, own.cell_at, nodes, factors, own.spare)
        value = point_value(shape, unary, tables, own.cell_at, nodes, factors)
        if value > best:
            best = value
            write_point(data, i, nodes, factors, outputs, at)
        if bound - best <= wanted or not (is_stuck or effort.precision == 0.0):
            break
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


@jitable
def _search(data, cost, i, theta, room, score_scale, cost_scale, is_warm, outputs, at):
    """Search; return how much better the best point can be. See `search` of oracles.py."""
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
def _search_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Search, and return a bound; see `search_bounded` of oracles.py."""
    bound, is_largest = 0.0, score_scale == 0.0
    for attempt in range(2 if is_largest else 1):
        scale = score_scale if attempt == 0 else SMALL_SCALE
        left = _search(data, cost, i, theta, room, scale, cost_scale, not is_largest, outputs, at)
        if attempt > 0:
            break
        bound = cost_scale * output_cost(data, cost, i, outputs, at)
        if is_largest:
            bound += left
        else:
            bound += score_scale * (margin_error(data, i, theta, outputs, at) + left)
    return bound


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
    _search(data, cost, i, theta, room, scale, cost_scale, False, outputs, at)


@implements(maximize_bounded, RelaxedGraphs, SumOverPositions)
def _maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Search from the messages that are remembered, as far as the effort goes."""
    if score_scale == 0.0 and data.graphs.edge_barrier.shape[0] == 0:
        return cost_scale * _write_largest(data, cost, i, theta, room, outputs, at)
    return _search_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)


@implements(maximize, RelaxedGraphs, EdgeCost)
def _maximize_edges(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Search from nothing, to the end; scores break the ties of largest costs."""
    scale = max(score_scale, SMALL_SCALE)
    _search(data, cost, i, theta, room, scale, cost_scale, False, outputs, at)


@implements(maximize_bounded, RelaxedGraphs, EdgeCost)
def _maximize_bounded_edges(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Search from the messages that are remembered, as far as the effort goes."""
    return _search_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)

"""Graphs without cycles: the best labelling at each level of the cost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    CostOfPositions,
    cost_step,
    implements,
    margin_error,
    profile,
    profile_levels,
    profile_output,
    profile_price,
    profile_room,
    profile_up_to,
)
from maxmargin.costs.levels import step_of, steps_of
from maxmargin.costs.tables import PartCost, WholeCost
from maxmargin.inference.graph.forest import (
    ProfileRoom,
    forest_profile,
    write_forest_level,
)
from maxmargin.inference.graph.forest import profile_room as kernel_room
from maxmargin.inference.graph.score import labelling_score
from maxmargin.structures.graph.costs import write_truth
from maxmargin.structures.graph.data import ForestGraphs
from maxmargin.structures.graph.forest import best_other, forest_of
from maxmargin.structures.graph.shapes import graph_of

#: The most bytes that a profile may take.
MOST_BYTES = 1 << 32


class ForestProfileRoom(NamedTuple):
    """Room for the profile of one graph."""

    steps: Any  # (n_labels, n_labels) int32: the cost matrix, in steps
    unit: float
    step: Any  # (most nodes * n_labels,) int32
    own: ProfileRoom
    scores: Any  # (n_levels,)


def _levels(data: Any, cost: Any) -> np.ndarray:
    """Return the largest cost of a labelling of each graph, in steps."""
    steps, _ = steps_of(cost.matrix)
    most = steps.max(axis=1, initial=0)[data.graphs.labels]
    sizes = np.diff(data.graphs.shapes.node_at)
    return np.bincount(np.repeat(np.arange(len(sizes)), sizes), most, len(sizes)).astype(np.int64)


@implements(profile_levels, ForestGraphs, PartCost)
def _profile_levels(data, cost):
    """Return 1 + the largest cost of any labelling, counted in steps of the cost."""
    return int(_levels(data, cost).max(initial=0)) + 1


@implements(cost_step, ForestGraphs, CostOfPositions)
def _cost_step(data, cost):
    """Return the step of the cost, which all labellings have."""
    return step_of(cost)


@implements(profile_price, ForestGraphs, PartCost)
def _profile_price(data, cost):
    """Return the mean number of levels per node: each is as much work as one `maximize`."""
    levels, sizes = _levels(data, cost), np.diff(data.graphs.shapes.node_at)
    return float(0.5 * (levels * sizes).sum() / max(sizes.sum(), 1))


@implements(profile_room, ForestGraphs, PartCost)
def _profile_room(data, cost):
    """Return room for any one graph and all levels; refuse graphs that are too large."""
    steps, unit = steps_of(cost.matrix)
    n_levels, shapes = profile_levels(data, cost), data.graphs.shapes
    most_nodes, n_labels = len(shapes.n_labels), data.graphs.layout.n_labels
    if 16.0 * most_nodes * n_levels * n_labels > MOST_BYTES:
        raise ValueError(
            f"A profile of a graph of {most_nodes} nodes and {n_levels} levels would take more "
            f"than {MOST_BYTES / 1e9:.3g} GB. Take surrogate='margin', or "
            "search=ConvexHull(integral=False), which bounds the losses."
        )
    rooms = [
        kernel_room(graph_of(shapes, i), forest_of(data, i), _steps(data, steps, i), n_levels)
        for i in range(len(shapes.n_cells))
    ]
    largest = (max(map(len, each)) for each in zip(*rooms, strict=True))
    kinds = (array.dtype for array in rooms[0])
    own = ProfileRoom(*(np.zeros(*each) for each in zip(largest, kinds, strict=True)))
    step = np.zeros(most_nodes * n_labels, dtype=np.int32)
    return ForestProfileRoom(steps, unit, step, own, np.zeros(n_levels))


def _steps(data: Any, steps: np.ndarray, i: int) -> np.ndarray:
    first, last = data.graphs.shapes.node_at[i], data.graphs.shapes.node_at[i + 1]
    return np.ascontiguousarray(steps[data.graphs.labels[first:last]].reshape(-1))


@implements(profile, ForestGraphs, PartCost)
def _profile(data, cost, i, theta, room, own, h, g):
    """List all levels."""
    return profile_up_to(data, cost, i, theta, room, own, np.inf, h, g)


@implements(profile_up_to, ForestGraphs, PartCost)
def _profile_up_to(data, cost, i, theta, room, own, limit, h, g):
    """List the best score of every level: level l has the labellings that cost l steps."""
    graphs = data.graphs
    n_labels, first = graphs.layout.n_labels, graphs.shapes.node_at[i]
    shape = graph_of(graphs.shapes, i)
    n = shape.n_labels.shape[0]
    for v in range(n):
        for k in range(n_labels):
            own.step[v * n_labels + k] = own.steps[graphs.labels[first + v], k]
    unit = cost.scale[i] * own.unit
    most = own.scores.shape[0] - 1
    if limit < unit * most:
        most = int(limit / unit + 1e-9)
    n_levels = forest_profile(
        shape, theta.unary, theta.tables, forest_of(data, i), own.step, most, own.own, own.scores
    )
    truth = labelling_score(shape, theta.unary, theta.tables, graphs.labels[first : first + n])
    for level in range(n_levels):
        h[level] = own.scores[level] - truth
        g[level] = unit * level
    return n_levels


@implements(profile_output, ForestGraphs, PartCost)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    """Trace back the labelling of a level, from the tables of the last profile."""
    shape = graph_of(data.graphs.shapes, i)
    found = outputs[at : at + shape.n_labels.shape[0]]
    write_forest_level(shape, theta.tables, forest_of(data, i), level, own.own, found)


# -- the zero-one cost: two levels, the right labelling and the best of all others ----------------


@implements(profile_levels, ForestGraphs, WholeCost)
def _profile_levels_whole(data, cost):
    """Return 2: the truth, and all others."""
    return 2


@implements(profile_room, ForestGraphs, WholeCost)
def _profile_room_whole(data, cost):
    """Return where the best labelling other than the truth is kept: its place in room.pair."""
    return np.zeros(1, dtype=np.int64)


@implements(profile, ForestGraphs, WholeCost)
def _profile_whole(data, cost, i, theta, room, own, h, g):
    """Level 0 is the truth, level 1 the best other labelling (-inf where there is none)."""
    own[0] = best_other(data, i, theta, room)
    h[0] = g[0] = 0.0
    g[1] = cost.price[i]
    h[1] = margin_error(data, i, theta, room.pair, own[0]) if own[0] >= 0 else -np.inf
    return 2


@implements(profile_output, ForestGraphs, WholeCost)
def _profile_output_whole(data, cost, i, theta, room, own, level, outputs, at):
    """Write the truth for level 0, or the labelling that the last profile found."""
    if level == 0:
        write_truth(data, i, outputs, at)
    else:
        for v in range(data.graphs.shapes.node_at[i + 1] - data.graphs.shapes.node_at[i]):
            outputs[at + v] = room.pair[own[0] + v]

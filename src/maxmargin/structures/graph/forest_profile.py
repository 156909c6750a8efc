"""Graphs without cycles: the best labelling at each level of the cost."""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    cost_step,
    generic,
    implements,
    margin_error,
    profile,
    profile_levels,
    profile_output,
    profile_price,
    profile_room,
    profile_up_to,
)
from maxmargin.costs.edge_tables import EdgeCost, all_prices
from maxmargin.costs.levels import step_of, steps_of
from maxmargin.costs.tables import PartCost, SumInSteps, WholeCost
from maxmargin.inference.graph.forest import (
    ProfileRoom,
    forest_profile,
    write_forest_level,
)
from maxmargin.inference.graph.forest import profile_room as kernel_room
from maxmargin.inference.graph.score import dense_score
from maxmargin.structures.graph.costs import write_truth
from maxmargin.structures.graph.data import ForestGraphs
from maxmargin.structures.graph.forest import best_other, forest_of
from maxmargin.structures.graph.parts import cell_of
from maxmargin.structures.graph.shapes import graph_of

#: The most bytes that a profile may take.
MOST_BYTES = 1 << 32


class ForestProfileRoom(NamedTuple):
    """Room for the profile of one graph."""

    prices: Any  # int32: the prices of the cost in steps, as `price_steps` has them
    unit: float
    step: Any  # (most nodes * n_labels,) int32
    cell_step: Any  # (most cells,) int32, or (0,) where only nodes cost
    own: ProfileRoom
    scores: Any  # (n_levels,)


# -- steps of nodes and of cells -----------------------------------------------------------------


@generic
def price_steps(cost):
    """Return all prices in steps, flat, and the size of a step. (Python only.)"""


@generic
def has_cells(cost):
    """Tell whether cells of tables cost besides nodes. (Python only.)"""


@generic
def most_steps(cost, data, prices):
    """Return the largest cost of a labelling of each graph in steps, or more. (Python only.)"""


@generic
def fill_steps(cost, data, i, prices, step, cell_step):
    """Fill the steps of the labels of nodes and of the cells of tables of graph i."""


@implements(price_steps, PartCost)
def _price_steps(cost):
    return steps_of(np.reshape(cost.matrix, -1))


@implements(has_cells, PartCost)
def _has_no_cells(cost):
    return False


@implements(most_steps, PartCost)
def _most_steps(cost, data, prices):
    n_labels = data.graphs.layout.n_labels
    most = prices.reshape(n_labels, n_labels).max(axis=1, initial=0)[data.graphs.labels]
    sizes = np.diff(data.graphs.shapes.node_at)
    return np.bincount(np.repeat(np.arange(len(sizes)), sizes), most, len(sizes)).astype(np.int64)


@implements(fill_steps, PartCost)
def _fill_steps(cost, data, i, prices, step, cell_step):
    graphs = data.graphs
    n_labels, first = graphs.layout.n_labels, graphs.shapes.node_at[i]
    for v in range(graphs.shapes.node_at[i + 1] - first):
        for k in range(n_labels):
            step[v * n_labels + k] = prices[graphs.labels[first + v] * n_labels + k]


@implements(price_steps, EdgeCost)
def _price_steps_of_edges(cost):
    return steps_of(all_prices(cost))


@implements(has_cells, EdgeCost)
def _has_priced_cells(cost):
    return True


@implements(most_steps, EdgeCost)
def _most_steps_of_edges(cost, data, prices):
    """Add up all prices: some graphs have no labelling that pays them all."""
    n_nodes, n_links = len(cost.node), len(cost.last)
    ends = np.concatenate([[0], np.cumsum(prices)])
    links = n_nodes + np.asarray(cost.link_at)
    total = np.diff(ends[cost.part_at]) + np.diff(ends[links]) + np.diff(ends[n_links + links])
    return total * (data.graphs.layout.n_labels > 1)


@implements(fill_steps, EdgeCost)
def _fill_steps_of_edges(cost, data, i, prices, step, cell_step):
    graphs = data.graphs
    shapes, n_labels = graphs.shapes, graphs.layout.n_labels
    first, n_nodes, n_links = shapes.node_at[i], cost.node.shape[0], cost.last.shape[0]
    for v in range(shapes.node_at[i + 1] - first):
        for k in range(n_labels):
            is_wrong = k != graphs.labels[first + v]
            step[v * n_labels + k] = prices[first + v] if is_wrong else 0
    for f in range(shapes.factor_at[i + 1] - shapes.factor_at[i]):
        factor = shapes.factor_at[i] + f
        true = cell_of(graphs, i, f, graphs.labels, first)
        last, whole = prices[n_nodes + factor], prices[n_nodes + n_links + factor]
        for cell in range(n_labels * n_labels):
            steps = 0
            if cell != true:
                steps = whole + (last if cell // n_labels == true // n_labels else 0)
            cell_step[shapes.table_at[factor] + cell] = steps


# -- the profile ---------------------------------------------------------------------------------


def _most_of_all(data: Any, cost: Any) -> np.ndarray:
    return np.asarray(most_steps(cost, data, price_steps(cost)[0]))


@implements(profile_levels, ForestGraphs, SumInSteps)
def _profile_levels(data, cost):
    """Return 1 + the largest cost of any labelling, counted in steps of the cost."""
    return int(_most_of_all(data, cost).max(initial=0)) + 1


@implements(cost_step, ForestGraphs, SumInSteps)
def _cost_step(data, cost):
    """Return the step of the cost, which all labellings have."""
    return step_of(cost)


@implements(profile_price, ForestGraphs, SumInSteps)
def _profile_price(data, cost):
    """Return the mean number of levels per node: each is as much work as one `maximize`."""
    levels, sizes = _most_of_all(data, cost), np.diff(data.graphs.shapes.node_at)
    return float(0.5 * (levels * sizes).sum() / max(sizes.sum(), 1))


@implements(profile_room, ForestGraphs, SumInSteps)
def _profile_room(data, cost):
    """Return room for any one graph and all levels; refuse graphs that are too large."""
    prices, unit = price_steps(cost)
    n_levels, shapes = profile_levels(data, cost), data.graphs.shapes
    most_nodes, n_labels = len(shapes.n_labels), data.graphs.layout.n_labels
    if 16.0 * most_nodes * n_levels * n_labels > MOST_BYTES:
        raise ValueError(
            f"A profile of a graph of {most_nodes} nodes and {n_levels} levels would take more "
            f"than {MOST_BYTES / 1e9:.3g} GB. Take surrogate='margin', or "
            "search=ConvexHull(integral=False), which bounds the losses."
        )
    step = np.zeros(most_nodes * n_labels, dtype=np.int32)
    n_cells = int(np.asarray(shapes.n_cells).max(initial=0)) if has_cells(cost) else 0
    cell_step = np.zeros(n_cells, dtype=np.int32)
    rooms = []
    for i in range(len(shapes.n_cells)):
        fill_steps(cost, data, i, prices, step, cell_step)
        shape, order = graph_of(shapes, i), forest_of(data, i)
        rooms.append(kernel_room(shape, order, step, cell_step, n_levels))
    largest = (max(map(len, each)) for each in zip(*rooms, strict=True))
    kinds = (array.dtype for array in rooms[0])
    own = ProfileRoom(*(np.zeros(*each) for each in zip(largest, kinds, strict=True)))
    return ForestProfileRoom(prices, unit, step, cell_step, own, np.zeros(n_levels))


@implements(profile, ForestGraphs, SumInSteps)
def _profile(data, cost, i, theta, room, own, h, g):
    """List all levels."""
    return profile_up_to(data, cost, i, theta, room, own, np.inf, h, g)


@implements(profile_up_to, ForestGraphs, SumInSteps)
def _profile_up_to(data, cost, i, theta, room, own, limit, h, g):
    """List the best score of every level: level l has the labellings that cost l steps."""
    graphs = data.graphs
    first = graphs.shapes.node_at[i]
    shape = graph_of(graphs.shapes, i)
    n = shape.n_labels.shape[0]
    fill_steps(cost, data, i, own.prices, own.step, own.cell_step)
    unit = cost.scale[i] * own.unit
    most = own.scores.shape[0] - 1
    if limit < unit * most:
        most = int(limit / unit + 1e-9)
    n_levels = forest_profile(
        shape,
        theta.unary,
        theta.tables,
        forest_of(data, i),
        own.step,
        own.cell_step,
        most,
        own.own,
        own.scores,
    )
    truth = dense_score(shape, theta.unary, theta.tables, graphs.labels[first : first + n])
    for level in range(n_levels):
        h[level] = own.scores[level] - truth
        g[level] = unit * level
    return n_levels


@implements(profile_output, ForestGraphs, SumInSteps)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    """Trace back the labelling of a level, from the tables of the last profile."""
    shape = graph_of(data.graphs.shapes, i)
    found = outputs[at : at + shape.n_labels.shape[0]]
    write_forest_level(
        shape, theta.tables, forest_of(data, i), own.cell_step, level, own.own, found
    )


# -- the zero-one cost: two levels, the right labelling and the best of all others ----------------


@implements(cost_step, ForestGraphs, WholeCost)
def _cost_step_whole(data, cost):
    """Return the price of any mistake."""
    return step_of(cost)


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

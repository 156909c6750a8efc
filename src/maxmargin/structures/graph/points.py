"""Graphs relaxed to the local polytope: outputs are fractional, kept as sparse differences.

A point of the local polytope L has marginals mu_v of nodes and mu_f of factors that fit together.
All labellings are points of L. An output has the cells that `maxmargin.core.contract.fractional`
describes: the parts are the labels of nodes first, then the cells of tables.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    are_outputs,
    generic,
    implements,
    margin_error,
    mix,
    output_cost,
    output_length,
    output_size,
    output_sizes,
    parts,
    truth_sizes,
    truths,
)
from maxmargin.core.contract.fractional import (
    add_entry,
    difference_length,
    difference_product,
    index_of,
    mix_differences,
    n_entries,
    spread_difference,
    value_of,
)
from maxmargin.costs.edge_tables import EdgeCost
from maxmargin.costs.tables import SumOverParts, SumOverPositions
from maxmargin.structures.graph.costs import cell_price, node_price
from maxmargin.structures.graph.data import RelaxedGraphs
from maxmargin.structures.graph.parts import add_cell, add_node, cell_of, labelling_parts

#: By how much rounding may move a point out of the polytope, where cells come from a file.
ROUNDING = 1e-8


# -- cells ---------------------------------------------------------------------------------------


@jitable
def first_table(graphs):
    """Return the index of the first cell of tables among the parts."""
    return graphs.shapes.n_labels.shape[0] * graphs.layout.n_labels


@implements(output_size, RelaxedGraphs)
def _output_size(data, i):
    """Return the cells of an output that differs from the truth in all parts."""
    shapes = data.graphs.shapes
    n_unary = (shapes.node_at[i + 1] - shapes.node_at[i]) * data.graphs.layout.n_labels
    return 1 + 2 * (n_unary + shapes.n_cells[i])


@implements(output_sizes, RelaxedGraphs)
def _output_sizes(data):
    """Return `output_size` for every graph."""
    shapes = data.graphs.shapes
    n_unary = np.diff(shapes.node_at) * data.graphs.layout.n_labels
    return 1 + 2 * (n_unary + np.asarray(shapes.n_cells))


@implements(output_length, RelaxedGraphs)
def _output_length(data, i, outputs, at):
    """Return the cells in use."""
    return difference_length(outputs, at)


@implements(truths, RelaxedGraphs)
def _truths(data):
    """Return one cell per example: the truth differs in no part."""
    return np.zeros(len(data.graphs.shapes.n_cells))


@implements(truth_sizes, RelaxedGraphs)
def _truth_sizes(data):
    """Return 1 for every example."""
    return np.ones(len(data.graphs.shapes.n_cells), dtype=np.int64)


@implements(mix, RelaxedGraphs)
def _mix(data, i, left, left_at, right, right_at, share, outputs, at):
    """Write the mean, which is a point of the polytope too."""
    mix_differences(left, left_at, right, right_at, share, outputs, at)
    return True


@jitable
def write_labelling(data, i, labels, outputs, at):
    """Write a labelling as an output: what differs from the truth."""
    graphs = data.graphs
    shapes, n_labels = graphs.shapes, graphs.layout.n_labels
    first = shapes.node_at[i]
    outputs[at] = 0.0
    for v in range(shapes.node_at[i + 1] - first):
        _add_change(outputs, at, v * n_labels, graphs.labels[first + v], labels[v])
    tables = first_table(graphs)
    for f in range(shapes.factor_at[i + 1] - shapes.factor_at[i]):
        true = cell_of(graphs, i, f, graphs.labels, first)
        found = cell_of(graphs, i, f, labels, 0)
        _add_change(outputs, at, tables + shapes.table_at[shapes.factor_at[i] + f], true, found)


@jitable
def _add_change(outputs, at, start, old, new):
    """Append that one cell takes the place of another; indices must rise."""
    if old < new:
        add_entry(outputs, at, start + old, -1.0)
        add_entry(outputs, at, start + new, 1.0)
    elif new < old:
        add_entry(outputs, at, start + new, 1.0)
        add_entry(outputs, at, start + old, -1.0)


@jitable
def write_point(data, i, nodes, factors, outputs, at):
    """Write a point of the polytope as an output: what differs from the truth."""
    graphs = data.graphs
    shapes, n_labels = graphs.shapes, graphs.layout.n_labels
    first = shapes.node_at[i]
    outputs[at] = 0.0
    for v in range(shapes.node_at[i + 1] - first):
        for k in range(n_labels):
            was = 1.0 if graphs.labels[first + v] == k else 0.0
            add_entry(outputs, at, v * n_labels + k, nodes[v * n_labels + k] - was)
    tables, n_factors = first_table(graphs), shapes.factor_at[i + 1] - shapes.factor_at[i]
    for f in range(n_factors):
        begin, end = shapes.table_at[shapes.factor_at[i] + f], shapes.n_cells[i]
        if f + 1 < n_factors:
            end = shapes.table_at[shapes.factor_at[i] + f + 1]
        true = cell_of(graphs, i, f, graphs.labels, first)
        for cell in range(end - begin):
            was = 1.0 if cell == true else 0.0
            add_entry(outputs, at, tables + begin + cell, factors[begin + cell] - was)


def read_point(data: Any, i: int, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the marginals of nodes and of factors of an output of example i."""
    graphs = data.graphs
    size = first_table(graphs)
    mu = np.zeros(size), np.zeros(int(np.asarray(graphs.shapes.n_cells).max(initial=0)))
    first = graphs.shapes.node_at[i]
    labelling_parts(data, i, graphs.labels, first, 1.0, _Parts(*mu))
    spread_difference(cells, 0, 1.0, mu)
    n_unary = (graphs.shapes.node_at[i + 1] - first) * graphs.layout.n_labels
    return mu[0][:n_unary], mu[1][: graphs.shapes.n_cells[i]]


class _Parts:
    def __init__(self, unary: np.ndarray, tables: np.ndarray) -> None:
        self.unary, self.tables = unary, tables


@implements(are_outputs, RelaxedGraphs)
def _are_points(
    data: Any, examples: np.ndarray, cells: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Tell which cells are differences that lead to points of the local polytope."""
    ends = np.cumsum(lengths)
    spans = zip(examples.tolist(), (ends - lengths).tolist(), ends.tolist(), strict=True)
    return np.array([_is_point(data, i, cells[a:b]) for i, a, b in spans], dtype=bool)


def _is_point(data: Any, i: int, cells: np.ndarray) -> bool:
    graphs, shapes = data.graphs, data.graphs.shapes
    if len(cells) % 2 == 0 or 2.0 * cells[0] + 1.0 != len(cells) or not np.isfinite(cells).all():
        return False
    index, n_labels = cells[1::2], graphs.layout.n_labels
    n = int(shapes.node_at[i + 1] - shapes.node_at[i])
    tables = first_table(graphs)
    is_there = (index < n * n_labels) | (index >= tables) & (index < tables + shapes.n_cells[i])
    if not (is_there & (index >= 0) & (index == np.floor(index))).all():
        return False
    if (np.diff(index) <= 0).any():
        return False
    nodes, factors = read_point(data, i, cells)
    rows = nodes.reshape(n, n_labels)
    if min(nodes.min(initial=0.0), factors.min(initial=0.0)) < -ROUNDING:
        return False
    if np.abs(rows.sum(axis=1) - 1.0).max(initial=0.0) > ROUNDING:
        return False
    if len(graphs.barrier):
        own = graphs.barrier[shapes.node_at[i] : shapes.node_at[i + 1]]
        if rows[np.isneginf(own)].max(initial=0.0) > ROUNDING:
            return False
    if len(graphs.edge_barrier):
        n_edges = int(graphs.edge_at[i + 1] - graphs.edge_at[i])
        tables = factors[: n_edges * n_labels**2].reshape(n_edges, -1)
        if tables[:, np.isneginf(graphs.edge_barrier)].max(initial=0.0) > ROUNDING:
            return False
    return _fit_together(data, i, rows, factors)


def _fit_together(data: Any, i: int, rows: np.ndarray, factors: np.ndarray) -> bool:
    """Tell whether the marginals of factors have those of nodes as their sums."""
    shapes, n_labels = data.graphs.shapes, data.graphs.layout.n_labels
    first, slot = int(shapes.factor_at[i]), int(shapes.slot_from[i])
    for f in range(int(shapes.factor_at[i + 1]) - first):
        a, b = shapes.member_at[first + i + f : first + i + f + 2]
        nodes = shapes.members[slot + a : slot + b]
        at = int(shapes.table_at[first + f])
        table = factors[at : at + n_labels ** len(nodes)].reshape((n_labels,) * len(nodes))
        for axis, v in enumerate(nodes):
            others = tuple(k for k in range(len(nodes)) if k != axis)
            if np.abs(table.sum(axis=others) - rows[v]).max() > ROUNDING:
                return False
    return True


# -- the structure -------------------------------------------------------------------------------


@implements(parts, RelaxedGraphs)
def _parts(data, i, outputs, at, scale, mu):
    """Add the parts of the truth, and what the output differs by."""
    graphs = data.graphs
    labelling_parts(data, i, graphs.labels, graphs.shapes.node_at[i], scale, mu)
    spread_difference(outputs, at, scale, mu)


@implements(margin_error, RelaxedGraphs)
def _margin_error(data, i, theta, outputs, at):
    """Return the score of the difference."""
    return difference_product(theta, outputs, at)


@jitable
def _factor_of(graphs, i, place):
    """Return the factor of graph i whose table has this cell."""
    shapes = graphs.shapes
    n_pair = graphs.layout.n_labels * graphs.layout.n_labels
    n_edges = graphs.edge_at[i + 1] - graphs.edge_at[i]
    if place < n_edges * n_pair:
        return place // n_pair
    low, high = n_edges, shapes.factor_at[i + 1] - shapes.factor_at[i] - 1
    while low < high:
        middle = (low + high + 1) // 2
        if shapes.table_at[shapes.factor_at[i] + middle] <= place:
            low = middle
        else:
            high = middle - 1
    return low


@implements(add_difference, RelaxedGraphs)
def _add_difference(data, i, outputs, at, scale, w):
    """Subtract the joint features of the difference."""
    graphs = data.graphs
    shapes, n_labels = graphs.shapes, graphs.layout.n_labels
    tables = first_table(graphs)
    for entry in range(n_entries(outputs, at)):
        part, mass = index_of(outputs, at, entry), -scale * value_of(outputs, at, entry)
        if part < tables:
            add_node(graphs, shapes.node_at[i] + part // n_labels, part % n_labels, mass, w)
        else:
            f = _factor_of(graphs, i, part - tables)
            cell = part - tables - shapes.table_at[shapes.factor_at[i] + f]
            add_cell(graphs, i, f, cell, mass, w)


@implements(output_cost, RelaxedGraphs, SumOverParts)
def _output_cost(data, cost, i, outputs, at):
    """Return the sum of the prices of all parts, each times how much of it there is."""
    graphs = data.graphs
    shapes, n_labels = graphs.shapes, graphs.layout.n_labels
    first, tables = shapes.node_at[i], first_table(graphs)
    total = 0.0
    for entry in range(n_entries(outputs, at)):
        part = index_of(outputs, at, entry)
        if part >= tables:
            break
        node = first + part // n_labels
        price = node_price(cost, i, node, graphs.labels[node], part % n_labels)
        total += price * value_of(outputs, at, entry)
    total += _cost_of_cells(cost, data, i, outputs, at)
    return max(total, 0.0)


@generic
def _cost_of_cells(cost, data, i, outputs, at):
    """Return the same sum over the cells of tables."""


@implements(_cost_of_cells, SumOverPositions)
def _cost_of_no_cells(cost, data, i, outputs, at):
    return 0.0


@implements(_cost_of_cells, EdgeCost)
def _cost_of_priced_cells(cost, data, i, outputs, at):
    graphs = data.graphs
    shapes, tables = graphs.shapes, first_table(graphs)
    first = shapes.factor_at[i]
    total = 0.0
    for entry in range(n_entries(outputs, at)):
        place = index_of(outputs, at, entry) - tables
        if place >= 0:
            f = _factor_of(graphs, i, place)
            true = cell_of(graphs, i, f, graphs.labels, shapes.node_at[i])
            cell = place - shapes.table_at[first + f]
            price = cell_price(cost, i, first + f, graphs.layout.n_labels, true, cell)
            total += price * value_of(outputs, at, entry)
    return total

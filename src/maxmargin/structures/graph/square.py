"""Graphs: the length of joint features of parts, in closed form where nothing is shared."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from maxmargin.core.contract import (
    add_parts,
    default_square_size,
    implements,
    parts_square,
    potentials,
    product,
    row_product,
    square_size,
)
from maxmargin.structures.graph.data import AnyGraphs, Graphs
from maxmargin.structures.graph.layout import CellTable


def shares_nothing(graphs: Graphs) -> bool:
    """Tell whether no two nodes, edges or hyperedges of any one graph have weights in common.

    That is seen where types rise along each graph and every cell of a table has its own column.
    """
    layout = graphs.layout
    pair, hyper = graphs.pair, graphs.hyper_cells
    ends = np.asarray(graphs.hyper_cells_at)
    tables = [(pair, 0, len(pair.column)), *((hyper, a, b) for a, b in pairwise(ends))]
    kinds = [(graphs.edge_type, graphs.edge_at), (graphs.hyper_type, graphs.hyper_at)]
    if layout.n_columns + layout.has_bias > 0:
        kinds.append((graphs.node_type, graphs.shapes.node_at))
    return all(_are_own(*table) for table in tables) and all(_rises(*kind) for kind in kinds)


def _are_own(table: CellTable, first: int, last: int) -> bool:
    """Tell whether the cells of a table have a weight each."""
    column, sign = np.asarray(table.column)[first:last], np.asarray(table.sign)[first:last]
    return len(np.unique(column)) == last - first and bool((sign == 1.0).all())


def _rises(types: np.ndarray, at: np.ndarray) -> bool:
    """Tell whether numbers rise within each graph."""
    types, at = np.asarray(types), np.asarray(at)
    inside = np.ones(max(len(types) - 1, 0), dtype=bool)
    cuts = at[1:-1]
    inside[cuts[(cuts > 0) & (cuts < len(types))] - 1] = False
    return bool((np.diff(types)[inside] > 0).all())


@implements(square_size, AnyGraphs)
def _square_size(data):
    """Return 0 where no weights are shared: then the square is a sum over parts."""
    return 0 if shares_nothing(data.graphs) else default_square_size(data)


@implements(parts_square, AnyGraphs)
def _parts_square(data, i, mu, spare, theta):
    """Add up the squares of masses, each times |x|^2 of its node or factor; or ask for scores."""
    if spare.shape[0] > 0:
        add_parts(data, i, mu, 1.0, spare)
        potentials(data, i, spare, 1.0, theta)
        spare[:] = 0.0
        return product(theta, mu)
    graphs = data.graphs
    layout, shapes = graphs.layout, graphs.shapes
    total = 0.0
    if layout.n_columns + layout.has_bias > 0:
        first = shapes.node_at[i]
        for v in range(shapes.node_at[i + 1] - first):
            masses = 0.0
            for k in range(layout.n_labels):
                masses += mu.unary[v * layout.n_labels + k] * mu.unary[v * layout.n_labels + k]
            square = 1.0 * layout.has_bias
            if layout.n_columns > 0:
                square += row_product(graphs.nodes, first + v, first + v)
            total += square * masses
            for k in range(layout.n_labels):
                theta.unary[v * layout.n_labels + k] = square * mu.unary[v * layout.n_labels + k]
    else:
        for v in range((shapes.node_at[i + 1] - shapes.node_at[i]) * layout.n_labels):
            theta.unary[v] = 0.0
    n_edges = graphs.edge_at[i + 1] - graphs.edge_at[i]
    n_factors = shapes.factor_at[i + 1] - shapes.factor_at[i]
    for f in range(n_factors):
        begin = shapes.table_at[shapes.factor_at[i] + f]
        end = shapes.n_cells[i]
        if f + 1 < n_factors:
            end = shapes.table_at[shapes.factor_at[i] + f + 1]
        masses = 0.0
        for cell in range(begin, end):
            masses += mu.tables[cell] * mu.tables[cell]
        if f < n_edges:
            square, row = 1.0 * layout.has_edge_bias, graphs.edge_at[i] + f
            if layout.n_edge_columns > 0:
                square += row_product(graphs.edges, row, row)
        else:
            square, row = 1.0 * layout.has_hyper_bias, graphs.hyper_at[i] + f - n_edges
            if layout.n_hyper_columns > 0:
                square += row_product(graphs.hyper, row, row)
        total += square * masses
        for cell in range(begin, end):
            theta.tables[cell] = square * mu.tables[cell]
    return total

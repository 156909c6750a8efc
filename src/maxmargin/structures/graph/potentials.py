"""Graphs: scores of labels, of pairs of labels at edges, and of label tuples at hyperedges."""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin.core.compile import jitable
from maxmargin.core.contract import add_scores, implements, potentials
from maxmargin.structures.graph.data import AnyGraphs


class Block(NamedTuple):
    """A block of w as a matrix, one row per feature, the bias last.

    Compiled code that counts no references cannot call a function that returns an array as such.
    """

    W: Any


@jitable
def node_weights(graphs, node, w):
    """Return the block of w of the type of a node."""
    layout = graphs.layout
    n_rows = layout.n_columns + layout.has_bias
    size = n_rows * layout.n_labels
    first = graphs.node_type[node] * size
    return Block(w[first : first + size].reshape((n_rows, layout.n_labels)))


@jitable
def edge_weights(graphs, edge, w):
    """Return the block of w of the type of an edge."""
    layout = graphs.layout
    n_rows = layout.n_edge_columns + layout.has_edge_bias
    size = n_rows * layout.n_pair
    first = layout.edge_first + graphs.edge_type[edge] * size
    return Block(w[first : first + size].reshape((n_rows, layout.n_pair)))


@jitable
def hyper_weights(graphs, hyper, w):
    """Return the block of w of the type of a hyperedge."""
    layout = graphs.layout
    kind = graphs.hyper_type[hyper]
    first, last = graphs.hyper_from[kind], graphs.hyper_from[kind + 1]
    n_rows = layout.n_hyper_columns + layout.has_hyper_bias
    return Block(w[first:last].reshape((n_rows, (last - first) // max(n_rows, 1))))


@jitable
def fill_scores(features, first, n_rows, scale, W, n_columns, has_bias, out):
    """out = scale * (the bias of W + the features of these rows times W)."""
    for t in range(n_rows):
        for k in range(out.shape[1]):
            out[t, k] = scale * W[n_columns, k] if has_bias else 0.0
    if n_columns > 0:
        add_scores(features, first, n_rows, scale, W, out)


@jitable
def spread_columns(tables, reduced, full, column, sign, first, n_cells):
    """Fill the table at ``full`` from its columns, which lie at ``reduced`` <= ``full``.

    From the last cell to the first, so that no column is overwritten before it was read: a cell
    reads no column above its own number.
    """
    for back in range(n_cells):
        cell = n_cells - 1 - back
        times = sign[first + cell]
        if times == 0.0:
            tables[full + cell] = 0.0
        else:
            tables[full + cell] = times * tables[reduced + column[first + cell]]


@implements(potentials, AnyGraphs)
def _potentials(data, i, w, scale, theta):
    """Fill theta: scores of labels (-inf where forbidden), of edges and of hyperedges."""
    graphs = data.graphs
    layout, n_labels = graphs.layout, graphs.layout.n_labels
    first, last = graphs.shapes.node_at[i], graphs.shapes.node_at[i + 1]
    unary = theta.unary[: (last - first) * n_labels].reshape((last - first, n_labels))
    start = first
    while start < last:  # nodes that follow one another and have one type are scored together
        end = start + 1
        while end < last and graphs.node_type[end] == graphs.node_type[start]:
            end += 1
        W = node_weights(graphs, start, w).W
        out = unary[start - first : end - first]
        fill_scores(
            graphs.nodes, start, end - start, scale, W, layout.n_columns, layout.has_bias, out
        )
        start = end
    if graphs.barrier.shape[0] > 0:
        for v in range(last - first):
            for k in range(n_labels):
                unary[v, k] += graphs.barrier[first + v, k]
    _score_edges(graphs, i, w, scale, theta.tables)
    _score_hyperedges(graphs, i, w, scale, theta.tables)


@jitable
def _score_edges(graphs, i, w, scale, tables):
    layout = graphs.layout
    n_cells, n_pair = layout.n_labels * layout.n_labels, layout.n_pair
    first, last = graphs.edge_at[i], graphs.edge_at[i + 1]
    columns = tables[: (last - first) * n_pair].reshape((last - first, n_pair))
    start = first
    while start < last:
        end = start + 1
        while end < last and graphs.edge_type[end] == graphs.edge_type[start]:
            end += 1
        W = edge_weights(graphs, start, w).W
        out = columns[start - first : end - first]
        fill_scores(
            graphs.edges,
            start,
            end - start,
            scale,
            W,
            layout.n_edge_columns,
            layout.has_edge_bias,
            out,
        )
        start = end
    if n_pair < n_cells:
        for back in range(last - first):
            e = last - first - 1 - back
            spread_columns(
                tables, e * n_pair, e * n_cells, graphs.pair.column, graphs.pair.sign, 0, n_cells
            )
    if graphs.edge_barrier.shape[0] > 0:
        for e in range(last - first):
            for cell in range(n_cells):
                tables[e * n_cells + cell] += graphs.edge_barrier[cell]


@jitable
def _score_hyperedges(graphs, i, w, scale, tables):
    layout, shapes = graphs.layout, graphs.shapes
    n_edges = graphs.edge_at[i + 1] - graphs.edge_at[i]
    for number in range(graphs.hyper_at[i + 1] - graphs.hyper_at[i]):
        hyper = graphs.hyper_at[i] + number
        at = shapes.table_at[shapes.factor_at[i] + n_edges + number]
        W = hyper_weights(graphs, hyper, w).W
        out = tables[at : at + W.shape[1]].reshape((1, W.shape[1]))
        fill_scores(
            graphs.hyper, hyper, 1, scale, W, layout.n_hyper_columns, layout.has_hyper_bias, out
        )
        kind = graphs.hyper_type[hyper]
        begin = graphs.hyper_cells_at[kind]
        n_cells = graphs.hyper_cells_at[kind + 1] - begin
        if W.shape[1] < n_cells:
            cells = graphs.hyper_cells
            spread_columns(tables, at, at, cells.column, cells.sign, begin, n_cells)

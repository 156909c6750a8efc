"""Laws of forests: the probabilities of labels, and of pairs of labels at every edge.

A law has the cells of theta. Its potentials are log p of the roots, and log p(child, parent) -
log p(parent) of all other nodes: cliques less separators.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_prices,
    implements,
    law_parts,
    law_room,
    law_sizes,
    lean,
    log_mass,
    marginals,
    part_counts,
)
from maxmargin.costs.edge_tables import EdgeCost
from maxmargin.costs.tables import SumOverPositions
from maxmargin.inference.graph.forest import MarginalRoom, forest_marginals, marginal_room
from maxmargin.inference.graph.forest.best import edge_layout, edge_row
from maxmargin.structures.graph.costs import cell_price, node_price
from maxmargin.structures.graph.data import ForestGraphs, IntegralGraphs, graph_potentials
from maxmargin.structures.graph.forest import forest_of, largest_shape
from maxmargin.structures.graph.parts import cell_of
from maxmargin.structures.graph.shapes import graph_of

# -- what forests and graphs with small junction trees share -------------------------------------


@implements(part_counts, IntegralGraphs)
def _part_counts(data):
    """Return the labels of all nodes, and the cells of all tables."""
    shapes = data.graphs.shapes
    labels = np.diff(shapes.node_at) * data.graphs.layout.n_labels
    return np.ascontiguousarray(np.column_stack([labels, shapes.n_cells]), dtype=np.int64)


@implements(lean, IntegralGraphs)
def _lean(data, i, scale, theta):
    """Prefer the true label of every node."""
    graphs = data.graphs
    first, n_labels = graphs.shapes.node_at[i], graphs.layout.n_labels
    for v in range(graphs.shapes.node_at[i + 1] - first):
        theta.unary[v * n_labels + graphs.labels[first + v]] += scale


@jitable
def _add_node_prices(data, cost, i, scale, theta):
    graphs = data.graphs
    first, n_labels = graphs.shapes.node_at[i], graphs.layout.n_labels
    for v in range(graphs.shapes.node_at[i + 1] - first):
        truth = graphs.labels[first + v]
        for k in range(n_labels):
            price = node_price(cost, i, first + v, truth, k)
            theta.unary[v * n_labels + k] += scale * price


@implements(add_prices, IntegralGraphs, SumOverPositions)
def _add_prices(data, cost, i, scale, theta):
    """Add the price of every label of every node."""
    _add_node_prices(data, cost, i, scale, theta)


@implements(add_prices, IntegralGraphs, EdgeCost)
def _add_edge_prices(data, cost, i, scale, theta):
    """Add the prices of labels, and of the cells of edges."""
    _add_node_prices(data, cost, i, scale, theta)
    graphs = data.graphs
    shapes, n_labels = graphs.shapes, graphs.layout.n_labels
    n_factors = shapes.factor_at[i + 1] - shapes.factor_at[i]
    for f in range(n_factors):
        factor = shapes.factor_at[i] + f
        begin, end = shapes.table_at[factor], shapes.n_cells[i]
        if f + 1 < n_factors:
            end = shapes.table_at[factor + 1]
        true = cell_of(graphs, i, f, graphs.labels, shapes.node_at[i])
        for cell in range(end - begin):
            price = cell_price(cost, i, factor, n_labels, true, cell)
            theta.tables[begin + cell] += scale * price


@implements(law_parts, IntegralGraphs)
def _law_parts(data, i, law, at, scale, mu):
    """Add the cells of the law, which begins with those of theta."""
    shapes = data.graphs.shapes
    n_unary = (shapes.node_at[i + 1] - shapes.node_at[i]) * data.graphs.layout.n_labels
    for k in range(n_unary):
        mu.unary[k] += scale * law[at + k]
    for k in range(shapes.n_cells[i]):
        mu.tables[k] += scale * law[at + n_unary + k]


# -- forests -------------------------------------------------------------------------------------


class ForestLawRoom(NamedTuple):
    """Room for the law of one graph."""

    unary: Any  # (most nodes * n_labels,)
    tables: Any  # (most cells,)
    sums: MarginalRoom


@implements(law_sizes, ForestGraphs)
def _law_sizes(data):
    """Return the labels of all nodes and the cells of all edges."""
    return part_counts(data).sum(axis=1)


@implements(law_room, ForestGraphs)
def _law_room(data):
    """Return room for the largest graph."""
    theta = graph_potentials(data)
    return ForestLawRoom(
        theta.unary, theta.tables, marginal_room(largest_shape(data.graphs.shapes))
    )


@implements(marginals, ForestGraphs)
def _marginals(data, i, theta, own, temperature, prior, prior_at, law, at):
    """Add the potentials of the prior; then sum from the leaves to the roots and go back down."""
    shape, forest = graph_of(data.graphs.shapes, i), forest_of(data, i)
    n_unary = shape.n_labels.shape[0] * data.graphs.layout.n_labels
    n_cells = data.graphs.shapes.n_cells[i]
    for k in range(n_unary):
        own.unary[k] = theta.unary[k]
    for k in range(n_cells):
        own.tables[k] = theta.tables[k]
    if prior_at >= 0:
        for v in range(shape.n_labels.shape[0]):
            first, above = shape.unary_at[v], forest.parent[v]
            if above < 0:
                for x in range(shape.n_labels[v]):
                    mass = prior[prior_at + first + x]
                    own.unary[first + x] += temperature * log_mass(mass)
                continue
            table, _, step = edge_layout(shape, forest.edge[v], v)
            stride = edge_row(shape, forest.edge[v], v)
            for y in range(shape.n_labels[above]):
                given = log_mass(prior[prior_at + shape.unary_at[above] + y])
                for x in range(shape.n_labels[v]):
                    cell = table + y * stride + x * step
                    mass = log_mass(prior[prior_at + n_unary + cell])
                    own.tables[cell] += temperature * (mass - given)
    forest_marginals(
        shape, own.unary, own.tables, forest, temperature, own.sums, law[at : at + n_unary],
        law[at + n_unary : at + n_unary + n_cells],
    )  # fmt: skip

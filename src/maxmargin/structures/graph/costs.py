"""Graphs: what labels of nodes and cells of edges cost, and potentials with costs added."""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import generic, implements, output_cost
from maxmargin.costs.edge_tables import EdgeCost
from maxmargin.costs.tables import (
    PartCost,
    SumOverPositions,
    WeightedPartCost,
    WholeCost,
)
from maxmargin.structures.graph.data import GraphPotentials, IntegralGraphs
from maxmargin.structures.graph.parts import cell_of

#: What takes the place of a scale of scores that is 0: costs then weigh so much more than scores
#: that scores only break ties.
SMALL_SCALE = 1e-9


# -- costs of nodes alone ------------------------------------------------------------------------


@generic
def node_factor(cost, i, node):
    """Return what the price of a node, counted through all graphs, is multiplied with."""


@implements(node_factor, PartCost)
def _node_factor(cost, i, node):
    return cost.scale[i]


@implements(node_factor, WeightedPartCost)
def _weighted_node_factor(cost, i, node):
    return cost.scale[i] * cost.weight[node]


@generic
def node_price(cost, i, node, truth, label):
    """Return what a label costs at a node, counted through all graphs."""


@implements(node_price, SumOverPositions)
def _node_price(cost, i, node, truth, label):
    return node_factor(cost, i, node) * cost.matrix[truth, label]


@implements(node_price, EdgeCost)
def _node_price_beside_edges(cost, i, node, truth, label):
    return cost.scale[i] * cost.node[node] if label != truth else 0.0


@jitable
def cell_price(cost, i, factor, n_labels, true, cell):
    """Return what a cell of the table of a factor costs, by the cell of the true labels.

    Cells count the labels of the last node first, so cell // n_labels tells of all others.
    """
    if cell == true:
        return 0.0
    price = cost.whole[factor]
    if cell // n_labels == true // n_labels:
        price += cost.last[factor]
    return cost.scale[i] * price


# -- potentials with costs added -----------------------------------------------------------------


@generic
def augment(cost, data, i, theta, score_scale, cost_scale, room):
    """Return potentials with cost_scale / score_scale times the cost added, in arrays of the room.

    Dividing the objective by score_scale leaves the tables of theta as they are where only nodes
    have costs; then they are returned themselves. If score_scale is 0, cost_scale times the cost is
    returned alone, and -inf where theta forbids.
    """


@implements(augment, SumOverPositions)
def _augment(cost, data, i, theta, score_scale, cost_scale, room):
    graphs = data.graphs
    n_labels, first = graphs.layout.n_labels, graphs.shapes.node_at[i]
    is_alone = score_scale == 0.0
    share = cost_scale if is_alone else cost_scale / score_scale
    for v in range(graphs.shapes.node_at[i + 1] - first):
        truth = graphs.labels[first + v]
        factor = share * node_factor(cost, i, first + v)
        for k in range(n_labels):
            at = v * n_labels + k
            room.augmented[at] = _kept(theta.unary[at], is_alone) + factor * cost.matrix[truth, k]
    if not is_alone:
        return GraphPotentials(room.augmented, theta.tables)
    for cell in range(graphs.shapes.n_cells[i]):
        room.tables[cell] = _kept(theta.tables[cell], True)
    return GraphPotentials(room.augmented, room.tables)


@implements(augment, EdgeCost)
def _augment_edges(cost, data, i, theta, score_scale, cost_scale, room):
    graphs = data.graphs
    shapes, n_labels = graphs.shapes, graphs.layout.n_labels
    is_alone = score_scale == 0.0
    share = cost_scale if is_alone else cost_scale / score_scale
    first = shapes.node_at[i]
    for v in range(shapes.node_at[i + 1] - first):
        truth = graphs.labels[first + v]
        price = share * cost.scale[i] * cost.node[first + v]
        for k in range(n_labels):
            at = v * n_labels + k
            score = _kept(theta.unary[at], is_alone)
            room.augmented[at] = score + (price if k != truth else 0.0)
    n_factors = shapes.factor_at[i + 1] - shapes.factor_at[i]
    for f in range(n_factors):
        factor = shapes.factor_at[i] + f
        begin, end = shapes.table_at[factor], shapes.n_cells[i]
        if f + 1 < n_factors:
            end = shapes.table_at[factor + 1]
        true = cell_of(graphs, i, f, graphs.labels, first)
        whole = share * cost.scale[i] * cost.whole[factor]
        for cell in range(begin, end):
            room.tables[cell] = _kept(theta.tables[cell], is_alone) + whole
        room.tables[begin + true] = _kept(theta.tables[begin + true], is_alone)
        last = share * cost.scale[i] * cost.last[factor]
        row = begin + true - true % n_labels
        for cell in range(row, row + n_labels):
            if cell != begin + true:
                room.tables[cell] += last
    return GraphPotentials(room.augmented, room.tables)


@jitable
def _kept(score, is_alone):
    """Return a score, or what is left of it where costs are alone."""
    return 0.0 if is_alone and score > -np.inf else score


@implements(output_cost, IntegralGraphs, SumOverPositions)
def _output_cost(data, cost, i, outputs, at):
    """Return the sum of the prices of all nodes."""
    graphs = data.graphs
    first = graphs.shapes.node_at[i]
    total = 0.0
    for v in range(graphs.shapes.node_at[i + 1] - first):
        price = cost.matrix[graphs.labels[first + v], outputs[at + v]]
        total += node_factor(cost, i, first + v) * price
    return total


@implements(output_cost, IntegralGraphs, EdgeCost)
def _output_cost_of_edges(data, cost, i, outputs, at):
    """Return the sum of the prices of all nodes and factors."""
    graphs = data.graphs
    shapes, n_labels = graphs.shapes, graphs.layout.n_labels
    first = shapes.node_at[i]
    total = 0.0
    for v in range(shapes.node_at[i + 1] - first):
        total += node_price(cost, i, first + v, graphs.labels[first + v], outputs[at + v])
    for f in range(shapes.factor_at[i + 1] - shapes.factor_at[i]):
        true = cell_of(graphs, i, f, graphs.labels, first)
        found = cell_of(graphs, i, f, outputs, at)
        total += cell_price(cost, i, shapes.factor_at[i] + f, n_labels, true, found)
    return total


# -- the largest costs ---------------------------------------------------------------------------


@generic
def price_sum(cost, data, i, theta, labels):
    """Return a cost that no labelling of graph i exceeds; ``labels`` is scratch."""


@implements(price_sum, SumOverPositions)
def _price_sum(cost, data, i, theta, labels):
    return largest_prices(data, cost, i, theta, labels, 0)


@implements(price_sum, EdgeCost)
def _price_sum_of_edges(cost, data, i, theta, labels):
    shapes = data.graphs.shapes
    total = 0.0
    for node in range(shapes.node_at[i], shapes.node_at[i + 1]):
        total += cost.node[node]
    for factor in range(shapes.factor_at[i], shapes.factor_at[i + 1]):
        total += cost.last[factor] + cost.whole[factor]
    return cost.scale[i] * total


@jitable
def largest_prices(data, cost, i, theta, outputs, at):
    """Write the labels of largest cost, ties by the unary potentials; return the cost."""
    graphs = data.graphs
    n_labels, first = graphs.layout.n_labels, graphs.shapes.node_at[i]
    total = 0.0
    for v in range(graphs.shapes.node_at[i + 1] - first):
        truth = graphs.labels[first + v]
        best = truth
        for k in range(n_labels):
            price, most = cost.matrix[truth, k], cost.matrix[truth, best]
            score, other = theta.unary[v * n_labels + k], theta.unary[v * n_labels + best]
            if score > -np.inf and (price > most or (price == most and score > other)):
                best = k
        outputs[at + v] = best
        total += node_factor(cost, i, first + v) * cost.matrix[truth, best]
    return total


@jitable
def is_truth(data, i, outputs, at):
    """Tell whether a labelling is the true one."""
    first = data.graphs.shapes.node_at[i]
    for v in range(data.graphs.shapes.node_at[i + 1] - first):
        if outputs[at + v] != data.graphs.labels[first + v]:
            return False
    return True


@jitable
def write_truth(data, i, outputs, at):
    """Write the true labels."""
    first = data.graphs.shapes.node_at[i]
    for v in range(data.graphs.shapes.node_at[i + 1] - first):
        outputs[at + v] = data.graphs.labels[first + v]


@implements(output_cost, IntegralGraphs, WholeCost)
def _output_cost_whole(data, cost, i, outputs, at):
    """Return the price of the example if any node is wrong."""
    return 0.0 if is_truth(data, i, outputs, at) else cost.price[i]

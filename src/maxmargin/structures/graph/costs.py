"""Graphs: what the labels of nodes cost, and potentials with costs added."""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import generic, implements, output_cost
from maxmargin.costs.tables import PartCost, SumOverPositions, WeightedPartCost, WholeCost
from maxmargin.structures.graph.data import IntegralGraphs


@generic
def node_factor(cost, i, node):
    """Return what the price of a node, counted through all graphs, is multiplied with."""


@implements(node_factor, PartCost)
def _node_factor(cost, i, node):
    return cost.scale[i]


@implements(node_factor, WeightedPartCost)
def _weighted_node_factor(cost, i, node):
    return cost.scale[i] * cost.weight[node]


@jitable
def augment(data, cost, i, theta, score_scale, cost_scale, augmented):
    """Fill augmented: unary potentials with cost_scale / score_scale times the cost added.

    Dividing the objective by score_scale leaves the tables as they are. If score_scale is 0, 1e-9
    takes its place: then costs weigh so much more than scores that scores only break ties.
    """
    graphs = data.graphs
    n_labels, first = graphs.layout.n_labels, graphs.shapes.node_at[i]
    share = cost_scale / max(score_scale, 1e-9)
    for v in range(graphs.shapes.node_at[i + 1] - first):
        truth = graphs.labels[first + v]
        factor = share * node_factor(cost, i, first + v)
        for k in range(n_labels):
            at = v * n_labels + k
            augmented[at] = theta.unary[at] + factor * cost.matrix[truth, k]


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

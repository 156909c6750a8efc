"""Sets of nodes: what an output costs, and how costs weigh beside scores."""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import CostOfSwitches, cost_step, implements, output_cost, shift
from maxmargin.core.dispatch import generic_on_two
from maxmargin.costs.levels import step_of
from maxmargin.costs.tables import SetEdgeCost, SwitchCost, WholeCost
from maxmargin.structures.hierarchy.data import HierarchyData, NodeSets


@jitable
def _sum_over_cells(table, outputs, at):
    """Return the sum of table[n, truth_n] over the nodes that differ from the truth."""
    total = 0.0
    for place in range(at + 1, at + 1 + outputs[at]):
        cell = outputs[place]
        total += table[cell, 0] if cell >= 0 else table[-1 - cell, 1]
    return total


@implements(output_cost, NodeSets, SwitchCost)
def _output_cost(data, cost, i, outputs, at):
    """Return the cost of the wrong nodes, and that of the truth (`base`)."""
    return cost.base[i] + cost.scale[i] * _sum_over_cells(cost.price, outputs, at)


@implements(shift, NodeSets, SwitchCost)
def _shift(data, cost, i, outputs, at):
    """Return the shifts of the wrong nodes; 0 for a cost without shifts."""
    if cost.shift.shape[0] == 0:
        return 0.0
    return cost.scale[i] * _sum_over_cells(cost.shift, outputs, at)


@jitable
def is_true_node(data, i, n):
    """Tell whether node n is in the true set of example i."""
    low, high = data.node_at[i], data.node_at[i + 1]
    while low < high:
        middle = (low + high) // 2
        if data.nodes[middle] < n:
            low = middle + 1
        else:
            high = middle
    return low < data.node_at[i + 1] and data.nodes[low] == n


@jitable
def _is_wrong(outputs, at, n):
    """Tell whether node n is among the cells of an output; nodes rise."""
    low, high = at + 1, at + 1 + outputs[at]
    end = high
    while low < high:
        middle = (low + high) // 2
        cell = outputs[middle]
        if (cell if cell >= 0 else -1 - cell) < n:
            low = middle + 1
        else:
            high = middle
    return low < end and (outputs[low] == n or outputs[low] == -1 - n)


@implements(output_cost, NodeSets, SetEdgeCost)
def _output_cost_edges(data, cost, i, outputs, at):
    """Return the prices of wrong roots, and of wrong nodes for each parent that is right."""
    total = 0.0
    for place in range(at + 1, at + 1 + outputs[at]):
        cell = outputs[place]
        n = cell if cell >= 0 else -1 - cell
        total += cost.root[n]
        for edge in range(cost.parent_at[n], cost.parent_at[n + 1]):
            if not _is_wrong(outputs, at, cost.parents[edge]):
                total += cost.edge[edge]
    return cost.scale[i] * total


@implements(output_cost, NodeSets, WholeCost)
def _output_cost_whole(data, cost, i, outputs, at):
    """Return the price of the example if any node is wrong."""
    return cost.price[i] if outputs[at] > 0 else 0.0


@implements(cost_step, NodeSets, CostOfSwitches)
def _cost_step(data, cost):
    """Return the step of the cost, which all outputs have."""
    return step_of(cost)


@generic_on_two
def augment(data, cost, i, theta, score_scale, cost_scale, gains):
    """Fill ``gains`` with what each node adds to score and cost when it is in the output."""


@implements(augment, HierarchyData, SwitchCost)
def _augment(data, cost, i, theta, score_scale, cost_scale, gains):
    """Add the prices, those of true nodes negative."""
    has_shift = cost.shift.shape[0] > 0
    scale = cost.scale[i]
    for n in range(data.n_nodes):
        score = theta.nodes[0, n]
        if has_shift:
            score += scale * cost.shift[n, 0]
        gains[n] = score_scale * score + cost_scale * (scale * cost.price[n, 0])
    for place in range(data.node_at[i], data.node_at[i + 1]):
        n = data.nodes[place]
        score = theta.nodes[0, n]
        if has_shift:
            score -= scale * cost.shift[n, 1]
        gains[n] = score_scale * score - cost_scale * (scale * cost.price[n, 1])


@implements(augment, HierarchyData, SetEdgeCost)
def _augment_edges(data, cost, i, theta, score_scale, cost_scale, gains):
    """Add the prices of edges: of a true edge to its child, negative, and to its parent."""
    scale = cost_scale * cost.scale[i]
    for n in range(data.n_nodes):
        gains[n] = score_scale * theta.nodes[0, n]
    for n in range(data.n_nodes):
        if is_true_node(data, i, n):
            gains[n] -= scale * cost.root[n]
            for edge in range(cost.parent_at[n], cost.parent_at[n + 1]):
                gains[n] -= scale * cost.edge[edge]
                gains[cost.parents[edge]] += scale * cost.edge[edge]
        else:
            gains[n] += scale * cost.root[n]
            for edge in range(cost.parent_at[n], cost.parent_at[n + 1]):
                if is_true_node(data, i, cost.parents[edge]):
                    gains[n] += scale * cost.edge[edge]


@jitable
def scales_with_ties(data, cost, i, theta, score_scale, cost_scale):
    """Return two positive scales; a scale that was 0 becomes so small that it only breaks ties.

    If score_scale is 0, all scores together shall weigh less than the smallest price. If cost_scale
    is 0, costs shall weigh less than rounding may change the scores.
    """
    if (score_scale > 0.0) == (cost_scale > 0.0):
        return score_scale, cost_scale
    scores, costs, least = sums_of_prices(data, cost, i)
    for n in range(data.n_nodes):
        scores += abs(theta.nodes[0, n])
    if scores == 0.0 or costs == 0.0:
        return max(score_scale, cost_scale), max(score_scale, cost_scale)
    if score_scale == 0.0:
        return cost_scale * (least / (4.0 * scores)), cost_scale
    return score_scale, score_scale * (1e-14 * scores / costs)


@generic_on_two
def sums_of_prices(data, cost, i):
    """Return the sums of all shifts and of all prices, and the smallest price that is not 0."""


@implements(sums_of_prices, HierarchyData, SwitchCost)
def _sums_of_switches(data, cost, i):
    shifts = costs = 0.0
    least = np.inf
    for n in range(data.n_nodes):
        for truth in range(2):  # more than the cost of any output, which has one of the two
            price = cost.scale[i] * abs(cost.price[n, truth])
            costs += price
            if price > 0.0:
                least = min(least, price)
            if cost.shift.shape[0] > 0:
                shifts += cost.scale[i] * abs(cost.shift[n, truth])
    return shifts, costs, least


@implements(sums_of_prices, HierarchyData, SetEdgeCost)
def _sums_of_edges(data, cost, i):
    costs, least = 0.0, np.inf
    for prices in (cost.root, cost.edge):
        for place in range(prices.shape[0]):
            price = cost.scale[i] * prices[place]
            costs += price
            if price > 0.0:
                least = min(least, price)
    return 0.0, costs, least

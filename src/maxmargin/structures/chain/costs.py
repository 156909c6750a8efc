"""Chains: what labellings cost, and unary potentials with costs added."""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from maxmargin.core.contract import generic, implements, output_cost, shift
from maxmargin.costs.tables import PartCost, ShiftedPartCost, WeightedPartCost
from maxmargin.structures.chain.data import ChainData


@generic
def augment(cost, data, i, theta, room, score_scale, cost_scale):
    """Fill room.augmented: unary potentials with cost_scale / score_scale times the cost added.

    Dividing the objective by score_scale leaves the transitions as they are. If score_scale is 0,
    1e-9 takes its place: then costs weigh so much more than scores that scores only break ties.
    """


@implements(augment, PartCost)
def _augment(cost, data, i, theta, room, score_scale, cost_scale):
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    factor = cost_scale * cost.scale[i] / max(score_scale, 1e-9)
    for t in range(length):
        truth = data.labels[first + t]
        for k in range(data.layout.n_labels):
            room.augmented[t, k] = theta.unary[t, k] + factor * cost.matrix[truth, k]


@implements(output_cost, ChainData, PartCost)
def _output_cost(data, cost, i, outputs, at):
    """Return the sum of the prices of all positions."""
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    total = 0.0
    for t in range(length):
        total += cost.matrix[data.labels[first + t], outputs[at + t]]
    return cost.scale[i] * total


# -- positions that have weights of their own: those of latent labels have 0 ----------------------


@implements(augment, WeightedPartCost)
def _augment_weighted(cost, data, i, theta, room, score_scale, cost_scale):
    """Add prices as for `PartCost`, those of each position times its weight."""
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    factor = cost_scale * cost.scale[i] / max(score_scale, 1e-9)
    for t in range(length):
        truth, own = data.labels[first + t], factor * cost.weight[first + t]
        for k in range(data.layout.n_labels):
            room.augmented[t, k] = theta.unary[t, k] + own * cost.matrix[truth, k]


@implements(output_cost, ChainData, WeightedPartCost)
def _output_cost_weighted(data, cost, i, outputs, at):
    """Return the sum of the prices of all positions, times their weights."""
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    total = 0.0
    for t in range(length):
        price = cost.matrix[data.labels[first + t], outputs[at + t]]
        total += cost.weight[first + t] * price
    return cost.scale[i] * total


# -- costs with a shift: the criteria of Micro-F1 --------------------------------------------------


@implements(augment, ShiftedPartCost)
def _augment_shifted(cost, data, i, theta, room, score_scale, cost_scale):
    """Add shifts, which belong to the score, and prices."""
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    factor = cost_scale * cost.scale[i] / max(score_scale, 1e-9)
    for t in range(length):
        truth = data.labels[first + t]
        for k in range(data.layout.n_labels):
            added = cost.scale[i] * cost.shift[truth, k] + factor * cost.matrix[truth, k]
            room.augmented[t, k] = theta.unary[t, k] + added


@implements(output_cost, ChainData, ShiftedPartCost)
def _output_cost_shifted(data, cost, i, outputs, at):
    """Return the cost of the truth (`base`) and the sum of the prices of all positions."""
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    total = 0.0
    for t in range(length):
        total += cost.matrix[data.labels[first + t], outputs[at + t]]
    return cost.base[i] + cost.scale[i] * total


@implements(shift, ChainData, ShiftedPartCost)
def _shift(data, cost, i, outputs, at):
    """Return the sum of the shifts of all positions."""
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    total = 0.0
    for t in range(length):
        total += cost.shift[data.labels[first + t], outputs[at + t]]
    return cost.scale[i] * total

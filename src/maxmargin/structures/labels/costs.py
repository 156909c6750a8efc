"""Label sets: what an output costs, and how costs weigh beside scores."""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    CostOfSwitches,
    cost_step,
    generic,
    implements,
    output_cost,
    shift,
)
from maxmargin.costs.levels import step_of
from maxmargin.costs.tables import F1Cost, SwitchCost, WholeCost
from maxmargin.structures.labels.data import IntegralLabels


@jitable
def label_gains(cost, i, j, truth):
    """Return what label j of example i adds to `shift` and to a `SwitchCost` when it is on.

    ``truth`` is 0 or 1. If it is 1, the signs are reversed: the label on is right, off is wrong.
    """
    sign = -cost.scale[i] if truth == 1 else cost.scale[i]
    added = sign * cost.shift[j, truth] if cost.shift.shape[0] > 0 else 0.0
    return added, sign * cost.price[j, truth]


@jitable
def _sum_over_wrong(data, table, i, outputs, at):
    """Return the sum of table[j, truth_j] over the labels j that are wrong."""
    total = 0.0
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        if outputs[at + j] != truth:
            total += table[j, truth]
    return total


@implements(output_cost, IntegralLabels, SwitchCost)
def _output_cost(data, cost, i, outputs, at):
    """Return the cost of the wrong labels, and that of the truth (`base`)."""
    return cost.base[i] + cost.scale[i] * _sum_over_wrong(data, cost.price, i, outputs, at)


@implements(shift, IntegralLabels, SwitchCost)
def _shift(data, cost, i, outputs, at):
    """Return the shifts of the wrong labels; 0 for a cost without shifts."""
    if cost.shift.shape[0] == 0:
        return 0.0
    return cost.scale[i] * _sum_over_wrong(data, cost.shift, i, outputs, at)


@implements(output_cost, IntegralLabels, WholeCost)
def _output_cost_whole(data, cost, i, outputs, at):
    """Return the price of the example if any label is wrong."""
    for j in range(data.n_labels):
        if outputs[at + j] != data.labels[i, j]:
            return cost.price[i]
    return 0.0


@jitable
def _count_labels(data, i, outputs, at):
    """Return the number of wrong labels, and |y| + |y_i|, the labels on in output and truth."""
    wrong = on = 0
    for j in range(data.n_labels):
        truth, label = data.labels[i, j], outputs[at + j]
        if label != truth:
            wrong += 1
            on += 1
        elif label == 1:
            on += 2
    return wrong, on


@implements(output_cost, IntegralLabels, F1Cost)
def _output_cost_f1(data, cost, i, outputs, at):
    """Return the wrong labels over |y| + |y_i|, times the price of the example."""
    wrong, on = _count_labels(data, i, outputs, at)
    return cost.price[i] * wrong / on if wrong > 0 else 0.0


@implements(cost_step, IntegralLabels, CostOfSwitches)
def _cost_step(data, cost):
    """Return the step of the cost, which all outputs have."""
    return step_of(cost)


# -- a scale of 0 breaks ties --------------------------------------------------------------------


@generic
def cost_range(cost, data, i):
    """Return three numbers: least step below the highest cost, range of costs, range of `shift`.

    The step is how far the next lower cost is below the highest one, or less; it is inf where all
    outputs cost the same. A range is the largest difference of two values.
    """


@implements(cost_range, SwitchCost)
def _range_of_sums(cost, data, i):
    """Add up all prices and all shifts of known labels; the least step is the smallest price."""
    total = shifts = 0.0
    least = np.inf
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        if truth >= 0:
            added, price = label_gains(cost, i, j, truth)
            shifts += abs(added)
            total += abs(price)
            if price != 0.0:
                least = min(least, abs(price))
    return least, total, shifts


@implements(cost_range, WholeCost)
def _range_of_whole(cost, data, i):
    """All wrong outputs cost the same, and the truth costs nothing."""
    return cost.price[i], cost.price[i], 0.0


@implements(cost_range, F1Cost)
def _range_of_f1(cost, data, i):
    """Costs are fractions with denominators up to 2 m: two of them differ by 1/(4 m^2) or more."""
    return cost.price[i] / (4.0 * data.n_labels * data.n_labels), cost.price[i], 0.0


@jitable
def scales_with_ties(data, cost, i, theta, score_scale, cost_scale):
    """Return two positive scales; a scale that was 0 becomes so small that it only breaks ties.

    If score_scale is 0, all scores together shall weigh less than the smallest step below the
    highest cost. If cost_scale is 0, costs shall weigh less than rounding may change the scores.
    """
    if (score_scale > 0.0) == (cost_scale > 0.0):
        return score_scale, cost_scale
    least, costs, scores = cost_range(cost, data, i)
    for j in range(data.n_labels):
        scores += abs(theta.unary[0, j])
    for e in range(theta.pair.shape[0]):
        scores += abs(theta.pair[e])
    if scores == 0.0 or costs == 0.0:
        return max(score_scale, cost_scale), max(score_scale, cost_scale)
    if score_scale == 0.0:
        return cost_scale * (least / (4.0 * scores)), cost_scale
    return score_scale, score_scale * (1e-14 * scores / costs)

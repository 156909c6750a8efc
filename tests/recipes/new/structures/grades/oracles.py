"""Grades are few, so all are gone through."""

from __future__ import annotations

import numpy as np
from maxmargin.structures.grades.data import GradesData

from maxmargin.core.contract import CostOfPositions, implements, maximize, output_cost
from maxmargin.costs.tables import PartCost, WholeCost


@implements(maximize, GradesData, CostOfPositions)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    score, best, found = 0.0, -np.inf, 0
    for y in range(data.n_grades):
        outputs[at] = y
        value = score_scale * score + cost_scale * output_cost(data, cost, i, outputs, at)
        if value > best:
            best, found = value, y
        if y < data.n_grades - 1:
            score += theta.slope[0, 0] + theta.steps[y]
    outputs[at] = found


@implements(output_cost, GradesData, PartCost)
def _output_cost_part(data, cost, i, outputs, at):
    return cost.scale[i] * cost.matrix[data.grades[i], outputs[at]]


@implements(output_cost, GradesData, WholeCost)
def _output_cost_whole(data, cost, i, outputs, at):
    return cost.price[i] if outputs[at] != data.grades[i] else 0.0

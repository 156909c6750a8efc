"""A structure as a user would write one to run compiled: grades on a line, cut by thresholds.

phi(x, y) = [y x | ones up to y], so that w = [direction | -thresholds]: the score of grade y is
y u.x + t_1 + ... + t_y.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    add_difference,
    implements,
    margin_error,
    maximize,
    n_weights,
    output_cost,
    output_size,
    output_sizes,
    potentials,
    truths,
    workspace,
)


class GradesData(NamedTuple):
    X: Any  # (n, d)
    grades: Any  # (n,) int32
    n_grades: int


class Distance(NamedTuple):
    """price[i] * |y - y_i|."""

    price: Any


class GradesPotentials(NamedTuple):
    scores: Any  # (n_grades,)


class Grades:
    """What `StructuredSVM` takes."""

    def __init__(self, grades):
        self.grades = list(grades)
        self.classes = self.grades

    def data(self, X, Y):
        X = np.ascontiguousarray(X, dtype=np.float64)
        codes = [0] * len(X) if Y is None else [self.grades.index(y) for y in Y]
        return GradesData(X, np.array(codes, dtype=np.int32), len(self.grades))

    def decode(self, data, i, cells):
        return self.grades[cells[0]]

    def cost(self, data):
        return Distance(np.ones(len(data.X)))

    def parameters(self):
        return {"grades": self.grades}


@implements(n_weights, GradesData)
def _n_weights(data):
    return data.X.shape[1] + data.n_grades - 1


@implements(output_sizes, GradesData)
def _output_sizes(data):
    return np.ones(len(data.X), dtype=np.int64)


@implements(truths, GradesData)
def _truths(data):
    return data.grades


@implements(workspace, GradesData)
def _workspace(data):
    return GradesPotentials(np.zeros(data.n_grades)), ()


@implements(output_size, GradesData)
def _output_size(data, i):
    return 1


@implements(potentials, GradesData)
def _potentials(data, i, w, scale, theta):
    d = data.X.shape[1]
    projection = 0.0
    for f in range(d):
        projection += data.X[i, f] * w[f]
    theta.scores[0] = 0.0
    for y in range(1, data.n_grades):
        theta.scores[y] = theta.scores[y - 1] + scale * (projection + w[d + y - 1])


@implements(margin_error, GradesData)
def _margin_error(data, i, theta, outputs, at):
    return theta.scores[outputs[at]] - theta.scores[data.grades[i]]


@implements(add_difference, GradesData)
def _add_difference(data, i, outputs, at, scale, w):
    d = data.X.shape[1]
    truth, y = data.grades[i], outputs[at]
    for f in range(d):
        w[f] += scale * (truth - y) * data.X[i, f]
    for step in range(y, truth):
        w[d + step] += scale
    for step in range(truth, y):
        w[d + step] -= scale


@implements(maximize, GradesData, Distance)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    best = -np.inf
    for y in range(data.n_grades):
        price = cost.price[i] * abs(y - data.grades[i])
        value = score_scale * theta.scores[y] + cost_scale * price
        if value > best:
            best = value
            outputs[at] = y


@implements(output_cost, GradesData, Distance)
def _output_cost(data, cost, i, outputs, at):
    return cost.price[i] * abs(outputs[at] - data.grades[i])

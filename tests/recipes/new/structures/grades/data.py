"""Grades on a line: phi(x, y) = [y x | ones up to y], so that w = [direction | -thresholds]."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    add_parts,
    add_row,
    add_scores,
    implements,
    n_weights,
    output_size,
    output_sizes,
    parts,
    potentials,
    truths,
    workspace,
)
from maxmargin.features.rows import as_features, check_labels, frozen


class GradesData(NamedTuple):
    """Examples to grade."""

    features: Any
    grades: Any  # (n_examples,) int32
    n_columns: int
    n_grades: int


class GradePotentials(NamedTuple):
    """What a grade is made of."""

    slope: Any  # (1, 1): direction.x, which grade y uses y times
    steps: Any  # (n_grades - 1,): step k is used by the grades above k


def grades_data(X: Any, grades: Any, n_grades: int) -> GradesData:
    """Wrap a matrix of finite numbers and grades 0 .. n_grades - 1."""
    check_labels(grades, X.shape[0], n_grades)
    return GradesData(as_features(X), frozen(grades, np.int32), int(X.shape[1]), int(n_grades))


@implements(n_weights, GradesData)
def _n_weights(data):
    return data.n_columns + data.n_grades - 1


@implements(output_sizes, GradesData)
def _output_sizes(data):
    return np.ones(len(data.grades), dtype=np.int64)


@implements(truths, GradesData)
def _truths(data):
    return data.grades


@implements(workspace, GradesData)
def _workspace(data):
    return GradePotentials(np.zeros((1, 1)), np.zeros(data.n_grades - 1)), ()


@implements(output_size, GradesData)
def _output_size(data, i):
    return 1


@implements(potentials, GradesData)
def _potentials(data, i, w, scale, theta):
    theta.slope[0, 0] = 0.0
    add_scores(data.features, i, 1, scale, w.reshape((w.shape[0], 1)), theta.slope)
    for k in range(data.n_grades - 1):
        theta.steps[k] = scale * w[data.n_columns + k]


@implements(parts, GradesData)
def _parts(data, i, outputs, at, scale, mu):
    mu.slope[0, 0] += scale * outputs[at]
    for k in range(outputs[at]):
        mu.steps[k] += scale


@implements(add_parts, GradesData)
def _add_parts(data, i, mu, scale, w):
    if mu.slope[0, 0] != 0.0:
        add_row(data.features, i, 0, scale * mu.slope[0, 0], w.reshape((w.shape[0], 1)))
    for k in range(data.n_grades - 1):
        w[data.n_columns + k] += scale * mu.steps[k]

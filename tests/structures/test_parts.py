"""Structures that tell their joint features by parts alone, and those that have none."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from maxmargin import StructuredSVM
from maxmargin.core import contract as g
from maxmargin.core.compile import compiled
from maxmargin.core.contract import implements
from maxmargin.structures import STRUCTURES, OwnCost, UserData
from maxmargin.structures.user.compiled import check_data
from maxmargin.testing import check_structure, tiny_problem
from maxmargin.testing.tiny import Agreement
from tests.grades import Distance


class Steps(NamedTuple):
    """Grades on a line: phi(x, y) = [y x | ones up to y], of which only the parts are told."""

    X: Any  # (n, d)
    grades: Any  # (n,) int32
    n_grades: int


class StepPotentials(NamedTuple):
    """Two arrays of different dimensions, and a grade that uses several cells."""

    slope: Any  # (1, 1): u.x, which grade y uses y times
    steps: Any  # (n_grades,): step k is used by the grades above k


class StepRoom(NamedTuple):
    values: Any  # (n_grades,)


@implements(g.n_weights, Steps)
def _n_weights(data):
    return data.X.shape[1] + data.n_grades - 1


@implements(g.output_sizes, Steps)
def _output_sizes(data):
    return np.ones(len(data.X), dtype=np.int64)


@implements(g.output_size, Steps)
def _output_size(data, i):
    return 1


@implements(g.truths, Steps)
def _truths(data):
    return data.grades


@implements(g.workspace, Steps)
def _workspace(data):
    theta = StepPotentials(np.zeros((1, 1)), np.zeros(data.n_grades - 1))
    return theta, StepRoom(np.zeros(data.n_grades))


@implements(g.potentials, Steps)
def _potentials(data, i, w, scale, theta):
    d = data.X.shape[1]
    theta.slope[0, 0] = 0.0
    for f in range(d):
        theta.slope[0, 0] += scale * data.X[i, f] * w[f]
    for k in range(data.n_grades - 1):
        theta.steps[k] = scale * w[d + k]


@implements(g.parts, Steps)
def _parts(data, i, outputs, at, scale, mu):
    mu.slope[0, 0] += scale * outputs[at]
    for k in range(outputs[at]):
        mu.steps[k] += scale


@implements(g.add_parts, Steps)
def _add_parts(data, i, mu, scale, w):
    d = data.X.shape[1]
    for f in range(d):
        w[f] += scale * mu.slope[0, 0] * data.X[i, f]
    for k in range(data.n_grades - 1):
        w[d + k] += scale * mu.steps[k]


@implements(g.maximize, Steps, Distance)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    score = 0.0
    for y in range(data.n_grades):
        room.values[y] = score_scale * score + cost_scale * cost.price[i] * abs(y - data.grades[i])
        if y < data.n_grades - 1:
            score += theta.slope[0, 0] + theta.steps[y]
    outputs[at] = np.argmax(room.values)


@implements(g.output_cost, Steps, Distance)
def _output_cost(data, cost, i, outputs, at):
    return cost.price[i] * abs(outputs[at] - data.grades[i])


def steps(n=6, n_grades=4):
    X = np.random.default_rng(0).normal(size=(n, 2))
    return Steps(X, np.arange(n, dtype=np.int32) % n_grades, n_grades)


class Stairs:
    """What `StructuredSVM` takes."""

    def data(self, X, Y):
        grades = np.zeros(len(X), np.int32) if Y is None else np.array(Y, np.int32)
        return Steps(np.ascontiguousarray(X, dtype=float), grades, 4)

    def decode(self, data, i, cells):
        return int(cells[0])

    def cost(self, data):
        return Distance(np.ones(len(data.X)))


def test_parts_are_enough_for_all_the_rest_compiled():
    data = steps()
    assert "parts" in g.capabilities(data, Distance(np.ones(6)))
    check_structure(data, cost=Distance(np.ones(6)), outputs=lambda i: [0, 1, 2, 3])


def test_a_structure_of_parts_is_trained():
    data = steps(20)
    model = StructuredSVM(Stairs(), tol=1e-3, random_state=0).fit(data.X, data.grades)
    assert model.result_.status == "converged" and model.result_.relative_gap <= 1e-3


def test_forbidden_cells_that_are_not_used_do_not_count():
    theta = (np.array([[1.0, -np.inf]]), np.array([2.0, -np.inf]))
    unused = (np.array([[3.0, 0.0]]), np.array([0.5, 0.0]))
    used = (np.array([[3.0, 0.0]]), np.array([0.5, 1.0]))
    for product in (g.product, compiled(_product)):
        assert product(theta, unused) == 4.0
        assert product(theta, used) == -np.inf


def _product(theta, mu):
    return g.product(theta, mu)


@pytest.mark.parametrize("structure", [name for name in STRUCTURES if name != "user"])
def test_every_structure_of_ours_has_parts(structure):
    problem = tiny_problem(structure, compile=False)
    assert {"weighted", "parts"} <= problem.capabilities
    theta, _ = g.workspace(problem.view.data)
    assert all(array.dtype == np.float64 for array in theta)


def test_an_object_in_plain_python_has_no_parts_and_is_named():
    data = UserData(Agreement(3, 2), np.eye(2), [0, 2])
    assert "parts" not in g.capabilities(data, OwnCost())
    assert g.name_of(data) == "Agreement"
    with pytest.raises(TypeError, match="'parts' is not implemented for UserData"):
        g.parts(data, 0, g.truths(data), 0, 1.0, None)


class Half(NamedTuple):
    X: Any


def test_one_of_the_two_pairs_must_be_there():
    with pytest.raises(
        TypeError, match=r"\(parts, add_parts\) or \(margin_error, add_difference\)"
    ):
        check_data(Half(np.eye(2)), 2)


class Wide(NamedTuple):
    X: Any


@implements(g.n_weights, Wide)
def _n_wide(data):
    return 1 << 22


def test_very_many_weights_are_not_cleared_for_every_plane():
    with pytest.raises(TypeError, match=r"Wide has 4194304 weights.*clear_difference"):
        g.spare_size(Wide(np.eye(2)))

    @implements(g.clear_difference, Wide)
    def _clear(data, i, outputs, at, w):
        w[:2] = 0.0

    try:
        assert g.spare_size(Wide(np.eye(2))) == 1 << 22
    finally:
        del g.clear_difference.implementations[(Wide,)]


def test_what_a_python_structure_touched_is_cleared_again():
    data = UserData(Agreement(3, 2), np.eye(2), [0, 2])
    theta, _ = g.workspace(data)
    spare, outputs = np.zeros(6), np.empty(1, dtype=object)
    for y, y_true in ((1, 0), (2, 0), (0, 0)):
        outputs[0] = type(data.truths[0])(y)
        g.difference_potentials(data, 0, outputs, 0, spare, theta)
        expected = np.zeros(6)
        g.add_difference(data, 0, outputs, 0, 1.0, expected)
        np.testing.assert_array_equal(theta.w, expected)
        assert y_true == data.truths[0].value

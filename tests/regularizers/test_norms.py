"""Other norms than the Euclidean one: solvers that ask for inner products need no change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from maxmargin.core.contract import (
    Identity,
    add_difference,
    implements,
    inner,
    margin_error,
    maximize,
    n_weights,
    output_cost,
    output_size,
    output_sizes,
    potentials,
    times_metric,
    truths,
    workspace,
)
from maxmargin.core.problem import Problem
from maxmargin.regularizers import REGULARIZERS
from maxmargin.solvers import SOLVERS, OneSlack, run
from tests.helpers import DIRECT, tiny_multiclass

TINY, LAM = tiny_multiclass(3, weighted=True), 0.1


class Weighted(NamedTuple):
    """R = diag(scale)."""

    scale: Any


@implements(times_metric, Weighted)
def _times_metric(regularizer, w):
    return regularizer.scale * w


class Stretched:
    """Examples whose updates are R^-1 Psi, in plain Python."""

    def __init__(self, data, scale):
        self.data, self.scale = data, scale


@implements(n_weights, Stretched)
def _n_weights(data):
    return n_weights(data.data)


@implements(output_sizes, Stretched)
def _output_sizes(data):
    return output_sizes(data.data)


@implements(truths, Stretched)
def _truths(data):
    return truths(data.data)


@implements(workspace, Stretched)
def _workspace(data):
    return workspace(data.data)


@implements(output_size, Stretched)
def _output_size(data, i):
    return output_size(data.data, i)


@implements(potentials, Stretched)
def _potentials(data, i, w, scale, theta):
    potentials(data.data, i, w, scale, theta)


@implements(margin_error, Stretched)
def _margin_error(data, i, theta, outputs, at):
    return margin_error(data.data, i, theta, outputs, at)


@implements(maximize, Stretched, type(TINY.cost))
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    maximize(data.data, cost, i, theta, room, score_scale, cost_scale, outputs, at)


@implements(output_cost, Stretched, type(TINY.cost))
def _output_cost(data, cost, i, outputs, at):
    return output_cost(data.data, cost, i, outputs, at)


@implements(add_difference, Stretched)
def _add_difference(data, i, outputs, at, scale, w):
    psi = np.zeros(len(w))
    add_difference(data.data, i, outputs, at, scale, psi)
    w += psi / data.scale


SCALE = np.random.default_rng(0).uniform(0.2, 5.0, size=TINY.differences[0].shape[1])


def stretched_problem():
    return Problem(
        Stretched(TINY.data, SCALE), TINY.cost, TINY.problem(LAM).view.surrogate, len(TINY.costs),
        LAM, TINY.weight, search=DIRECT, regularizer=Weighted(SCALE), compile=False,
    )  # fmt: skip


def stretched_optimum():
    """Return min P from a general solver: u = R^1/2 w has the Euclidean norm."""
    return replace(TINY, differences=[psi / np.sqrt(SCALE) for psi in TINY.differences])


def test_the_euclidean_norm_is_the_plain_product():
    w = np.random.default_rng(0).normal(size=50)
    assert inner(Identity(), w, w) == w @ w and times_metric(Identity(), w) is w
    assert REGULARIZERS["euclidean"]().of(None, 50) is None


@pytest.mark.parametrize("name", ["bcfw", "sdca", "n_slack", "one_slack"])
def test_a_diagonal_norm_is_minimised(name):
    problem, twin = stretched_problem(), stretched_optimum()
    result, _ = run(problem, SOLVERS[name](), rng=np.random.default_rng(0), tol=1e-6, max_iter=1000)
    assert result.status == "converged"
    assert result.primal == pytest.approx(twin.primal(np.sqrt(SCALE) * result.w, LAM), rel=1e-9)
    best = twin.optimum(LAM)
    assert result.dual - 1e-9 <= best <= result.primal + 1e-9
    assert abs(best - TINY.optimum(LAM)) > 1e-3  # the norm matters


def test_a_ball_of_a_diagonal_norm_is_kept():
    problem = stretched_problem()
    result, _ = run(
        problem, OneSlack(radius=0.5), rng=np.random.default_rng(0), tol=1e-4, max_iter=500
    )
    assert result.status == "converged"
    assert problem.length(result.w) <= 0.5 * (1.0 + 1e-12)


def test_sgd_approaches_the_optimum_of_a_diagonal_norm():
    best = stretched_optimum().optimum(LAM)
    result, _ = run(
        stretched_problem(), SOLVERS["sgd"](), rng=np.random.default_rng(0), max_iter=200
    )
    assert best - 1e-9 <= result.primal <= 1.05 * best

"""Outputs that differ in length: label sets as lists of the labels that are on."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest

from maxmargin.core.contract import (
    add_difference,
    implements,
    margin_error,
    maximize,
    n_weights,
    output_cost,
    output_length,
    output_size,
    output_sizes,
    potentials,
    truths,
    workspace,
)
from maxmargin.search import ConvexHull
from maxmargin.solvers import SOLVERS, Snapshot, run
from maxmargin.solvers.blocks.arena import AT, LENGTH, in_use
from maxmargin.surrogates import SlackRescaling
from tests.helpers import Tiny

N, D, M = 8, 3, 4


class SetData(NamedTuple):
    """An output is the number of labels that are on, and these labels in order."""

    X: Any  # (n, d)
    is_on: Any  # (n, m)


class SetScores(NamedTuple):
    scores: Any  # (m,)


class SetCost(NamedTuple):
    price: Any  # (m,) of a label that is wrong


@implements(n_weights, SetData)
def _n_weights(data):
    return data.X.shape[1] * data.is_on.shape[1]


@implements(output_sizes, SetData)
def _output_sizes(data):
    return np.full(len(data.X), data.is_on.shape[1] + 1, dtype=np.int64)


@implements(truths, SetData)
def _truths(data):
    cells = np.full((len(data.X), data.is_on.shape[1] + 1), -9, dtype=np.int32)
    for own, row in zip(cells, data.is_on, strict=True):
        labels = np.flatnonzero(row)
        own[0], own[1 : 1 + len(labels)] = len(labels), labels
    return cells.reshape(-1)


@implements(workspace, SetData)
def _workspace(data):
    return SetScores(np.zeros(data.is_on.shape[1])), ()


@implements(output_size, SetData)
def _output_size(data, i):
    return data.is_on.shape[1] + 1


@implements(output_length, SetData)
def _output_length(data, i, outputs, at):
    return outputs[at] + 1


@implements(potentials, SetData)
def _potentials(data, i, w, scale, theta):
    n_labels = data.is_on.shape[1]
    for k in range(n_labels):
        theta.scores[k] = 0.0
        for j in range(data.X.shape[1]):
            theta.scores[k] += scale * w[j * n_labels + k] * data.X[i, j]


@implements(margin_error, SetData)
def _margin_error(data, i, theta, outputs, at):
    error = 0.0
    for place in range(outputs[at]):
        error += theta.scores[outputs[at + 1 + place]]
    for k in range(data.is_on.shape[1]):
        if data.is_on[i, k]:
            error -= theta.scores[k]
    return error


@implements(add_difference, SetData)
def _add_difference(data, i, outputs, at, scale, w):
    n_labels = data.is_on.shape[1]
    for j in range(data.X.shape[1]):
        for k in range(n_labels):
            if data.is_on[i, k]:
                w[j * n_labels + k] += scale * data.X[i, j]
        for place in range(outputs[at]):
            w[j * n_labels + outputs[at + 1 + place]] -= scale * data.X[i, j]


@implements(maximize, SetData, SetCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    count = 0
    for k in range(data.is_on.shape[1]):
        price = cost_scale * cost.price[k]
        if score_scale * theta.scores[k] + (-price if data.is_on[i, k] else price) > 0.0:
            outputs[at + 1 + count] = k
            count += 1
    outputs[at] = count


@implements(output_cost, SetData, SetCost)
def _output_cost(data, cost, i, outputs, at):
    total = 0.0
    for k in range(data.is_on.shape[1]):
        if data.is_on[i, k]:
            total += cost.price[k]
    for place in range(outputs[at]):
        k = outputs[at + 1 + place]
        total += -cost.price[k] if data.is_on[i, k] else cost.price[k]
    return total


def tiny_sets() -> Tiny:
    """Return a problem with all its label sets spelt out."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, D))
    is_on = (X @ rng.normal(size=(D, M)) + rng.normal(size=(N, M)) > 0.5).astype(np.int32)
    price = rng.uniform(0.5, 2.0, size=M)
    every = np.array(list(itertools.product([0, 1], repeat=M)))
    differences = [
        np.array([np.outer(x, truth - y).ravel() for y in every])
        for x, truth in zip(X, is_on, strict=True)
    ]
    costs = [np.abs(every - truth) @ price for truth in is_on]
    return Tiny(SetData(X, is_on), SetCost(price), differences, costs, np.ones(N))


TINY, LAM = tiny_sets(), 0.1


def train(problem, name, **options):
    given = {"tol": 1e-6, "max_iter": 500, **options}
    return run(problem, SOLVERS[name](), rng=np.random.default_rng(0), **given)


@pytest.mark.parametrize("name", ["bcfw", "n_slack", "one_slack"])
@pytest.mark.parametrize("compile", [False, pytest.param(True, id="compiled")])
def test_the_optimum_is_that_of_all_outputs(name, compile):
    result, _ = train(TINY.problem(LAM, compile=compile), name)
    assert result.status == "converged"
    assert result.primal == pytest.approx(TINY.primal(result.w, LAM), rel=1e-9)
    assert result.dual - 1e-9 <= TINY.optimum(LAM) <= result.primal + 1e-9


@pytest.mark.parametrize("name", ["bcfw", "n_slack"])
def test_every_output_has_its_own_cells_and_no_more(name):
    _, state = train(TINY.problem(LAM, compile=False), name)
    blocks = state.blocks
    used = in_use(blocks)
    at, lengths = blocks.spans[used].T
    assert len(set(lengths.tolist())) > 2
    assert (blocks.outputs[blocks.spans[used, AT]] + 1 == blocks.spans[used, LENGTH]).all()
    cells = np.concatenate([np.arange(a, a + n) for a, n in zip(at, lengths, strict=True)])
    assert len(np.unique(cells)) == len(cells) and cells.max() < blocks.end[0]
    owners = np.repeat(np.arange(N), np.diff(blocks.start))[used]
    planes = {(i, *blocks.outputs[a : a + n]) for i, a, n in zip(owners, at, lengths, strict=True)}
    assert len(planes) == used.sum()  # none is there twice


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["bcfw", "n_slack"])
def test_a_run_goes_on_from_a_snapshot(name):
    taken = []

    def take(event):
        snapshot = event.snapshot()
        arrays = {key: array.copy() for key, array in snapshot.arrays.items()}
        taken.append(Snapshot(snapshot.meta, arrays))

    problem = TINY.problem(LAM, compile=False)
    result, _ = train(problem, name, callbacks=[take], max_iter=6, tol=0.0)
    snapshot = taken[2]
    again, _ = train(problem, name, snapshot=snapshot, max_iter=6, tol=0.0)
    np.testing.assert_array_equal(again.w, result.w)
    # A length that its output does not tell: shorter, so that all cells are there.
    firsts = snapshot.arrays["state.blocks.start"][:-1]
    snapshot.arrays["state.blocks.spans"][firsts + 1, LENGTH] -= 1
    with pytest.raises(ValueError, match="cannot be resumed"):
        train(problem, name, snapshot=snapshot)


def test_a_search_remembers_outputs_of_all_lengths():
    search = ConvexHull(integral=False).bind(TINY.data, TINY.cost, SlackRescaling())
    problem = TINY.problem(LAM, compile=False, search=search)
    problem.view = problem.view._replace(surrogate=SlackRescaling().compiled())
    rng = np.random.default_rng(0)
    for _ in range(5):
        w = rng.normal(size=problem.n_weights)
        losses, bounds = problem.losses(w)
        exact = [
            np.max((1.0 - psi @ w) * g) for psi, g in zip(TINY.differences, TINY.costs, strict=True)
        ]
        assert (losses <= np.array(exact) + 1e-9).all()
        assert (bounds >= np.maximum(exact, 0.0) - 1e-9).all()

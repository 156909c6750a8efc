"""Passes and certificates in compiled calls: they end between two; how many is no matter."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin.core.strides as strides_module
from maxmargin.core.contract import (
    difference_potentials,
    margin_error,
    spare_size,
    visit_work,
    workspace,
)
from maxmargin.core.problem import Problem
from maxmargin.costs import Hamming
from maxmargin.search.direct import Direct
from maxmargin.solvers import (
    SDCA,
    SGD,
    BlockFrankWolfe,
    NSlack,
    OneSlack,
    Perceptron,
    run,
)
from maxmargin.structures import chain_data, chain_layout, labels_data
from maxmargin.surrogates import MarginRescaling
from maxmargin.testing import tiny_problem
from tests.helpers import tiny_multiclass

DIRECT = Direct(1.0, 1.0)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

TINY = tiny_multiclass()
SOLVERS = [BlockFrankWolfe(), SDCA(), OneSlack(), NSlack(), SGD(), Perceptron()]
all_solvers = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
both_ways = pytest.mark.parametrize("compile", [True, False], ids=["compiled", "plain"])


class Clock:
    """Tells a second more at every look."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 1.0
        return self.now


def train(solver: Any, problem: Problem, **options: Any) -> tuple[Any, Any]:
    options = {"tol": 0.0, "max_iter": 4} | options
    return run(problem, solver, rng=np.random.default_rng(3), **options)


@all_solvers
def test_the_number_of_calls_changes_no_bit(solver, monkeypatch):
    whole, _ = train(solver, TINY.problem(0.05))
    monkeypatch.setattr(strides_module, "STRIDE", 2)
    problem = TINY.problem(0.05)
    assert problem.stride == 2 and [*problem.strides(0, 5)] == [(0, 2), (2, 4), (4, 5)]
    pieces, _ = train(solver, problem)
    np.testing.assert_array_equal(pieces.w, whole.w)
    assert [r.dual for r in pieces.history] == pytest.approx(
        [r.dual for r in whole.history], rel=0, abs=0, nan_ok=True
    )
    assert pieces.n_oracle_calls == whole.n_oracle_calls


@all_solvers
@both_ways
@pytest.mark.parametrize("n_looks", [2, 5, 11, 30])
def test_time_is_up_between_two_calls(solver, compile, n_looks, monkeypatch):
    monkeypatch.setattr(strides_module, "STRIDE", 2)
    monkeypatch.setattr(importlib.import_module("maxmargin.solvers.loop"), "time", Clock())
    problem = TINY.problem(0.05, compile=compile)
    result, state = train(solver, problem, max_iter=50, time_budget=float(n_looks))
    # Every look at the clock takes a second: the run ends at that very look.
    assert result.status == "time_budget"
    assert result.n_iter <= n_looks
    assert problem.watch is None
    check_certificate(solver, problem, result, state)


@all_solvers
@both_ways
@pytest.mark.parametrize("n_calls", [1, 4, 9, 25])
def test_an_interrupt_between_two_calls(solver, compile, n_calls, monkeypatch):
    monkeypatch.setattr(strides_module, "STRIDE", 2)
    problem = TINY.problem(0.05, compile=compile)
    seen = []

    def pause() -> None:
        seen.append(1)
        if len(seen) == n_calls:
            raise KeyboardInterrupt

    monkeypatch.setattr(problem, "pause", pause)
    result, state = train(solver, problem, max_iter=50)
    assert result.status == "interrupted"
    check_certificate(solver, problem, result, state)


def check_certificate(solver: Any, problem: Problem, result: Any, state: Any) -> None:
    """Hold what a cut run says of its weights, and its state, against brute force."""
    assert np.isfinite(result.w).all()
    if not solver.minimizes:
        return
    assert result.primal == pytest.approx(TINY.primal(result.w, problem.lam), rel=1e-12)
    if math.isfinite(result.dual):
        optimum = TINY.optimum(problem.lam)
        assert result.dual <= optimum + 1e-9 <= result.primal + 2e-9
    if isinstance(solver, (BlockFrankWolfe, NSlack, SDCA)):
        before, dual = state.w.copy(), solver.iterates(problem, state)[-1][1]
        sharp, _ = solver.sharpen(problem, state)
        np.testing.assert_allclose(state.w, before, rtol=0, atol=1e-12)
        assert sharp == pytest.approx(dual, abs=1e-12)


def test_two_interrupts_are_answered_at_once():
    problem = TINY.problem(0.05)

    def always() -> None:
        raise KeyboardInterrupt

    problem.pause = always  # type: ignore[method-assign]
    result, _ = train(BlockFrankWolfe(), problem)
    assert result.status == "interrupted" and math.isnan(result.primal)


def test_a_user_object_is_looked_at_after_every_example():
    problem = TINY.problem(0.05, compile=False)
    assert problem.stride == 1


def test_calls_are_short_where_sequences_are_long():
    def stride(length: int) -> int:
        n = 2000 // length
        offsets = np.arange(n + 1) * length
        labels = np.zeros(n * length, dtype=np.int32)
        data = chain_data(np.zeros((n * length, 500)), offsets, labels, chain_layout(500, 40))
        cost = Hamming().tabulate("positions", np.arange(40), np.diff(offsets))
        return Problem(data, cost, MarginRescaling().compiled(), n, 0.1, search=DIRECT).stride

    assert 2 * stride(20) >= 10 * stride(200) >= 10 and stride(2000) == 1 < stride(20)


def test_a_list_of_all_outputs_does_not_make_calls_shorter_than_its_length_does():
    Y = np.zeros((300, 14), dtype=int)
    data = labels_data(np.zeros((300, 5)), Y, [(0, 1)], inference="listed")
    cost = Hamming().tabulate("switches", np.arange(14), np.full((300, 2), 7))
    problem = Problem(data, cost, MarginRescaling().compiled(), 300, 0.1, search=DIRECT)
    assert 20 <= problem.stride <= 1000


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_scattered_products_are_those_of_pairs(bias, sparse, rng):
    n, K = 30, 3
    X = rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.6)
    labels = rng.integers(K, size=n).astype(np.int32)
    data = chain_data(
        sp.csr_matrix(X) if sparse else X, np.array([0, n]), labels, chain_layout(4, K, bias=bias)
    )
    assert spare_size(data) == data.layout.n_rows * K
    spare = np.zeros(spare_size(data))
    ys = [rng.integers(K, size=n).astype(np.int32) for _ in range(2)]
    few = labels.copy()
    few[::9] = (few[::9] + 1) % K  # so few wrong that they are taken in pairs
    products = {}
    for name, room in (("pairs", np.zeros(0)), ("scattered", spare)):
        theta, _ = workspace(data)
        products[name] = []
        for y in (*ys, few):
            difference_potentials(data, 0, y, 0, room, theta)
            products[name] += [margin_error(data, 0, theta, z, 0) for z in (*ys, few, labels)]
        assert not room.any()
    np.testing.assert_allclose(products["scattered"], products["pairs"], rtol=1e-12, atol=1e-11)


def test_a_structure_may_say_how_much_work_a_visit_is():
    """Tables of graphs are large, and are gone through: their square says nothing."""
    problem = tiny_problem("graph")
    work = visit_work(problem.view.data)
    assert work > 0.0 and visit_work(tiny_problem("chain").view.data) == 0.0
    most = strides_module.STRIDE
    assert problem.stride == min(max(strides_module.STRIDE_WORK // work, 1), most)

"""Proximal steps by Newton's method: the smooth function, its curvature, what steps bring."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.costs import CostMatrix, Hamming
from maxmargin.solvers import SDCA, run
from maxmargin.solvers.listed import newton
from maxmargin.solvers.listed.dual import ListedState, dual_value
from maxmargin.solvers.listed.newton import first_sigma, proximal_step
from maxmargin.solvers.restore.checked import Arrays
from maxmargin.solvers.restore.listed import check_listed
from maxmargin.structures import multiclass_data
from maxmargin.surrogates import MarginRescaling, SlackRescaling
from maxmargin.training.task import Task
from tests.helpers import tiny_multiclass

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def noisy(n=40, n_columns=2, n_labels=3, lam=1e-3, surrogate=None, cost=None, **options):
    """Classes that overlap, under little regularisation: blocks take thousands of passes."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_labels, size=n)
    X = rng.normal(size=(n, n_columns)) + 0.5 * y[:, None]
    data = multiclass_data(X, y, n_labels)
    tables = (cost or Hamming()).tabulate("positions", np.arange(n_labels), np.ones(n))
    weight = rng.choice([0.0, 1.0, 2.5], p=[0.1, 0.5, 0.4], size=n)
    task = Task(data, tables, n, weight)
    return task.problem(surrogate or MarginRescaling(), lam, **({"compile": False} | options))


def after(problem, n_passes, **options):
    """The state after some passes over blocks."""
    _, state = run(
        problem, SDCA(newton=False, **options), rng=np.random.default_rng(0), tol=0.0,
        max_iter=n_passes,
    )  # fmt: skip
    return state


def test_the_gradient_is_what_finite_differences_say(rng):
    problem = noisy()
    smooth = newton._Smooth(problem, after(problem, 1), 0.3)
    w, step = rng.normal(size=problem.n_weights), 1e-6
    smooth.look(w)
    gradient = problem.lam * (w - smooth.moved)
    found = [
        (smooth.look(w + step * e) - smooth.look(w - step * e)) / (2 * step)
        for e in np.eye(problem.n_weights)
    ]
    np.testing.assert_allclose(found, gradient, rtol=1e-5, atol=1e-8)


def test_the_step_solves_the_quadratic_that_finite_differences_find(rng):
    problem = noisy()
    smooth = newton._Smooth(problem, after(problem, 1), 0.3)
    w, step = 0.3 * rng.normal(size=problem.n_weights), 1e-7
    smooth.look(w)
    gradient, direction = w - smooth.moved, smooth.direction(w)
    assert (smooth.blocks.n_active > 1).sum() > 5
    curvature = []
    for e in np.eye(problem.n_weights):
        smooth.look(w + step * e)
        above = w + step * e - smooth.moved
        smooth.look(w - step * e)
        curvature.append((above - (w - step * e - smooth.moved)) / (2 * step))
    np.testing.assert_allclose(np.array(curvature) @ direction, -gradient, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sigma", [1e-3, 0.1, 10.0])
def test_a_step_raises_the_dual_and_its_primals_are_primals(sigma):
    problem = noisy()
    state = after(problem, 1)
    before, beta = dual_value(problem, state), state.beta
    step = proximal_step(problem, state, sigma)
    assert step.primal == pytest.approx(problem.assess(step.w).value, rel=1e-12)
    assert step.sigma > 0.0
    dual = dual_value(problem, state)
    assert dual > before if step.has_risen else state.beta is beta
    alpha = state.beta.copy()
    alpha[np.arange(len(alpha)), problem.truths] += 1.0
    assert (alpha >= 0.0).all()
    np.testing.assert_allclose(alpha.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    w = state.w.copy()
    SDCA().sharpen(problem, state)  # sums w anew
    np.testing.assert_allclose(w, state.w, rtol=0, atol=1e-11 * np.abs(w).max())
    assert dual_value(problem, state) == pytest.approx(dual, rel=1e-12)


COSTS = [Hamming(), CostMatrix(np.abs(np.subtract.outer(np.arange(3), np.arange(3))) * 1.5)]


@pytest.mark.parametrize("cost", COSTS, ids=["hamming", "matrix"])
def test_it_ends_where_blocks_would_take_thousands_of_passes(cost):
    problem = noisy(cost=cost)
    options = {"rng": np.random.default_rng(0), "tol": 1e-7}
    quick, state = run(problem, SDCA(), max_iter=60, **options)
    slow, _ = run(problem, SDCA(newton=False, repeats=3), max_iter=60, **options)
    assert quick.status == "converged" and slow.relative_gap > 1e-3
    assert slow.dual <= quick.primal and quick.dual <= slow.primal
    assert state.sigma > 0.0
    duals = [record.dual for record in quick.history]
    assert (np.diff(duals) >= -1e-13).all()


def test_compiled_and_plain_agree():
    tiny = tiny_multiclass(n=15, n_labels=4, weighted=True)
    runs = [
        run(tiny.problem(1e-3, compile=compile), SDCA(), rng=np.random.default_rng(0), tol=1e-8)
        for compile in (True, False)
    ]
    assert all(state.sigma > 0.0 for _, state in runs)
    (compiled, _), (plain, _) = runs
    assert compiled.status == plain.status == "converged"
    assert compiled.primal == pytest.approx(plain.primal, rel=2e-8)


def test_a_state_goes_on_as_it_would_have():
    problem, solver = noisy(), SDCA(repeats=3)
    _, state = run(problem, solver, rng=np.random.default_rng(0), tol=0.0, max_iter=9)
    assert state.sigma > 0.0
    other = ListedState.from_arrays(check_listed(problem, solver, Arrays(state.arrays())))
    ends = [
        run(problem, solver, rng=np.random.default_rng(1), tol=0.0, max_iter=3, state=each)[0]
        for each in (state, other)
    ]
    assert (ends[0].w == ends[1].w).all() and ends[0].dual == ends[1].dual


def test_files_without_a_pace_are_read_and_bad_ones_refused():
    problem = noisy()
    arrays = after(problem, 2).arrays()
    check_listed(problem, SDCA(), Arrays({k: v for k, v in arrays.items() if k != "pace"}))
    for pace in ([1.0, np.nan], [1.0, -1.0], [np.nan, 0.0], [1.0, np.inf]):
        with pytest.raises(ValueError, match="'pace' must be a gap and a number >= 0"):
            check_listed(problem, SDCA(), Arrays(arrays | {"pace": np.array(pace)}))


def test_an_end_within_a_step_leaves_the_state_as_it_was():
    problem = noisy()
    state = after(problem, 2)
    before, n_left = {k: v.copy() for k, v in state.arrays().items()}, 150

    def watch():
        nonlocal n_left
        n_left -= 1
        if n_left < 0:
            raise KeyboardInterrupt

    problem.watch = watch
    with pytest.raises(KeyboardInterrupt):
        proximal_step(problem, state, 0.1)
    for name, array in state.arrays().items():
        np.testing.assert_array_equal(array, before[name])


def test_another_lam_begins_with_blocks_again():
    problem, solver = noisy(), SDCA(repeats=3)
    _, state = run(problem, solver, rng=np.random.default_rng(0), tol=0.0, max_iter=9)
    other = problem.with_lam(problem.lam / 2)
    solver.adapt(other, state, problem.lam)
    assert state.sigma == 0.0 and state.met == np.inf
    result, _ = run(other, solver, rng=np.random.default_rng(0), tol=1e-6, state=state)
    assert result.status == "converged"


def test_it_is_for_few_weights_and_projections():
    few, many = noisy(), noisy(n_columns=newton.MOST_WEIGHTS // 3)
    bent = noisy(surrogate=SlackRescaling(), cost=COSTS[1])
    for problem, is_due in [(few, True), (many, False), (bent, False)]:
        state = after(problem, 1)
        assert (first_sigma(problem, state, 0.99 * state.met) > 0.0) == is_due
        assert first_sigma(problem, state, 1e-6 * state.met) == 0.0

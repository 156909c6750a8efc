"""Dual coordinate ascent over lists of outputs: projection, planes, the optimum, what it keeps."""

from __future__ import annotations

import contextlib
import sys
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from maxmargin.core import contract as generic
from maxmargin.core.problem import Problem
from maxmargin.costs import CostMatrix, Hamming, ZeroOne
from maxmargin.search.direct import Direct
from maxmargin.solvers import SDCA, BlockFrankWolfe, run
from maxmargin.solvers.listed.dual import ListedState, first_planes
from maxmargin.solvers.listed.projection import threshold
from maxmargin.solvers.listed.sdca_planes import orthogonal
from maxmargin.structures import MulticlassData, multiclass_data
from maxmargin.structures.classes.data import OneLabel
from maxmargin.surrogates import (
    BetaScaling,
    GeneralizedScaling,
    LogLoss,
    MarginRescaling,
    ProbLoss,
    SlackRescaling,
)
from maxmargin.testing import check_solver, check_structure, optimum
from maxmargin.testing.tiny import tiny_data
from maxmargin.training.task import Task
from tests.helpers import tiny_multiclass

DIRECT = Direct(1.0, 1.0)

# -- the projection ------------------------------------------------------------------------------


def reference_projection(z):
    """Project onto the simplex by sorting: the most cells that stay above their threshold."""
    down = np.sort(z)[::-1]
    finite = down[np.isfinite(down)]
    taus = (np.cumsum(finite) - 1.0) / np.arange(1, len(finite) + 1)
    return np.maximum(z - taus[np.flatnonzero(finite > taus)[-1]], 0.0)


def project(z, truth=-1):
    """The projection less the unit vector of `truth`, of z less the same."""
    floor = np.where(np.arange(len(z)) == truth, -1.0, 0.0)
    return np.maximum(z - threshold(z, len(z), truth), floor)


@settings(max_examples=50)
@given(
    tops=st.lists(st.floats(0.0, 2.0), min_size=1, max_size=4),
    others=st.lists(
        st.one_of(
            st.floats(-2.0, 1.0),
            st.floats(-1e300, -1e10),
            st.sampled_from([-np.inf, 0.0, 1.0, -1e-300, 1.0 - 1e-16]),
        ),
        max_size=6,
    ),
    data=st.data(),
)
def test_projection_is_that_of_sorting(tops, others, data):
    z = np.array(tops + others)
    truth = data.draw(st.integers(-1, len(z) - 1))
    unit = np.arange(len(z)) == truth
    found = project(z - unit, truth) + unit
    assert (found >= 0.0).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(found, reference_projection(z), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "z", [[1.0] * 7, [0.0] + [-np.inf] * 3, [1.0 / 3] * 3, [1.0 - 1e-16, 1.0, -1e300]], ids=str
)
@pytest.mark.parametrize("truth", [-1, 0, 2])
def test_projection_of_ties_and_infinities(z, truth):
    unit = np.arange(len(z)) == truth
    found = project(np.array(z) - unit, truth) + unit
    np.testing.assert_allclose(found, reference_projection(np.array(z)), rtol=0, atol=1e-14)


def test_small_coefficients_keep_their_digits():
    for size in (1e-8, 1e-16, 1e-100):
        found = project(size * np.array([0.0, 5.0, 3.0, -1.0]), truth=0)
        np.testing.assert_allclose(found, size * np.array([-8, 7, 1, 0]) / 3, rtol=1e-14)


def test_projection_is_the_nearest_point(rng):
    for _ in range(20):
        z = rng.normal(size=5)
        found = project(z)
        others = rng.dirichlet(np.ones(5), size=200)
        # The angle at a projection onto a convex set is never acute.
        assert ((others - found) @ (z - found)).max() <= 1e-12


# -- the optimum ---------------------------------------------------------------------------------

TINY = {
    "classes": tiny_multiclass(),
    "weighted": tiny_multiclass(seed=1, weighted=True),
    "no bias": tiny_multiclass(seed=2, bias=False),
    "sparse": tiny_multiclass(seed=3, sparse=True, weighted=True),
    "zero features": tiny_multiclass(seed=4, n_columns=0),
    "nothing to learn from": tiny_multiclass(seed=4, n_columns=0, bias=False),
    "two classes": tiny_multiclass(seed=5, n_labels=2),
    "many classes": tiny_multiclass(seed=6, n=15, n_labels=7),
    "one class": tiny_multiclass(seed=7, n_labels=1),
    "one example": tiny_multiclass(seed=8, n=1),
}


def check_dual(tiny, problem, state):
    """Check the dual point against its definition."""
    n = problem.n_examples
    alpha = state.beta.copy()
    alpha[np.arange(n), tiny.data.labels] += 1.0
    assert (alpha >= 0.0).all()
    np.testing.assert_allclose(alpha.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    share = tiny.weight / (problem.lam * n)
    blocks = [share[i] * alpha[i] @ tiny.differences[i] for i in range(n)]
    scale = max(np.abs(psi).max(initial=0.0) for psi in tiny.differences) * share.max()
    np.testing.assert_allclose(state.w, np.sum(blocks, axis=0), rtol=0, atol=1e-11 * scale)
    linear = [alpha[i] @ tiny.costs[i] for i in range(n)]
    np.testing.assert_allclose(state.linear, linear, rtol=0, atol=1e-12)


@pytest.mark.parametrize("lam", [1e-2, 0.1, 1e4])
@pytest.mark.parametrize("name", TINY)
def test_reaches_the_optimum(name, lam):
    tiny, problem = TINY[name], TINY[name].problem(lam)
    result, state = run(
        problem, SDCA(), rng=np.random.default_rng(0), tol=1e-6, max_iter=3000
    )  # fmt: skip
    assert result.status == "converged" and result.relative_gap <= 1e-6
    assert result.primal == pytest.approx(tiny.optimum(lam), rel=1e-6, abs=1e-12)
    assert result.primal == pytest.approx(tiny.primal(result.w, lam), rel=1e-12)
    check_dual(tiny, problem, state)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("lam", [1e-12, 1e12])
@pytest.mark.parametrize("name", TINY)
def test_bounds_hold_however_weak_or_strong_the_regularisation(name, lam):
    tiny, problem = TINY[name], TINY[name].problem(lam)
    result, state = run(problem, SDCA(), rng=np.random.default_rng(0), tol=1e-6, max_iter=30)
    best = optimum(problem, max_steps=5000)
    assert np.isfinite(result.w).all()
    assert result.primal >= best.lower - 1e-9 and result.dual <= best.upper + 1e-9
    if lam > 1.0:
        assert result.status == "converged"
    check_dual(tiny, problem, state)


@pytest.mark.parametrize("lam", [1e-8, 1e-12, 1e-16])
def test_a_huge_C_costs_no_digits(lam):
    # Separable: w of the hard margin, P = lam/2 |w|^2, where losses must vanish to the last digit.
    result, _ = run(
        TINY["one example"].problem(lam), SDCA(), rng=np.random.default_rng(0), tol=1e-2
    )
    # P is smaller than what rounding could hide in a loss: then it must not say "converged".
    assert result.status == ("converged" if result.rounding <= 1e-3 * result.primal else "rounding")
    assert result.primal == pytest.approx(lam * 1e8 * 6.998596029209e-10, rel=1e-2)


def some_problem(kind, cost, lam=0.05, **options):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(15, 4)) * (rng.random((15, 4)) < 0.7)
    X = {"dense": X, "csr": sp.csr_matrix(X), "float32": X.astype(np.float32)}[kind]
    data = multiclass_data(X, rng.integers(4, size=15), 4)
    tables = cost.tabulate("positions", np.arange(4), np.ones(15))
    return Problem(
        data,
        tables,
        MarginRescaling().compiled(),
        15,
        lam,
        **{"search": DIRECT, **options},
    )


@pytest.mark.parametrize("kind", ["dense", "csr", "float32"])
@pytest.mark.parametrize(
    "cost", [ZeroOne(), CostMatrix(np.abs(np.subtract.outer(np.arange(4), np.arange(4))) * 1.5)]
)
def test_reaches_the_optimum_for_every_cost_and_kind_of_features(kind, cost):
    problem = some_problem(kind, cost, compile=False)
    result, _ = run(problem, SDCA(), rng=np.random.default_rng(0), tol=1e-6, max_iter=1000)
    best = optimum(problem)
    assert result.relative_gap <= 1e-6
    assert best.lower * (1 - 1e-9) <= result.primal <= best.upper * (1 + 1e-6)
    assert result.dual <= best.upper * (1 + 1e-9)


@pytest.mark.parametrize("repeats", [0, 3])
def test_the_dual_never_falls(repeats):
    problem, solver = TINY["weighted"].problem(0.01), SDCA(repeats=repeats)
    state, rng, duals = solver.start(problem), np.random.default_rng(0), []
    for _ in range(30):
        duals.append(solver.advance(problem, state, rng).dual)
    assert (np.diff(duals) >= -1e-13).all() and duals[-1] > duals[0] > 0.0


def test_given_weights_are_a_candidate_and_no_more():
    tiny, lam = TINY["weighted"], 0.1
    best, _ = run(tiny.problem(lam), SDCA(), rng=np.random.default_rng(0), tol=1e-9, max_iter=5000)
    options = {"tol": 1e-3, "max_iter": 500}
    cold, _ = run(tiny.problem(lam), SDCA(), rng=np.random.default_rng(0), **options)
    warm, state = run(tiny.problem(lam), SDCA(), rng=np.random.default_rng(0), w=best.w, **options)
    assert warm.primal <= best.primal * (1 + 1e-12) and warm.n_iter <= cold.n_iter
    assert warm.dual == cold.dual or warm.n_iter < cold.n_iter
    check_dual(tiny, tiny.problem(lam), state)
    far = np.full_like(best.w, 1e6) * np.arange(len(best.w))
    other, _ = run(tiny.problem(lam), SDCA(), rng=np.random.default_rng(0), w=far, **options)
    assert other.primal == pytest.approx(cold.primal, rel=2e-3)


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="repeats must be >= 0, got -1"):
        SDCA(repeats=-1)


# -- surrogates whose planes have slopes of their own --------------------------------------------

SURROGATES = {
    "slack": SlackRescaling(),
    "beta": BetaScaling(0.5),
    "generalized": GeneralizedScaling(0.5, 0.0),
    "log": LogLoss(),
    "prob": ProbLoss(),
}


def bent_problem(
    surrogate, lam=0.05, n=12, n_columns=3, n_labels=4, seed=0, scale=1.0, weighted=True, **options
):
    """Classes whose mistakes cost more or less, some of them nothing, and some of them the same."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns)).round(1)
    labels = rng.integers(n_labels, size=n)
    prices = np.array([0.0, 0.5, 2.0, 3.0])[rng.integers(4, size=(n_labels, n_labels))]
    classes = np.arange(n_labels)
    prices[classes, classes - 1] = 2.0  # no class whose every mistake is free
    np.fill_diagonal(prices, 0.0)
    data = multiclass_data(X, labels, n_labels)
    cost = CostMatrix(scale * prices).tabulate("positions", classes, np.ones(n))
    psi = SURROGATES[surrogate] if isinstance(surrogate, str) else surrogate
    weight = rng.choice([0.0, 0.5, 1.0, 4.0], size=n) if weighted else np.ones(n)
    return Task(data, cost, n, weight).problem(psi, lam, **options)


def check_planes(problem, state):
    """Check coefficients, planes, w and the linear part against their definitions."""
    view, n = problem.view, problem.n_examples
    w, linear = np.zeros(problem.n_weights), np.zeros(n)
    alpha = state.beta.copy()
    alpha[np.arange(n), problem.truths] += 1.0
    assert (alpha >= 0.0).all()
    np.testing.assert_allclose(alpha.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    y = np.zeros(1, dtype=np.int32)
    longest = 0.0
    for i in range(n):
        if state.has_planes:
            assert state.slope[i, problem.truths[i]] == state.offset[i, problem.truths[i]] == 0.0
        for k in set(range(alpha.shape[1])) - {int(problem.truths[i])}:
            y[0] = k
            g = generic.output_cost(view.data, view.cost, i, y, 0)
            slope, offset = (
                (state.slope[i, k], state.offset[i, k]) if state.has_planes else (1.0, g)
            )
            if problem.is_linear:
                assert (offset, slope) == generic.psi(view.surrogate, 0.0, g)[:2]
            elif alpha[i, k] > 0.0:
                # Never above psi, which is all that a certificate asks; and as high as can be.
                level = -generic.conjugate(view.surrogate, slope, g)
                assert offset == pytest.approx(level, rel=1e-10, abs=1e-14)
            share = view.weight[i] / (problem.lam * n) * alpha[i, k] * slope
            generic.add_difference(view.data, i, y, 0, share, w)
            longest = max(longest, view.weight[i] / (problem.lam * n) * slope)
            linear[i] += alpha[i, k] * offset
    np.testing.assert_allclose(state.w, w, rtol=0, atol=1e-11 * (1e-300 + longest))
    np.testing.assert_allclose(state.linear, linear, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("lam", [0.02, 1.0, 1e4])
@pytest.mark.parametrize("surrogate", SURROGATES)
def test_every_convex_surrogate_reaches_its_optimum(surrogate, lam):
    problem = bent_problem(surrogate, lam)
    result, state = run(problem, SDCA(), rng=np.random.default_rng(0), tol=1e-7, max_iter=2000)
    assert state.has_planes
    assert result.status == "converged" and result.relative_gap <= 1e-7
    check_planes(problem, state)
    best = optimum(problem)
    assert best.lower * (1 - 1e-9) <= result.primal <= best.upper * (1 + 1e-7)
    assert result.dual <= best.upper * (1 + 1e-9)


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_the_optimum_is_that_of_frank_wolfe(surrogate):
    ours, _ = run(
        bent_problem(surrogate, 1.0, seed=1), SDCA(), rng=np.random.default_rng(0), tol=1e-7
    )
    other, _ = run(
        bent_problem(surrogate, 1.0, seed=1, compile=False), BlockFrankWolfe(),
        rng=np.random.default_rng(0), tol=1e-7,
    )  # fmt: skip
    assert ours.status == other.status == "converged"
    assert ours.primal == pytest.approx(other.primal, rel=1e-7)


@settings(max_examples=60)
@given(
    surrogate=st.sampled_from([*SURROGATES.values(), BetaScaling(0.9), GeneralizedScaling(2, 1.5)]),
    lam=st.sampled_from([1e-12, 1e-3, 0.1, 1.0, 1e3, 1e12]),
    scale=st.sampled_from([1e-9, 1.0, 1e6]),
    n=st.integers(1, 8),
    n_columns=st.integers(0, 3),
    n_labels=st.integers(2, 5),
    seed=st.integers(0, 1000),
    weighted=st.booleans(),
)
def test_bounds_hold_whatever_the_surrogate(surrogate, lam, scale, **options):
    problem = bent_problem(surrogate, lam, scale=scale, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result, state = run(problem, SDCA(), rng=np.random.default_rng(0), tol=1e-7, max_iter=20)
        longer, _ = run(problem, SDCA(), rng=np.random.default_rng(1), tol=1e-7, max_iter=60)
    assert np.isfinite(result.w).all()
    slack = 1e-9 * result.primal
    assert result.dual <= longer.primal + slack and longer.dual <= result.primal + slack
    check_planes(problem, state)
    # How strong the regularisation is depends on the slopes, which grow with the costs.
    if lam >= 1.0 and scale <= 1.0:
        assert result.status == "converged"


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("repeats", [0, 3])
def test_the_dual_never_falls_whatever_the_surrogate(surrogate, repeats):
    problem, solver = bent_problem(surrogate, 0.01), SDCA(repeats=repeats)
    state, rng, duals = solver.start(problem), np.random.default_rng(0), []
    for _ in range(30):
        duals.append(solver.advance(problem, state, rng).dual)
    assert (np.diff(duals) >= -1e-12 * duals[-1]).all() and duals[-1] > duals[0] > 0.0


@pytest.mark.parametrize("surrogate", ["slack", "log"])
def test_the_contract_of_solvers_holds_whatever_the_surrogate(surrogate):
    check_solver(SDCA(), bent_problem(surrogate, 0.1))


def test_costs_of_zero_and_one_make_slack_rescaling_margin_rescaling():
    problem = some_problem("dense", ZeroOne(), compile=False)
    data, cost = problem.view.data, problem.view.cost
    ends = []
    for surrogate in (MarginRescaling(), SlackRescaling(), BetaScaling(0.5)):
        same = Task(data, cost, 15, np.ones(15)).problem(surrogate, 0.05, compile=False)
        result, state = run(same, SDCA(), rng=np.random.default_rng(0), tol=1e-6)
        assert not state.has_planes
        ends.append(result)
    assert (ends[0].w == ends[1].w).all() and (ends[0].w == ends[2].w).all()
    assert ends[0].primal == ends[1].primal == ends[2].primal


def test_planes_of_slope_one_give_what_the_projection_gives():
    problem = bent_problem(MarginRescaling(), 0.05, compile=False)
    solver, rng = SDCA(), np.random.default_rng(0)
    projected, state = run(problem, solver, rng=rng, tol=1e-8)
    assert not state.has_planes
    slope, offset = np.zeros((2, *state.beta.shape))
    first_planes(problem.view, problem.truths, slope, offset, np.zeros(1, dtype=np.int32))
    w = np.zeros(problem.n_weights)
    state = ListedState(w, np.zeros_like(state.beta), slope, offset)
    stepped, state = run(problem, solver, rng=rng, tol=1e-8, state=state)
    assert stepped.status == "converged"
    assert stepped.primal == pytest.approx(projected.primal, rel=1e-7)
    check_planes(problem, state)


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("options", [{"n_labels": 1}, {"scale": 0.0}], ids=str)
def test_where_nothing_can_be_wrong_nothing_is_learnt(surrogate, options):
    problem = bent_problem(surrogate, 0.05, compile=False, **options)
    result, state = run(problem, SDCA(), rng=np.random.default_rng(0), tol=1e-6)
    assert result.status == "converged" and result.primal == result.dual == 0.0
    assert not result.w.any() and not state.beta.any()


@pytest.mark.parametrize("lam", [1e-8, 1e-12])
def test_a_huge_C_costs_no_digits_whatever_the_slopes(lam):
    # Separable, so that w is that of the hard margin, P = lam/2 |w|^2, and psi vanishes.
    problem = bent_problem("slack", lam, n=1, weighted=False)
    result, _ = run(problem, SDCA(), rng=np.random.default_rng(0), tol=1e-6)
    assert result.status == ("converged" if result.rounding <= 1e-7 * result.primal else "rounding")
    again, _ = run(problem.with_lam(1e-4), SDCA(), rng=np.random.default_rng(0), tol=1e-6)
    assert result.primal == pytest.approx(again.primal * lam / 1e-4, rel=1e-5)


def test_costs_far_above_the_margin_cost_no_digits():
    # psi = (h + 1) g with h of the order of 1: had h been read off h + g, nothing would be left.
    small, _ = run(
        bent_problem("slack", 0.02), SDCA(), rng=np.random.default_rng(0), tol=1e-6, max_iter=2000
    )
    large, _ = run(
        bent_problem("slack", 0.02 * 1e15, scale=1e15), SDCA(), rng=np.random.default_rng(0),
        tol=1e-6, max_iter=2000,
    )  # fmt: skip
    assert large.status == "converged"
    assert large.primal == pytest.approx(1e15 * small.primal, rel=2e-6)


PASSES = {
    "whole_pass", "few_pass", "planes_pass", "pick", "load", "bend", "_agree", "store",
    "project_all", "add_curvature", "look", "direction", "proximal_step",
}  # fmt: skip


@contextlib.contextmanager
def interrupted_at(n_lines):
    """Interrupt a pass in plain Python when it has run that many lines."""
    before, n_left = sys.gettrace(), n_lines

    def in_pass(frame, event, argument):
        nonlocal n_left
        if event == "line":
            n_left -= 1
            if n_left == 0:
                raise KeyboardInterrupt
        return in_pass

    sys.settrace(lambda frame, *_: in_pass if frame.f_code.co_name in PASSES else None)
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("surrogate", [MarginRescaling(), SlackRescaling(), LogLoss()], ids=repr)
def test_an_interrupt_between_two_lines_leaves_a_true_certificate(surrogate):
    problem = bent_problem(surrogate, 0.05, n=4, compile=False)
    best = optimum(problem)
    for n_lines in np.random.default_rng(0).integers(100, 4000, size=40):
        with interrupted_at(n_lines):
            result, state = run(
                problem, SDCA(), rng=np.random.default_rng(0), tol=0.0, max_iter=100
            )
        assert result.status == "interrupted"
        check_planes(problem, state)
        assert result.dual <= best.upper * (1 + 1e-9) and best.lower <= result.primal * (1 + 1e-9)
    again, _ = run(problem, SDCA(), rng=np.random.default_rng(0), tol=1e-5, state=state)
    assert again.status == "converged"
    assert again.dual <= best.upper * (1 + 1e-9)


def test_one_gram_matrix_serves_all_blocks():
    for n in (1, 2, 5):
        assert (orthogonal(n).table == np.ones((n, n)) + np.eye(n)).all()


# -- what it asks of a structure -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (
            "n_listed",
            lambda right, data: right(data) + 1,
            "n_listed is 4, so the outputs .* 0 to 3",
        ),
        ("listed_norms", lambda right, data: 2 * right(data), "inner products .* listed_norms"),
        (
            "add_listed",
            lambda right, *args: right(*args) or right(*args),
            "add_listed and add_diff",
        ),
        ("add_few", lambda right, *args: None, "add_few and add_listed do not agree at example 0"),
        ("few_scores", lambda right, *args: None, "few_scores and add_listed do not agree"),
        ("list_values", lambda right, *args: None, "values of list_values and margin_error do not"),
    ],
)
def test_the_check_of_structures_finds_what_is_wrong(name, change, message, monkeypatch):
    data, sizes = tiny_data("multiclass")
    cost = Hamming().tabulate("positions", np.arange(3), sizes)
    table = getattr(generic, name).implementations
    kinds = next(each for each in table if each[0] in (MulticlassData, OneLabel))
    right = table[kinds]
    monkeypatch.setitem(table, kinds, lambda *arguments: change(right, *arguments))
    with pytest.raises(AssertionError, match=message):
        check_structure(data, cost=cost, compile=False)


# -- memory --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_memory_is_examples_times_classes():
    n, n_labels, n_columns = 1000, 5, 2000
    rng = np.random.default_rng(0)
    X = sp.random(n, n_columns, density=2e-3, format="csr", random_state=rng)
    data = multiclass_data(X, rng.integers(n_labels, size=n), n_labels)
    tables = Hamming().tabulate("positions", np.arange(n_labels), np.ones(n))
    problem = Problem(data, tables, MarginRescaling().compiled(), n, 1e-3, search=DIRECT)
    run(problem, SDCA(), rng=rng, tol=0.0, max_iter=1)  # compiled, and the desk is made
    tracemalloc.start()
    _, state = run(problem, SDCA(), rng=rng, tol=0.0, max_iter=3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    cells = sum(array.size for array in state.arrays().values())
    assert cells == n * n_labels + 2 * n + 2 * problem.n_weights + len(state.arrays()["pace"])
    # A few copies of w, and nothing of the size of n x n_columns.
    assert peak < 8 * (3 * n * n_labels + 10 * n + 10 * problem.n_weights) < n * n_columns

"""Dual coordinate ascent over lists of outputs: the projection, the optimum, what it keeps."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import tiny_multiclass
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import generic
from maxmargin.costs import CostMatrix, Hamming, ZeroOne
from maxmargin.problem import Problem
from maxmargin.solvers import SDCA, run
from maxmargin.solvers.sdca import threshold
from maxmargin.structures import MulticlassData, multiclass_data
from maxmargin.surrogates import MarginRescaling
from maxmargin.testing import check_structure, optimum
from maxmargin.testing.tiny import tiny_data

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
    assert result.status == "converged"
    assert result.primal == pytest.approx(lam * 1e8 * 6.998596029209e-10, rel=1e-2)


def some_problem(kind, cost, lam=0.05, **options):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(15, 4)) * (rng.random((15, 4)) < 0.7)
    X = {"dense": X, "csr": sp.csr_matrix(X), "float32": X.astype(np.float32)}[kind]
    data = multiclass_data(X, rng.integers(4, size=15), 4)
    tables = cost.tables(np.arange(4), np.ones(15))
    return Problem(data, tables, MarginRescaling().compiled(), 15, lam, **options)


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
    assert warm.primal <= best.primal and warm.n_iter <= cold.n_iter
    assert warm.dual == cold.dual or warm.n_iter < cold.n_iter
    check_dual(tiny, tiny.problem(lam), state)
    far = np.full_like(best.w, 1e6) * np.arange(len(best.w))
    other, _ = run(tiny.problem(lam), SDCA(), rng=np.random.default_rng(0), w=far, **options)
    assert other.primal == pytest.approx(cold.primal, rel=2e-3)


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="repeats must be >= 0, got -1"):
        SDCA(repeats=-1)


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
    cost = Hamming().tables(np.arange(3), sizes)
    table = getattr(generic, name).implementations
    kinds = next(each for each in table if each[0] is MulticlassData)
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
    tables = Hamming().tables(np.arange(n_labels), np.ones(n))
    problem = Problem(data, tables, MarginRescaling().compiled(), n, 1e-3)
    run(problem, SDCA(), rng=rng, tol=0.0, max_iter=1)  # compiled, and the desk is made
    tracemalloc.start()
    _, state = run(problem, SDCA(), rng=rng, tol=0.0, max_iter=3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    cells = sum(array.size for array in state.arrays().values())
    assert cells == n * n_labels + 2 * n + 2 * problem.n_weights
    # A few copies of w, and nothing of the size of n x n_columns.
    assert peak < 8 * (3 * n * n_labels + 10 * n + 10 * problem.n_weights) < n * n_columns

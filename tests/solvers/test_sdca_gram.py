"""Dual coordinate ascent where outputs share features: labels of a hierarchy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.core.contract import Identity, listed_gram, metric, times_metric
from maxmargin.core.problem import Problem
from maxmargin.costs import CostMatrix
from maxmargin.inference.hierarchy.shape import hierarchy_shape
from maxmargin.regularizers.hierarchy import alpha_weights, path_matrix
from maxmargin.search.choose import bind_search
from maxmargin.solvers import SDCA, BlockFrankWolfe, run
from maxmargin.solvers.listed.dual import sum_weights
from maxmargin.solvers.listed.sdca_gram import product_of
from maxmargin.structures import paths_data
from maxmargin.structures.hierarchy import norm
from maxmargin.surrogates import (
    LogLoss,
    MarginRescaling,
    NormalizedMargin,
    ProbLoss,
    SlackRescaling,
)
from tests.helpers import Tiny

LINEAR = [MarginRescaling(), SlackRescaling(), NormalizedMargin()]
LAM = 0.05


class Case:
    """A hierarchy, examples and costs of pairs of labels, and the same spelt out."""

    def __init__(self, seed, is_tree=True, alpha="maxmin", n=12, n_columns=3, sparse=False):
        rng = np.random.default_rng(seed)
        if is_tree:
            self.shape = hierarchy_shape(8, [1, 2, 3, 4, 5, 6, 7], [0, 0, 1, 1, 2, 2, 2])
            self.labels = np.array([4, 3, 5, 6, 7])
        else:
            self.shape = hierarchy_shape(7, [2, 3, 3, 4, 5, 5, 6], [0, 0, 1, 2, 2, 3, 3])
            self.labels = np.array([4, 6, 5])
        K = len(self.labels)
        A = path_matrix(self.shape, self.labels).toarray()
        self.alpha = alpha_weights(self.shape, self.labels, alpha)
        self.X = rng.normal(size=(n, n_columns)) * (rng.random((n, n_columns)) < 0.8)
        self.y = rng.integers(K, size=n)
        self.costs = rng.uniform(0.3, 2.0, size=(K, K)) * (1.0 - np.eye(K))
        self.weight = rng.uniform(0.2, 3.0, size=n)
        X = sp.csr_matrix(self.X) if sparse else self.X
        self.data = paths_data(X, self.y, self.shape, self.labels, alpha=self.alpha)
        self.cost = CostMatrix(self.costs).tabulate("positions", np.arange(K), np.ones(n))
        # In the weights U / sqrt(alpha) the norm is the Euclidean one.
        inputs = np.column_stack([self.X, np.ones(n)])
        sizes = np.sqrt(self.alpha)
        self.phi = [[np.outer(x, A[k] * sizes).ravel() for k in range(K)] for x in inputs]

    def problem(self, surrogate=LINEAR[0], lam=LAM, compile=False, **options):
        search = bind_search("auto", surrogate, self.data, self.cost)
        return Problem(
            self.data, self.cost, surrogate.compiled(), len(self.y), lam, self.weight,
            search=search, is_linear=surrogate.is_linear, compile=compile, **options,
        )  # fmt: skip

    def twin(self, surrogate):
        """Return the same problem as planes, for a conic solver; psi is affine in h."""
        differences, offsets = [], []
        for i, t in enumerate(self.y):
            g = self.costs[t]
            slope = {"MarginRescaling": np.ones_like(g), "SlackRescaling": g}.get(
                type(surrogate).__name__, np.divide(1.0, g, out=np.zeros_like(g), where=g > 0)
            )
            offset = (g > 0.0) * 1.0 if isinstance(surrogate, NormalizedMargin) else g
            psi = self.phi[i][t] - np.array(self.phi[i])
            differences.append(slope[:, None] * psi)
            offsets.append(offset)
        return Tiny(None, None, differences, offsets, self.weight)

    def scaled(self, w):
        """Return U / sqrt(alpha)."""
        inverse = np.divide(1.0, np.sqrt(self.alpha), out=np.zeros(8)[: len(self.alpha)],
                            where=self.alpha > 0)  # fmt: skip
        return (w.reshape(-1, len(self.alpha)) * inverse).ravel()


@pytest.mark.parametrize("surrogate", LINEAR, ids=repr)
@pytest.mark.parametrize("is_tree", [True, False])
@pytest.mark.parametrize("alpha", ["none", "maxmin", "rho", "flat"])
def test_the_optimum_is_that_of_a_conic_solver(surrogate, is_tree, alpha):
    case = Case(0, is_tree, alpha)
    problem, twin = case.problem(surrogate), case.twin(surrogate)
    result, _ = run(problem, SDCA(), rng=np.random.default_rng(0), tol=1e-4, max_iter=200)
    best = twin.optimum(LAM)
    assert result.status == "converged" and result.relative_gap <= 1e-4
    assert result.dual - 1e-9 <= best <= result.primal + 1e-9
    assert result.primal == pytest.approx(twin.primal(case.scaled(result.w), LAM), rel=1e-9)


@pytest.mark.parametrize("surrogate", [*LINEAR, LogLoss(), ProbLoss()], ids=repr)
def test_the_gap_is_the_mean_of_the_gaps_of_blocks(surrogate):
    """At one w: P - D = 1/n sum_i s_i (max psi - the mean of the planes)."""
    case = Case(1)
    problem = case.problem(surrogate)
    _, state = run(problem, SDCA(), rng=np.random.default_rng(0), tol=1e-2, max_iter=3)
    w = state.w.copy()
    sum_weights(problem, state)
    np.testing.assert_allclose(w, state.w, atol=1e-12)  # w is that of the coefficients
    scores = np.array([case.phi[i] @ case.scaled(w) for i in range(len(case.y))])
    errors = scores - scores[np.arange(len(case.y)), case.y][:, None]
    values = state.offset + state.slope * errors
    mean = np.sum(np.where(state.beta > 0, state.beta, 0.0) * values, axis=1)
    gaps = problem.losses(w)[0] - mean
    dual = case.weight @ state.linear / len(case.y) - 0.5 * LAM * problem.inner(w, w)
    gap = problem.primal(w) - dual
    assert gap == pytest.approx(case.weight @ gaps / len(case.y), abs=1e-12)


@pytest.mark.parametrize("surrogate", [LogLoss(), ProbLoss()], ids=repr)
@pytest.mark.parametrize("is_tree", [True, False])
def test_losses_that_bend_agree_with_another_solver(surrogate, is_tree):
    problem = Case(2, is_tree, "rho").problem(surrogate)
    results = [
        run(problem, solver, rng=np.random.default_rng(0), tol=1e-4, max_iter=500)[0]
        for solver in (SDCA(), BlockFrankWolfe())
    ]
    assert all(result.status == "converged" for result in results)
    assert max(r.dual for r in results) <= min(r.primal for r in results) + 1e-9


def test_inner_products_without_a_table_are_those_of_the_table(monkeypatch):
    for is_tree in (True, False):
        case = Case(3, is_tree, "rho")
        table = listed_gram(case.data)
        with_table, _ = run(case.problem(), SDCA(), rng=np.random.default_rng(0), tol=1e-3)
        with monkeypatch.context() as patch:
            patch.setattr(norm, "MOST_TABULATED", 0)
            parts = listed_gram(case.data)
            assert parts.table.size == 0
            other, _ = run(case.problem(), SDCA(), rng=np.random.default_rng(0), tol=1e-3)
        K = len(case.labels)
        both = [[[product_of(g, k, m) for m in range(K)] for k in range(K)] for g in (table, parts)]
        np.testing.assert_allclose(*both, atol=1e-15)
        np.testing.assert_allclose(with_table.w, other.w, atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_compiled_passes_do_as_python(sparse):
    case = Case(4, sparse=sparse)
    results = [
        run(case.problem(compile=compile), SDCA(), rng=np.random.default_rng(0), tol=1e-3)[0]
        for compile in (False, True)
    ]
    np.testing.assert_allclose(results[0].w, results[1].w, rtol=1e-7, atol=1e-9)
    assert all(result.status == "converged" for result in results)


def test_nodes_without_weight_keep_no_weights():
    case = Case(5, alpha="flat")
    result, _ = run(case.problem(), SDCA(), rng=np.random.default_rng(0), tol=1e-2)
    columns = result.w.reshape(-1, len(case.alpha))
    assert (columns[:, case.alpha == 0.0] == 0.0).all() and columns.any()


def test_a_lower_lam_goes_on_from_the_state():
    case = Case(6)
    problem = case.problem()
    _, state = run(problem, SDCA(), rng=np.random.default_rng(0), tol=1e-3)
    lower = problem.with_lam(0.5 * LAM)
    SDCA().adapt(lower, state, LAM)
    result, _ = run(lower, SDCA(), rng=np.random.default_rng(0), tol=1e-3, state=state)
    assert result.status == "converged"
    assert result.dual - 1e-9 <= case.twin(LINEAR[0]).optimum(0.5 * LAM) <= result.primal + 1e-9


def test_the_norm_of_a_problem_is_that_of_its_data():
    case = Case(7, alpha="flat")
    problem = case.problem()
    w = np.random.default_rng(0).normal(size=problem.n_weights)
    w = (w.reshape(-1, 8) * (case.alpha > 0.0)).ravel()
    assert problem.inner(w, w) == pytest.approx(float(np.square(case.scaled(w)).sum()))
    case.data.alpha[case.alpha > 0.0] *= 2.0  # a norm that is learnt changes it
    assert problem.inner(w, w) == pytest.approx(float(np.square(case.scaled(w)).sum()) / 2.0)
    assert times_metric(metric(case.data), w).shape == w.shape


def test_another_norm_than_that_of_the_data_is_refused():
    with pytest.raises(ValueError, match=r"updates of .* norm ColumnWeights, .* got Identity"):
        Case(8).problem(regularizer=Identity())

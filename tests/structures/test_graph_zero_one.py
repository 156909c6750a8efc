"""Graphs with cycles under the zero-one cost: the best other labelling, and certificates."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.core.contract import (
    add_difference,
    margin_error,
    maximize,
    maximize_bounded,
    output_cost,
    potentials,
    workspace,
)
from maxmargin.core.problem import Problem
from maxmargin.costs import ZeroOne, tabulate
from maxmargin.search.direct import Direct
from maxmargin.solvers import BlockFrankWolfe, run
from maxmargin.structures import general_data
from maxmargin.surrogates import MarginRescaling
from maxmargin.testing import all_outputs
from tests.structures.test_graph_certificates import K, N, dense_graphs

SCALES = ((1.0, 1.0), (1.0, 0.1), (1.0, 5.0), (0.0, 1.0))


def zero_one(data):
    return tabulate(ZeroOne(), data, np.arange(K))


def listed_values(data, cost, i, theta):
    """Return margin error and cost of every labelling that is allowed."""
    found = []
    for y in all_outputs(data, i):
        h = margin_error(data, i, theta, y, 0)
        if h > -np.inf:
            found.append((h, output_cost(data, cost, i, y, 0)))
    return np.array(found)


@pytest.mark.parametrize("hyper", [False, True], ids=["pairs", "hyperedges"])
@pytest.mark.parametrize("branches", [100, 0])
def test_bounds_hold_the_best_labelling(hyper, branches, rng):
    n_exact = n_all = 0
    for seed in range(5):
        data = general_data(dense_graphs(seed, hyper), most_branches=branches)
        cost = zero_one(data)
        theta, room = workspace(data)
        cells = np.zeros(N, dtype=np.int32)
        for scale in (0.0, 0.3, 1.0, 3.0):
            w = scale * rng.normal(size=data.graphs.layout.n_weights)
            for i in range(2):
                potentials(data, i, w, 1.0, theta)
                before = theta.unary.copy()
                h, g = listed_values(data, cost, i, theta).T
                for score_scale, cost_scale in SCALES:
                    given = data, cost, i, theta, room, score_scale, cost_scale, cells, 0
                    best = (score_scale * h + cost_scale * g).max()
                    bound = maximize_bounded(*given)
                    value = score_scale * margin_error(data, i, theta, cells, 0)
                    value += cost_scale * output_cost(data, cost, i, cells, 0)
                    assert value <= best + 1e-9
                    assert best <= bound + 1e-9
                    n_exact += bound - value <= 1e-9
                    n_all += 1
                    if branches:
                        assert value == pytest.approx(best)
                        maximize(*given)
                        value = score_scale * margin_error(data, i, theta, cells, 0)
                        value += cost_scale * output_cost(data, cost, i, cells, 0)
                        assert value == pytest.approx(best)
                np.testing.assert_array_equal(theta.unary, before)
    assert n_exact == n_all if branches else n_exact > n_all / 2


def test_labels_that_are_forbidden_are_no_other_labellings(rng):
    graphs = dense_graphs(0)
    truth = np.asarray(graphs.labels)
    barrier = np.where(np.arange(K) == truth[:, None], 0.0, -np.inf)
    barrier[N] = 0.0  # one node of the second graph is free
    data = general_data(graphs._replace(barrier=barrier))
    cost = zero_one(data)
    theta, room = workspace(data)
    cells = np.zeros(N, dtype=np.int32)
    w = rng.normal(size=graphs.layout.n_weights)
    for i, n_free in ((0, 0), (1, 1)):
        potentials(data, i, w, 1.0, theta)
        own = truth[i * N : (i + 1) * N]
        bound = maximize_bounded(data, cost, i, theta, room, 1.0, 50.0, cells, 0)
        assert (cells != own).sum() == n_free
        if n_free == 0:
            assert bound == 0.0
        else:
            assert bound == pytest.approx(margin_error(data, i, theta, cells, 0) + 50.0)


def quadratic_optimum(data, cost, lam):
    """Return min P by a QP over w and one slack per example, with a row per labelling."""
    d, n = data.graphs.layout.n_weights, 2
    theta, _ = workspace(data)
    rows, right = [], []
    for i in range(n):
        potentials(data, i, np.zeros(d), 1.0, theta)
        for y in all_outputs(data, i):
            row = np.zeros(d + n)
            add_difference(data, i, y, 0, -1.0, row[:d])  # h = row @ w
            row[d + i] = -1.0
            rows.append(row)
            right.append(-output_cost(data, cost, i, y, 0))
    P = sp.diags(np.r_[np.full(d, lam), np.zeros(n)]).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(len(right))]
    solver = clarabel.DefaultSolver(
        P, np.r_[np.zeros(d), np.full(n, 1.0 / n)], sp.csc_matrix(rows), np.array(right), cones,
        settings,
    )  # fmt: skip
    found = solver.solve()
    assert str(found.status) == "Solved"
    return found.obj_val


@pytest.mark.parametrize(("seed", "hyper"), [(0, False), (1, False), (0, True)])
def test_certificates_hold_the_optimum(seed, hyper):
    data = general_data(dense_graphs(seed, hyper), precision=1e-3)
    cost, psi = zero_one(data), MarginRescaling().compiled()
    best = quadratic_optimum(data, cost, 0.05)
    problem = Problem(data, cost, psi, 2, 0.05, search=Direct(1.0, 1.0), compile=False)
    rng = np.random.default_rng(0)
    result, _ = run(problem, BlockFrankWolfe(), rng=rng, tol=0.01, max_iter=300)
    slack = 1e-6 * (1.0 + best)
    assert result.status == "converged" and result.objective == "integral"
    assert result.dual <= best + slack
    assert result.primal >= best - slack

"""MMCRF: one step is plain block Frank-Wolfe, its dual never falls, and it agrees with the rest."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from maxmargin import GraphSVM, HierarchySVM
from maxmargin.core.contract import (
    add_parts,
    gather,
    parts,
    parts_square,
    potentials,
    square_size,
    workspace,
)
from maxmargin.features.kernels import Rbf
from maxmargin.inference.hierarchy.shape import hierarchy_shape
from maxmargin.solvers import MMCRF, BlockFrankWolfe, run
from maxmargin.solvers.marginal import mmcrf
from maxmargin.solvers.marginal.mmcrf import places
from maxmargin.structures import STRUCTURES, edge_field_data
from maxmargin.testing import check_solver, tiny_problem

FITTING = [name for name in STRUCTURES if name != "user" and "program" not in name]


def solve(problem, solver, n_passes=6, tol=0.0):
    with np.errstate(all="raise"):
        return run(problem, solver, rng=np.random.default_rng(0), tol=tol, max_iter=n_passes)[0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FITTING)
def test_one_step_a_visit_is_plain_block_frank_wolfe(name):
    problem = tiny_problem(name, compile=False)
    ours = solve(problem, MMCRF(inner=1, average=False))
    plain = solve(problem, BlockFrankWolfe(step="plain", cache=0, average=False))
    assert ours.dual == pytest.approx(plain.dual, rel=1e-9)
    assert np.allclose(ours.w, plain.w, rtol=1e-8, atol=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FITTING)
def test_steps_within_an_example_read_the_weights_once(name, monkeypatch):
    """Later steps move the scores by the rows of the example; they are those of the weights."""
    problem, seen = tiny_problem(name, compile=False), {"visits": 0, "steps": 0}
    read, ask = mmcrf.read_scores, mmcrf.find

    def reading(problem, i, w, *rest):
        seen["w"], seen["visits"] = w, seen["visits"] + 1
        read(problem, i, w, *rest)

    def asking(search, view, i, desk, *rest):
        seen["steps"] += 1
        fresh, counts = workspace(view.data)[0], places(problem).counts
        for array in fresh:
            array.fill(np.nan)  # which remains where this example has no parts
        potentials(view.data, i, seen["w"], 1.0, fresh)
        flat = np.zeros((2, int(counts[i].sum())))
        for theta, out in zip((desk.theta, fresh), flat, strict=True):
            gather(view.data, i, theta, counts, 1.0, out, 0)
        used = ~np.isnan(flat[1])
        assert np.allclose(*flat[:, used], rtol=1e-9, atol=1e-9)
        return ask(search, view, i, desk, *rest)

    monkeypatch.setattr(mmcrf, "read_scores", reading)
    monkeypatch.setattr(mmcrf, "find", asking)
    solve(problem, MMCRF(inner=5), 3)
    assert seen["visits"] == 3 * problem.n_examples < seen["steps"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["graph_forest", "graph_paths", "multilabel_tree"])
@pytest.mark.parametrize("solver", [MMCRF(inner=4), MMCRF(inner=2, chunk=2, sweeps=3)])
def test_the_dual_never_falls_and_stays_below_the_primal(name, solver):
    problem = tiny_problem(name, compile=False)
    result = solve(problem, solver, 12)
    duals = [record.dual for record in result.history]
    assert all(b >= a - 1e-12 for a, b in pairwise(duals))
    best = solve(problem, BlockFrankWolfe(), 200, tol=1e-6)
    assert duals[-1] <= best.primal + 1e-12
    assert result.primal >= best.dual - 1e-12


def test_it_meets_the_contract_of_solvers():
    check_solver(MMCRF(inner=3), tiny_problem("multiclass"), max_iter=400)


def test_steps_go_to_where_the_gap_is():
    limits = MMCRF(inner=9)._limits(np.array([np.inf, 0.0, 1.0, 1.0, 10.0]))
    assert limits.tolist() == [9, 1, 1, 1, 9]
    assert MMCRF(inner=9)._limits(np.full(2, np.inf)).tolist() == [9, 9]
    assert MMCRF(inner=9)._limits(np.zeros(2)).tolist() == [9, 9]


@pytest.mark.parametrize("paths", [False, True])
def test_squares_of_edge_fields_are_sums_over_parts(paths):
    rng = np.random.default_rng(0)
    shape = hierarchy_shape(4, child=[1, 2, 3], parent=[0, 0, 1])
    sets = [[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]
    data = edge_field_data(shape, rng.normal(size=(3, 2)), sets, paths=paths)
    assert square_size(data) == 0
    for i in range(3):
        mu, theta = workspace(data)[0], workspace(data)[0]
        for _ in range(3):
            y = np.append(rng.integers(0, 2, 4), 1).astype(np.int32)
            parts(data, i, y, 0, rng.normal(), mu)
        w = np.zeros(int(data.graphs.layout.n_weights))
        add_parts(data, i, mu, 1.0, w)
        assert parts_square(data, i, mu, np.zeros(0), theta) == pytest.approx(w @ w)
        fresh = workspace(data)[0]
        potentials(data, i, w, 1.0, fresh)
        for left, right in zip(theta, fresh, strict=True):
            allowed = np.isfinite(right)  # inconsistent sets are not
            assert np.allclose(left[allowed], right[allowed])


@pytest.mark.parametrize("cost", ["hamming", "edge", "path"])
@pytest.mark.parametrize("kernel", [None, "linear", Rbf(0.5)])
def test_edge_fields_learn_by_it_with_every_cost_and_kernel(cost, kernel, monkeypatch):
    monkeypatch.setenv("MAXMARGIN_MODE", "python")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 2))
    y = [("r/a",) if x[0] > 0 else ("r/b/c", "r/b/d")[: 1 + (x[1] > 0)] for x in X]
    shared = {"model": "edges", "cost": cost, "kernel": kernel, "C": 0.2, "separator": "/"}
    models = [
        HierarchySVM(solver=solver, tol=tol, random_state=0, max_iter=300, **shared).fit(X, y)
        for solver, tol in ((MMCRF(inner=5), 2e-2), ("bcfw", 1e-4))
    ]
    ours, theirs = (model.result_ for model in models)
    assert ours.status == theirs.status == "converged"
    assert ours.dual <= theirs.primal and theirs.dual <= ours.primal


@pytest.mark.parametrize(("options", "name"), [({"inner": 0}, "inner"), ({"sweeps": 1.5}, "sweeps"),
                                               ({"chunk": -1}, "chunk")])  # fmt: skip
def test_options_are_refused_by_name(options, name):
    with pytest.raises(ValueError, match=f"MMCRF: {name} must be an integer"):
        MMCRF(**options)


def test_what_it_needs_is_said():
    with pytest.raises(ValueError, match="MMCRF needs parts"):
        solve(tiny_problem("user", compile=False), MMCRF())
    with pytest.raises(ValueError, match="MMCRF needs a loss of slope 1"):
        HierarchySVM(surrogate="slack", model="edges", solver="mmcrf").fit(
            [[1.0], [2.0]], ["a", "b"]
        )


def frustrated_grids(side=3, n_graphs=3):
    """Return grids with diagonals, whose neighbours mostly differ: of a triangle two cannot."""
    rng, n = np.random.default_rng(0), side * side
    at = np.arange(n).reshape(side, side)
    pairs = [(at[:, :-1], at[:, 1:]), (at[:-1], at[1:]), (at[:-1, :-1], at[1:, 1:])]
    edges = [pair for a, b in pairs for pair in zip(a.ravel(), b.ravel(), strict=True)]
    y = (np.add.outer(np.arange(side), np.arange(side)) % 2).ravel()
    X = [(rng.normal(size=(n, 2)).round(2), edges) for _ in range(n_graphs)]
    return X, [np.where(rng.random(n) < 0.1, 1 - y, y) for _ in range(n_graphs)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("training", ["integral", "relaxed"])
def test_directions_that_are_only_bounded(training, monkeypatch):
    """Without branches the search bounds what it misses; the bracket holds the optimum anyway."""
    monkeypatch.setenv("MAXMARGIN_MODE", "python")
    X, y = frustrated_grids()
    shared = {"pairs": "potts", "C": 0.5, "training": training, "random_state": 0}
    best = GraphSVM(solver="bcfw", tol=1e-3, **shared).fit(X, y).result_
    assert best.status == "converged" and best.search_gap <= 1e-6
    ours = GraphSVM(solver="mmcrf", max_branches=0, tol=0.05, max_iter=60, **shared).fit(X, y)
    found = ours.result_
    assert found.solver == "mmcrf" and found.objective == best.objective == training
    assert found.dual <= best.primal + 1e-9 and best.dual <= found.primal + 1e-9
    if training == "integral":
        # What the search left open is most of the gap, and more passes would not close it.
        assert found.status == "oracle_bound" and found.search_gap > 0.5 * found.gap > 0.5
    else:
        assert found.status == "converged" and found.relative_gap <= 0.05

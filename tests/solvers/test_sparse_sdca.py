"""SDCA without dense weights: bounds against the dense solver and an exact optimum, and rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import Checkpoint, HierarchySVM, load
from maxmargin.core.contract import listed_paths
from maxmargin.core.problem import Problem
from maxmargin.costs import TreeDistance, ZeroOne, tabulate
from maxmargin.datasets import make_deep_tree
from maxmargin.inference.hierarchy import hierarchy_shape
from maxmargin.search.choose import bind_search
from maxmargin.solvers import SDCA, SparseSDCA, run
from maxmargin.solvers.listed.sparse.rows import Touched, add_to_row, has_room
from maxmargin.solvers.listed.sparse.weights import SparseWeights
from maxmargin.solvers.restore.checked import Arrays
from maxmargin.structures import paths_data
from maxmargin.surrogates import MarginRescaling, SlackRescaling
from tests.hierarchies import random_shape

BINARY = hierarchy_shape(15, child=range(1, 15), parent=[(k - 1) // 2 for k in range(1, 15)])


def problem_of(seed=0, n=6, surrogate=None, cost=None, *, is_sparse=True, lam=0.05, **options):
    """Return a problem over the eight leaves of a binary tree."""
    rng = np.random.default_rng(seed)
    X = sp.random(n, 9, 0.4, random_state=seed, format="csr")
    form = X if is_sparse else X.toarray()
    alpha = rng.random(15) + 0.1
    alpha[1] = 0.0  # a node without weights
    data = paths_data(form, rng.integers(8, size=n), BINARY, list(range(7, 15)), alpha=alpha)
    psi, price = surrogate or MarginRescaling(), tabulate(cost or ZeroOne(), data, range(8))
    search = bind_search("auto", psi, data, price)
    return Problem(data, price, psi.compiled(), n, lam, search=search, **options)


CASES = [
    (MarginRescaling(), ZeroOne(), 0),
    (MarginRescaling(), TreeDistance(), 10),
    (SlackRescaling(), TreeDistance(), 2),
]


@pytest.mark.parametrize(("surrogate", "cost", "beam"), CASES, ids=str)
def test_bounds_hold_the_optimum_of_the_dense_solver(surrogate, cost, beam):
    problem = problem_of(surrogate=surrogate, cost=cost)
    rng = np.random.default_rng(0)
    best, _ = run(problem, SDCA(), rng=rng, tol=1e-7, max_iter=500)
    result, state = run(problem, SparseSDCA(beam=beam), rng=rng, tol=1e-3, max_iter=100)
    assert result.status == "converged"
    assert best.status == "converged"
    assert result.dual <= best.primal + 1e-9 and best.dual <= result.primal + 1e-9
    # The primal is that of the weights, and the dual that of the coefficients.
    assert problem.primal(np.asarray(result.w)) == pytest.approx(result.primal, abs=1e-12)
    before = np.asarray(state.w)
    dual, _ = SparseSDCA(beam=beam).sharpen(problem, state)
    np.testing.assert_allclose(np.asarray(state.w), before, atol=1e-12)
    assert dual <= best.primal + 1e-9
    mass = np.where(np.arange(16) < state.count[:, None], state.mass, 0.0)
    assert (mass >= 0.0).all() and (mass.sum(axis=1) <= 1.0 + 1e-12).all()


@pytest.mark.parametrize("surrogate", [MarginRescaling(), SlackRescaling()], ids=str)
def test_every_mode_does_as_python_and_dense_rows_are_read_too(surrogate):
    found = []
    modes = ((True, "python"), (True, "erased"), (False, "erased"), (True, "typed"))
    for is_sparse, mode in modes:
        problem = problem_of(surrogate=surrogate, is_sparse=is_sparse, mode=mode)
        solver, rng = SparseSDCA(beam=2), np.random.default_rng(0)
        state = solver.start(problem)
        for _ in range(4):
            solver.advance(problem, state, rng)
        found.append(np.asarray(state.w))
    np.testing.assert_allclose(found[1], found[0], atol=1e-10)
    np.testing.assert_allclose(found[2], found[0], atol=1e-10)
    np.testing.assert_array_equal(found[3], found[1])


def test_a_full_list_gives_mass_back_and_the_bounds_still_hold():
    problem = problem_of(n=8, lam=0.01)
    solver = SparseSDCA(most=1)
    rng = np.random.default_rng(0)
    best, _ = run(problem, SDCA(), rng=rng, tol=1e-6, max_iter=500)
    with pytest.warns(UserWarning, match="sparse_sdca stopped"):
        result, state = run(problem, solver, rng=rng, tol=1e-6, max_iter=8)
    assert state.given_back[0] > 0.0 and (state.count <= 1).all()
    assert result.dual <= best.primal + 1e-9 and result.primal >= best.dual - 1e-9
    summed = np.asarray(state.w)
    solver.sharpen(problem, state)
    np.testing.assert_allclose(np.asarray(state.w), summed, atol=1e-12)


def test_one_label_and_rows_without_entries():
    shape = hierarchy_shape(2, child=[1], parent=[0])
    X = sp.csr_matrix((3, 4))
    for own, bias in (([1], True), ([0, 1], False)):
        data = paths_data(X, [0, 0, len(own) - 1], shape, own, bias=bias)
        cost, psi = tabulate(ZeroOne(), data, range(len(own))), MarginRescaling()
        search = bind_search("auto", psi, data, cost)
        problem = Problem(data, cost, psi.compiled(), 3, 0.1, search=search, compile=False)
        rng = np.random.default_rng(0)
        result, _ = run(problem, SparseSDCA(), rng=rng, tol=1e-6, max_iter=20)
        assert result.primal == pytest.approx(1.0 if len(own) == 2 else 0.0)
        assert result.gap <= 1e-6


# -- rows ------------------------------------------------------------------------------------------


def test_rows_add_up_whatever_they_are_made_of():
    """Random changes against a dense matrix: rows move, grow, and become dense on the way."""
    rng = np.random.default_rng(0)
    n_features, n_nodes = 30, 80
    expected, w = np.zeros((n_features, n_nodes)), SparseWeights.zeros(n_features, n_nodes)
    touched = Touched(
        np.zeros(n_nodes, dtype=np.int32), np.zeros(n_nodes),
        np.full(n_nodes, -1, dtype=np.int32), np.zeros(n_nodes, dtype=np.int64),
    )  # fmt: skip
    lacking, mark = np.zeros(2, dtype=np.int64), 0
    for step in range(150):
        count = int(rng.integers(1, 6))
        touched.nodes[:count] = rng.permutation(n_nodes)[:count]
        touched.change[:count] = rng.normal(size=count)
        touched.slot[touched.nodes[:count]] = np.arange(count)
        # The last feature is frequent.
        features = np.unique([n_features - 1, rng.integers(n_features)]).astype(np.int32)
        while not has_room(w.rows, features, 0, len(features), count, lacking):
            w.grow(*lacking.tolist())
        for f in features:
            mark += 1
            add_to_row(w.rows, f, 0.5, touched, count, mark)
            expected[f, touched.nodes[:count]] += 0.5 * touched.change[:count]
        touched.slot[touched.nodes[:count]] = -1
        if step % 30 == 0:
            w = w.copy()
    assert 0 < w.rows.used[1] < n_features
    np.testing.assert_allclose(w.matrix().toarray(), expected, atol=1e-12)
    np.testing.assert_allclose(np.asarray(w), expected.ravel(), atol=1e-12)
    assert w @ w == pytest.approx((expected**2).sum())
    again = SparseWeights.from_arrays(Arrays(w.arrays()), n_features, n_nodes)
    np.testing.assert_array_equal(np.asarray(again), np.asarray(w))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"w.ends": np.array([0, 2, 1])}, "must rise"),
        ({"w.ends": np.array([0, 1])}, "shape"),
        ({"w.nodes": np.array([0, 9], dtype=np.int32)}, "below 4"),
        ({"w.nodes": np.array([1, 1], dtype=np.int32), "w.ends": np.array([0, 2, 2])}, "twice"),
        ({"w": np.array([np.nan, 1.0])}, "finite"),
    ],
)
def test_damaged_weights_are_refused(change, message):
    good = SparseWeights.of_matrix(np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]])).arrays()
    with pytest.raises(ValueError, match=message):
        SparseWeights.from_arrays(Arrays({**good, **change}), 2, 4)


# -- the estimator ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def deep():
    return make_deep_tree(60, 30, n_leaves=12, n_features=80, n_words=20)


def test_the_estimator_has_sparse_weights(deep, tmp_path):
    options = {"C": 1.0, "cost": "zero_one", "random_state": 0, "tol": 1e-3, "max_iter": 300}
    model = HierarchySVM(solver="sparse_sdca", **options).fit(deep.X_train, deep.y_train)
    dense = HierarchySVM(solver="sdca", **options).fit(deep.X_train, deep.y_train)
    assert model.result_.status == "converged"
    assert model.result_.dual <= dense.result_.primal and dense.result_.dual <= model.result_.primal
    assert sp.issparse(model.coef_) and model.coef_.shape == dense.coef_.shape
    scores = model.decision_function(deep.X_test)
    np.testing.assert_allclose(scores, dense.decision_function(deep.X_test), atol=0.2)
    model.save(tmp_path / "model.mm")
    again = load(tmp_path / "model.mm")
    np.testing.assert_allclose(again.decision_function(deep.X_test), scores, atol=1e-12)
    assert again.predict(deep.X_test).tolist() == model.predict(deep.X_test).tolist()


def test_what_needs_dense_weights_is_refused(deep, tmp_path):
    model = HierarchySVM(solver="sparse_sdca", cost="zero_one", random_state=0)
    with pytest.raises(
        ValueError, match=r"keeps no dense weights, which a checkpoint needs; .*'sdca' does"
    ):
        model.fit(deep.X_train, deep.y_train, callbacks=[Checkpoint(tmp_path / "run.mm")])
    dag = [("c", "a"), ("c", "b")]
    sets = HierarchySVM(hierarchy=dag, space="closed", solver="sparse_sdca")
    with pytest.raises(ValueError, match="needs outputs that can be listed, which CutSets"):
        sets.fit(np.eye(3), [{"a"}, {"b"}, {"c"}])
    with pytest.raises(ValueError, match="needs one path of a forest per example, which Hier"):
        sets.set_params(space="path").fit(np.eye(3), ["a", "b", "c"])
    with pytest.raises(ValueError, match="needs a loss that is affine"):
        model.set_params(surrogate="log").fit(deep.X_train, deep.y_train)
    with pytest.raises(ValueError, match="SparseSDCA: most must be >= 1"):
        SparseSDCA(most=0)


def test_it_goes_on_from_an_earlier_fit(deep):
    model = HierarchySVM(
        solver="sparse_sdca", cost="zero_one", random_state=0, warm_start=True, max_iter=100
    ).fit(deep.X_train, deep.y_train)
    first = model.result_
    model.set_params(C=2.0).fit(deep.X_train, deep.y_train)
    assert model.result_.status == "converged" and model.result_.n_iter <= first.n_iter + 5
    with pytest.warns(UserWarning, match="starting anew"):
        model.fit(deep.X_train[:40], deep.y_train[:40])


def test_paths_of_random_forests_are_what_the_solver_reads():
    rng = np.random.default_rng(1)
    for _ in range(50):
        shape = random_shape(rng, 7)
        own = rng.permutation(len(shape.parent_at) - 1)[:3]
        data = paths_data(rng.normal(size=(4, 2)), rng.integers(len(own), size=4), shape, own)
        paths = listed_paths(data)
        for k, node in enumerate(own):
            path = paths.nodes[paths.node_at[k] : paths.node_at[k + 1]]
            assert path[-1] == node and paths.parent[path[0]] == -1
            assert (paths.parent[path[1:]] == path[:-1]).all()

"""Baselines of hierarchies: single problems, answers that agree, and the identity of H-RLS."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import Hierarchy, load
from maxmargin.estimators.hierarchy import FlatSVM, LocalRidge, LocalSVM
from maxmargin.estimators.hierarchy.ridge import RidgeGroup

BASELINES = [FlatSVM(random_state=0), LocalSVM(random_state=0), LocalRidge()]
TREE = {"pet": ["cat", "dog"], "wild": ["fox"]}


_WEIGHTED = "equal with LinearSVC(tol=1e-10, dual=True), but it stops at a tol of 1e-4"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": _WEIGHTED,
    "check_sample_weight_equivalence_on_sparse_data": _WEIGHTED,
}


@parametrize_with_checks(
    BASELINES,
    expected_failed_checks=lambda model: {} if isinstance(model, LocalRidge) else EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def leaf_data(rng, n=60):
    centres = {"cat": (3, 1), "dog": (3, -1), "fox": (-3, 0)}
    y = rng.choice(list(centres), size=n)
    return np.array([centres[name] for name in y]) + rng.normal(scale=0.3, size=(n, 2)), y


@pytest.mark.parametrize("model", [*BASELINES, LocalRidge(leverage=False)], ids=str)
@pytest.mark.parametrize("space", ["leaf", "closed"])
def test_files_hold_them(rng, model, space, tmp_path):
    X, y = leaf_data(rng)
    own = clone(model).set_params(hierarchy=TREE, space=space)
    own.fit(X, y if space == "leaf" else [{name} for name in y]).save(tmp_path / "a.mm")
    again = load(tmp_path / "a.mm")
    assert type(again) is type(model) and again.get_params()["C"] == model.C
    np.testing.assert_allclose(again.node_scores(X), own.node_scores(X), atol=1e-12)
    assert list(again.predict(X)) == list(own.predict(X))
    meta, arrays = own.to_state()
    wrong = {name: array for name, array in arrays.items() if not name.startswith("weights")}
    with pytest.raises(ValueError, match="there is no array 'weights"):
        type(model).from_state(meta, wrong)
    with pytest.raises(ValueError, match="which nothing here knows"):
        type(model).from_state(meta, {**arrays, "more": np.zeros(1)})


@pytest.mark.parametrize("model", BASELINES, ids=lambda m: type(m).__name__)
def test_single_paths(rng, model):
    X, y = leaf_data(rng)
    found = clone(model).set_params(hierarchy=TREE).fit(X, y)
    assert found.space_ == "leaf" and found.score(X, y) > 0.95
    assert set(found.predict(X)) <= set(y)
    sparse = clone(model).set_params(hierarchy=TREE).fit(sp.csr_matrix(X), y)
    assert (sparse.predict(sp.csr_matrix(X)) == found.predict(X)).mean() > 0.95
    levels = np.array([["pet" if name in TREE["pet"] else "wild", name] for name in y])
    again = clone(model).fit(X, levels)
    assert again.predict(X).shape == levels.shape
    inner = clone(model).set_params(hierarchy=TREE).fit(X, np.where(y == "dog", "pet", y))
    assert inner.space_ == "path" and set(inner.predict(X)) == {"cat", "pet", "fox"}


@pytest.mark.parametrize("model", BASELINES, ids=lambda m: type(m).__name__)
def test_sets_agree_with_the_hierarchy(rng, model):
    edges = [(1, 0), (2, 0), (3, 1), (3, 2), (4, 2)]
    dag = Hierarchy.from_edges(edges)
    cells = dag.closure(rng.random((80, 5)) < 0.3).toarray()
    X = cells + rng.normal(scale=0.3, size=cells.shape)
    found = clone(model).set_params(hierarchy=dag, space="closed").fit(X, cells)
    predicted = found.predict(rng.normal(size=X.shape))
    assert (dag.closure(predicted).toarray() == predicted).all()
    assert found.score(X, cells) > 0.8
    scores = found.node_scores(X)
    for child, parent in dag.edges():
        assert (scores[:, child] <= scores[:, parent]).all()


def test_a_node_that_all_examples_have_needs_no_problem(rng):
    """An only child is there where its parent is: its missing score must not wipe it out."""
    X, y = leaf_data(rng)
    sets = [{"wild", "fox"} if name == "fox" else {"pet", name} for name in y]
    for model in (LocalSVM(random_state=0), LocalRidge()):
        found = model.set_params(hierarchy=TREE, space="closed").fit(X, sets)
        foxes = [set(row) for row, name in zip(found.predict(X), y, strict=True) if name == "fox"]
        assert all({"wild", "fox"} <= row for row in foxes)
        assert found.score(X, sets) > 0.95


@pytest.mark.parametrize("model", BASELINES, ids=lambda m: type(m).__name__)
def test_paths_end_in_leaves_and_are_not_empty(rng, model):
    dag = Hierarchy.from_edges([(1, 0), (2, 0), (3, 1), (3, 2), (4, 2), (6, 5)])
    leaves = np.flatnonzero(dag.is_leaf)
    ends = np.zeros((60, 7), dtype=int)
    ends[:, leaves] = rng.random((60, len(leaves))) < 0.4
    ends[~ends.any(axis=1), leaves[0]] = 1
    cells = dag.closure(ends).toarray()
    found = clone(model).set_params(hierarchy=dag, space="paths")
    found.fit(cells + rng.normal(scale=0.3, size=cells.shape), cells)
    predicted = found.predict(rng.normal(size=cells.shape))
    assert (dag.closure(predicted).toarray() == predicted).all() and predicted.any(axis=1).all()
    lowest = dag.most_specific(predicted).toarray()
    assert not lowest[:, ~dag.is_leaf].any()


def test_local_problems_have_the_examples_of_the_parents(rng):
    X, y = leaf_data(rng)
    model = LocalSVM(hierarchy=TREE, random_state=0).fit(X, y)
    own = np.isin(y, TREE["pet"])
    place = model.nodes_.tolist().index("cat")
    expected = LinearSVC(C=1.0, random_state=0, dual="auto").fit(X[own], y[own] == "cat")
    np.testing.assert_allclose(model._local_scores(X)[:, place], expected.decision_function(X))


def test_h_rls_is_what_the_paper_says(rng):
    S, targets = rng.normal(size=(20, 4)), np.sign(rng.normal(size=(20, 2)))
    C = 0.7
    group = RidgeGroup.learn(S, targets, np.ones(20), C, True)
    X = rng.normal(size=(5, 4))
    ones = np.hstack([S, np.ones((20, 1))])
    for i, x in enumerate(np.hstack([X, np.ones((5, 1))])):
        A = np.eye(5) / C + ones.T @ ones + np.outer(x, x)
        expected = targets.T @ ones @ np.linalg.solve(A, x)
        np.testing.assert_allclose(group.scores(X)[i], expected)
    plain = RidgeGroup.learn(S, targets, np.ones(20), C, False).scores(X)
    ridge = Ridge(alpha=1 / C, fit_intercept=False).fit(ones, targets)
    np.testing.assert_allclose(plain, ridge.predict(np.hstack([X, np.ones((5, 1))])))
    assert (np.sign(plain) == np.sign(group.scores(X))).all()
    weight = rng.integers(0, 3, size=20)
    repeated = RidgeGroup.learn(S.repeat(weight, axis=0), targets.repeat(weight, axis=0),
                                np.ones(weight.sum()), C, True)  # fmt: skip
    weighted = RidgeGroup.learn(S, targets, weight.astype(float), C, True)
    np.testing.assert_allclose(weighted.scores(X), repeated.scores(X))


@pytest.mark.parametrize("model", BASELINES, ids=lambda m: type(m).__name__)
def test_scores_of_classes(rng, model):
    X, y = leaf_data(rng)
    one = clone(model).set_params(hierarchy=TREE).fit(X, y)
    scores = one.decision_function(X)
    assert scores.shape == (len(X), 3)
    assert (one.classes_[scores.argmax(axis=1)] == one.predict(X)).mean() > 0.9
    two = clone(model).fit(X, np.where(y == "cat", "a/b", "a/c"))
    side = two.decision_function(X)
    assert (two.classes_[(side > 0).astype(int)] == two.predict(X)).all()
    sets = clone(model).set_params(hierarchy=TREE, space="closed").fit(X, [{name} for name in y])
    scores = sets.decision_function(X)
    places = [sets.hierarchy_.nodes.tolist().index(name) for name in sets.classes_]
    np.testing.assert_array_equal(scores, sets.node_scores(X)[:, places])
    if isinstance(one, FlatSVM):
        outputs, values = one.predict_topk(X, k=2)
        assert [row[0] for row in outputs] == one.predict(X).tolist()
        np.testing.assert_array_equal(values, np.sort(one.decision_function(X))[:, :0:-1])
        with pytest.raises(ValueError, match="is for single paths, not for space='closed'"):
            sets.predict_topk(X)


@pytest.mark.parametrize("model", BASELINES, ids=lambda m: type(m).__name__)
def test_thresholds(rng, model):
    """What is kept are the nodes whose scores are above it; of one path the first node always."""
    X, y = leaf_data(rng)
    one = clone(model).set_params(hierarchy=TREE).fit(X, y)
    assert one.predict(X, threshold=-1e9).tolist() == one.predict(X).tolist()
    roots = {name: parent for parent, names in TREE.items() for name in names}
    sure = one.predict(X, threshold=1e9)
    assert sure.tolist() == [roots[name] for name in one.predict(X).tolist()]
    sets = clone(model).set_params(hierarchy=TREE, space="closed").fit(X, [{name} for name in y])
    assert sets.predict(X, threshold=0.0) == sets.predict(X)
    for value in (-0.5, 0.7):
        names = [set(row) for row in sets.predict(X, threshold=value)]
        kept = sets.node_scores(X) > value
        closed = sets.hierarchy_.closures(names)[0].toarray()
        np.testing.assert_array_equal(closed, kept)
    with pytest.raises(TypeError, match="threshold must be a finite number, got 'much'"):
        sets.predict(X, threshold="much")
    with pytest.raises(ValueError, match="threshold must be a finite number, got -inf"):
        sets.predict(X, threshold=-np.inf)


def test_what_is_refused(rng):
    X, y = leaf_data(rng)
    with pytest.raises(ValueError, match="C must be"):
        LocalSVM(C=-1).fit(X, y)
    with pytest.raises(ValueError, match="leverage=False"):
        LocalRidge().fit(sp.random(10, 5000, density=0.1, format="csr"), ["a", "b"] * 5)
    with pytest.raises(ValueError, match="only one class"):
        FlatSVM().fit(X, ["a"] * len(X))

"""Estimators with kernels: a linear one is the model without, and the others are certified."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score

import maxmargin
from maxmargin import GraphSVM, Hierarchy, HierarchySVM, MulticlassSVM, MultilabelSVM, TreeSVM
from maxmargin.features.kernels import Poly, Rbf
from maxmargin.features.strings import SubsequenceKernel
from maxmargin.regularizers import Diagonal

TOL = 1e-7


@pytest.fixture
def plain_python(monkeypatch):
    monkeypatch.setenv("MAXMARGIN_MODE", "python")


def draw(n=14, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(2)
    return X, np.argmax(X @ rng.normal(size=(d, 3)) + 0.3 * rng.normal(size=(n, 3)), axis=1)


def trees(seed=0):
    rng = np.random.default_rng(seed)
    X = [(rng.normal(size=(n, 2)).round(2), [(0, k) for k in range(1, n)]) for n in (2, 4, 3, 3)]
    return X, [(x[0][:, 0] > 0).astype(int) for x in X]


def cases():
    X, y = draw(8)
    sets = np.stack([y == 0, y > 0, X[:, 0] > 0], axis=1).astype(int)
    names = [["r/a", "r/b/c", "r/b/d"][k] for k in y]
    of_trees = trees()
    return {
        "sdca": (MulticlassSVM(solver="sdca"), X, y),
        "bcfw": (MulticlassSVM(solver="bcfw"), X, y),
        "slack": (MulticlassSVM(surrogate="slack", fit_intercept=False), X, y),
        "sparse": (MulticlassSVM(), sp.csr_matrix(X), y),
        "sets": (MultilabelSVM(), X, sets),
        "pairs": (MultilabelSVM(pairwise="full"), X, sets),
        "nodes": (HierarchySVM(separator="/"), X, names),
        "edges": (HierarchySVM(separator="/", model="edges"), X, names),
        "paths": (HierarchySVM(separator="/", model="paths", fit_intercept=False), X, names),
        "trees": (TreeSVM(), *of_trees),
        "own": (GraphSVM(pairs="potts"), *of_trees),
    }


CASES = cases()


def _dense(X):
    return X.toarray() if sp.issparse(X) else X


@pytest.mark.parametrize("name", CASES)
def test_a_linear_kernel_is_the_model_without_one(name, plain_python):
    model, X, y = CASES[name]
    model = clone(model).set_params(tol=TOL, max_iter=400, C=0.2, random_state=0)
    plain = clone(model).fit(X, y)
    kernel = clone(model).set_params(kernel="linear").fit(X, y)
    a, b = plain.result_, kernel.result_
    assert a.status == b.status == "converged"
    # The same optimum, and with it the same weights: |w - w*|^2 <= 2 gap / lam.
    assert abs(a.primal - b.primal) <= max(a.gap, b.gap) <= 1e-6
    assert a.dual <= b.primal and b.dual <= a.primal
    if name not in ("edges", "paths", "trees", "own"):  # which have no scores of rows
        # |w - w*|^2 <= 2 gap / lam, and a score is at most |w| (|x| + 1); lam = 1/(.2 * 8).
        length = np.linalg.norm(_dense(X), axis=1).max() + 1.0
        far = 2.0 * np.sqrt(2.0 * 8 * 0.2 * max(a.gap, b.gap)) * length
        scores = [model.decision_function(X) for model in (plain, kernel)]
        assert np.abs(scores[0] - scores[1]).max() <= 2.0 * far


@pytest.mark.parametrize("name", ["sdca", "pairs", "edges", "trees"])
def test_models_come_back_from_files_with_their_support_alone(name, plain_python, tmp_path):
    model, X, y = CASES[name]
    model = clone(model).set_params(kernel=Rbf(0.4), tol=1e-2, random_state=0).fit(X, y)
    assert model.result_.status == "converged"
    model.save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    for new in (X, X[:3]):
        got, expected = again.predict(new), model.predict(new)
        assert all(np.array_equal(a, b) for a, b in zip(got, expected, strict=True))
    if name == "sdca":
        assert len(again.support_) == again.coef_.shape[1] <= len(X)
        assert again.kernel_.rows.shape == (len(again.support_), X.shape[1])


def test_all_ways_to_name_a_kernel_give_one_model(plain_python):
    X, y = draw(20)
    K, new = rbf_kernel(X, gamma=0.4), draw(5, seed=1)[0]
    shared = {"tol": TOL, "random_state": 0, "max_iter": 400}
    weight = np.linspace(0.5, 2.0, len(X))
    models = [
        (MulticlassSVM(kernel=Rbf(0.4), **shared), X, new),
        (MulticlassSVM(kernel="precomputed", **shared), K, rbf_kernel(new, X, gamma=0.4)),
        (MulticlassSVM(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.4), **shared), X, new),
    ]
    scores = []
    for model, rows, others in models:
        model.fit(rows, y, sample_weight=weight)
        assert model.result_.status == "converged"
        scores.append(model.decision_function(others))
    assert np.allclose(scores[0], scores[1], atol=1e-6)
    assert np.allclose(scores[0], scores[2], atol=1e-6)
    # The certificate holds: coefficients over the rows give |w|^2 and all margins anew.
    model = models[1][0]
    B = model.coef_.T
    S = model.support_
    square = np.sum(B * (K[np.ix_(S, S)] @ B)) + np.sum(model.intercept_**2)
    F = K[:, S] @ B + model.intercept_
    loss = (F + (np.arange(3) != y[:, None])).max(axis=1) - F[np.arange(20), y]
    assert model.result_.primal == pytest.approx(square / (2 * 20) + weight @ loss / 20, rel=1e-9)


@pytest.mark.parametrize("solver", ["sdca", "bcfw"])
def test_a_small_cache_changes_no_bit(solver, plain_python):
    X, y = draw(20)
    X = (4 * X).round()  # products of integers are exact in whatever order they are added
    kernel = Poly(2, gamma=1.0)
    shared = {"kernel": kernel, "solver": solver, "random_state": 0, "max_iter": 6, "C": 0.01}
    whole = MulticlassSVM(**shared).fit(X, y)
    with pytest.warns(UserWarning, match="holds 3 of its columns"):
        small = MulticlassSVM(cache_size=3 * 8 * 20 / 1e6, **shared).fit(X, y)
    assert np.array_equal(whole.coef_, small.coef_)
    assert whole.result_.n_iter == small.result_.n_iter


def test_compiled_passes_do_what_python_does():
    X, y = draw(20)
    shared = {"kernel": "rbf", "random_state": 0, "tol": 1e-4}
    model = MulticlassSVM(n_jobs=2, **shared).fit(X, y)
    assert model.result_.status == "converged"
    small = MulticlassSVM(cache_size=8 * 8 * 20 / 1e6, **shared)
    with pytest.warns(UserWarning, match="holds 8"):
        small.fit(X, y)
    assert small.result_.dual <= model.result_.primal + 1e-12
    assert np.allclose(small.coef_, model.coef_, atol=1e-9)


def test_strings_and_lists_of_anything(plain_python, tmp_path):
    strings = ["gattaca", "attagat", "tagatta", "ccgcggc", "gccgcgg", "cggcgcc"]
    y = ["at"] * 3 + ["gc"] * 3
    model = MulticlassSVM(kernel=SubsequenceKernel(p=3), random_state=0).fit(strings, y)
    assert model.predict(["gattag", "cgcgcc"]).tolist() == ["at", "gc"]
    model.save(tmp_path / "strings.mm")
    assert maxmargin.load(tmp_path / "strings.mm").predict(["ttagat"]).tolist() == ["at"]
    with pytest.raises(TypeError, match=r"X\[0\] must be a string, got int"):
        model.predict([3])
    sets = [frozenset("ab"), frozenset("ac"), frozenset("xy"), frozenset("xz")]

    def common(A, B):
        return [[len(a & b) for b in B] for a in A]

    of_sets = MulticlassSVM(kernel=common, random_state=0).fit(sets, [0, 0, 1, 1])
    assert of_sets.predict([frozenset("bc"), frozenset("yz")]).tolist() == [0, 1]
    with pytest.raises(TypeError, match=r"common.*cannot be stored"):
        of_sets.save(tmp_path / "sets.mm")


def test_what_does_not_go_together_is_refused_by_name(plain_python):
    X, y = draw()
    K = X @ X.T
    for model, rows, message in [
        (MulticlassSVM(kernel="rbf", solver="one_slack"), X,
         "OneSlack needs features in rows.*Solvers that fit: bcfw, sdca"),
        (MulticlassSVM(kernel="rbf", solver="sgd"), X, "Solvers that fit: bcfw, sdca"),
        (MulticlassSVM(kernel="rbf", regularizer=Diagonal([1, 2, 3])), X, "a kernel knows none"),
        (MulticlassSVM(kernel="precomputed"), K[:5, :], "must be the square matrix|labels|samples"),
        (MulticlassSVM(kernel="rbf", cache_size=1e-5), X, "too small for one column.*112 bytes"),
        (MulticlassSVM(kernel="rbf", cache_size=0), X, "cache_size"),
        (HierarchySVM(kernel="rbf", alpha="shared"), X, "takes no kernel"),
        (MulticlassSVM(kernel="tanh"), X, "kernel='tanh' is not known"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            model.fit(rows, y)
    with pytest.raises(ValueError, match="kernel='rbf' does not go with ProgramLabels"):
        MultilabelSVM(kernel="rbf", inference="program", pairwise="full").fit(
            X, np.eye(14, 3, dtype=int)
        )
    dag = Hierarchy.from_edges([("d", "b"), ("d", "c"), ("e", "c"), ("f", "b")])
    sets = [("d",), ("e",), ("f",)]
    with pytest.raises(ValueError, match=r"kernel='rbf' does not go with .*PathSets"):
        HierarchySVM(hierarchy=dag, space="paths", kernel="rbf").fit(X[:3], sets)
    with pytest.raises(ValueError, match="compares no rows of features, which nodes have"):
        TreeSVM(kernel="precomputed").fit(*trees())
    fitted = MulticlassSVM(kernel="precomputed", random_state=0).fit(K, y)
    with pytest.raises(ValueError, match=r"must have 14 columns.*got shape \(14, 13\)"):
        fitted.predict(K[:, 1:])
    with pytest.raises(ValueError, match="nan for the rows 0 and"):
        fitted.predict(np.full((1, 14), np.nan))


def test_cross_validation_takes_rows_and_columns_of_a_gram_matrix(plain_python):
    X, y = draw(18)
    y = np.arange(18) % 2
    X[:, 0] += 3.0 * y
    scores = [
        cross_val_score(MulticlassSVM(kernel=kernel, random_state=0), rows, y, cv=2)
        for kernel, rows in (("linear", X), ("precomputed", X @ X.T))
    ]
    assert np.allclose(*scores, atol=0.12)  # both within tol of one optimum


def test_damaged_kernels_in_files_are_refused(plain_python):
    X, y = draw()
    model = MulticlassSVM(kernel="rbf", random_state=0).fit(X, y)
    meta, arrays = model.to_state()
    for change, message in [
        ({"name": "tanh"}, "must be one of 'linear'"),
        ({"parameters": {"gamma": "scale"}}, "gamma too"),
        ({"parameters": {"gamma": -1.0}}, "gamma must be"),
        ({"n_train": 2}, "kernel.support"),
    ]:
        fitted = {**meta["fitted"], "kernel": {**meta["fitted"]["kernel"], **change}}
        with pytest.raises(ValueError, match=message):
            MulticlassSVM.from_state({**meta, "fitted": fitted}, dict(arrays))
    for name, array in [
        ("kernel.rows", arrays["kernel.rows"][:, :2]),
        ("kernel.rows", np.full_like(arrays["kernel.rows"], np.nan)),
        ("kernel.support", arrays["kernel.support"][1:]),
    ]:
        with pytest.raises(ValueError, match=r"kernel\.rows"):
            MulticlassSVM.from_state(meta, {**arrays, name: array})


def test_paths_and_warm_starts(plain_python):
    X, y = draw(20)
    y = np.minimum(y, 1)
    model = MulticlassSVM(kernel="rbf", random_state=0, tol=1e-4)
    path = model.path(X, y, [0.1, 1.0], cv=2)
    assert path.scores.shape == (2, 2)
    assert [each.result_.status for each in path.estimators] == ["converged"] * 2
    warm = clone(model).set_params(warm_start=True).fit(X, y)
    first = warm.result_
    assert warm.fit(X, y).result_.n_iter <= first.n_iter
    with pytest.warns(UserWarning, match="starting anew"):
        warm.fit(X[::-1], y[::-1])
    assert warm.result_.status == "converged"

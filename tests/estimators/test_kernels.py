"""Estimators with kernels: a linear one is the model without, and the others are certified."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score

import maxmargin
from maxmargin import (
    GraphSVM,
    Hierarchy,
    HierarchySVM,
    MulticlassSVM,
    MultilabelSVM,
    StructuredSVM,
    TreeSVM,
)
from maxmargin.estimators.structured import STORED, register_structure
from maxmargin.features.kernels import Poly, Rbf
from maxmargin.features.strings import SubsequenceKernel
from maxmargin.regularizers import Diagonal
from maxmargin.structures import chain_data, chain_layout
from maxmargin.testing import check_structure, tiny_problem
from maxmargin.testing.tiny import Agreement
from maxmargin.training.automatic import settle
from maxmargin.training.settings import check_settings
from maxmargin.training.task import Task

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
    with pytest.raises(ValueError, match=r"square matrix of their products; got shape \(12, 2\)"):
        TreeSVM(kernel="precomputed").fit(*trees())
    with pytest.raises(TypeError, match=r"nodes of X\[0\]: X\[0\] must be a string"):
        TreeSVM(kernel="subsequence").fit([([1, 2], [(0, 1)])], [[0, 1]])
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


def test_paths_take_rows_and_columns_of_a_gram_matrix(plain_python):
    X, _ = draw(18)
    y = np.arange(18) % 2
    X[:, 0] += 3.0 * y
    K = X @ X.T
    for make, products, labels in [
        (MulticlassSVM, K, y),
        (MultilabelSVM, K.tolist(), np.stack([y, 1 - y], axis=1)),
        (HierarchySVM, K, [("a", "b")[k] for k in y]),
    ]:
        given, computed = (
            make(kernel=kernel, random_state=0, tol=1e-3).path(rows, labels, [0.1], cv=3)
            for kernel, rows in (("precomputed", products), ("linear", X))
        )
        assert given.scores.shape == (1, 3)
        assert np.allclose(given.scores, computed.scores, atol=0.2)  # of 6, one may go either way
        assert given.scores.min() > 0.5


def products(graphs, others):
    """Return graphs whose nodes have their products with the nodes of others, one after another."""
    below = np.concatenate([nodes for nodes, _ in others])
    return [(nodes @ below.T, edges) for nodes, edges in graphs]


@pytest.mark.parametrize("estimator", [TreeSVM, GraphSVM])
@pytest.mark.parametrize("unknown", [False, True])
def test_nodes_may_be_products_with_training_nodes(estimator, unknown, plain_python, tmp_path):
    X, y = trees()
    if unknown:
        y = [list(labels) for labels in y]
        y[1][2] = y[3][0] = None
    new, shared = trees(1)[0], {"tol": TOL, "random_state": 0, "max_iter": 400, "C": 0.3}
    linear = estimator(kernel="linear", **shared).fit(X, y)
    given = estimator(kernel="precomputed", **shared).fit(products(X, X), y)
    a, b = linear.result_, given.result_
    assert a.status == b.status == "converged" and abs(a.primal - b.primal) <= max(a.gap, b.gap)
    given.save(tmp_path / "model.mm")
    scores = [linear.predict_marginals(new)] + [
        model.predict_marginals(products(new, X))
        for model in (given, maxmargin.load(tmp_path / "model.mm"))
    ]
    for other in scores[1:]:
        assert all(np.allclose(p, q, atol=1e-2) for p, q in zip(scores[0], other, strict=True))
    paths = [
        model.path(rows, y, [0.1, 1.0], cv=2).scores
        for model, rows in ((linear, X), (given, products(X, X)))
    ]
    assert np.allclose(*paths, atol=0.2)
    with pytest.raises(ValueError, match="expected 12"):
        given.predict(products(new, X[:2]))


def test_nodes_may_be_strings(plain_python, tmp_path):
    words = [["gattaca", "ccgcggc"], ["attagat", "tagatta", "gccgcgg"], ["cggcgcc"]]
    edges = [[(0, 1)], [(0, 1), (1, 2)], []]
    y = [[0, 1], [0, 0, 1], [1]]
    X = list(zip(words, edges, strict=True))
    kernel = SubsequenceKernel(p=2)
    model = TreeSVM(kernel=kernel, random_state=0, tol=1e-4).fit(X, y)
    flat = [word for own in words for word in own]
    given = TreeSVM(kernel="precomputed", random_state=0, tol=1e-4)
    given.fit([(kernel(own, flat), each) for own, each in X], y)
    assert model.result_.dual <= given.result_.primal + 1e-9
    assert given.result_.dual <= model.result_.primal + 1e-9
    assert [labels.tolist() for labels in model.predict(X)] == y
    model.save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    assert again.predict([(["gattag", "cgcgcc"], [(0, 1)])])[0].tolist() == [0, 1]
    import networkx as nx

    graph = nx.Graph()
    graph.add_node("a", features="gattag")
    graph.add_node("b", features="cgcgcc")
    graph.add_edge("a", "b")
    assert again.predict([graph])[0].tolist() == [0, 1]


def test_held_out_rows_of_a_gram_matrix_are_products_with_the_training_rows(plain_python):
    X, _ = draw(18)
    y = np.arange(18) % 2
    X[:, 0] += 3.0 * y
    model = MulticlassSVM(kernel="precomputed", random_state=0)
    for held_out in (X[:6] @ X.T, X @ X.T):
        labels = y[: len(held_out)]
        model.fit(X @ X.T, y, eval_set=(held_out, labels), patience=2)
        assert max(record.validation_score for record in model.result_.history) > 0.5
    with pytest.raises(ValueError, match=r"eval_set: .*must have 18 columns"):
        model.fit(X @ X.T, y, eval_set=(X[:6] @ X[:6].T, y[:6]))


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


# -- structures of one's own ---------------------------------------------------------------------


class Tags:
    """A tag for every row: rows in plain Python, with or without a kernel."""

    n_columns = 3

    def rows(self, x):
        return np.asarray(x)

    def parts(self, y):
        return list(enumerate(y))

    def outputs(self, x):
        return list(itertools.product(range(3), repeat=len(x)))

    def cost(self, y, y_true):
        return float(sum(a != b for a, b in zip(y, y_true, strict=True)))

    def maximize(self, x, scores, y_true, score_scale, cost_scale):
        assert not scores.flags.writeable and scores.shape == (len(x), 3)
        values = score_scale * scores
        if y_true is not None:
            values = values + cost_scale * (np.arange(3) != np.array(y_true)[:, None])
        return tuple(np.argmax(values, axis=1).tolist())

    def parameters(self):
        return {}


class Chains:
    """Chains of the registry, whose positions are the rows."""

    classes = (0, 1, 2)

    def rows(self, X):
        return np.concatenate(X)

    def data(self, X, Y, rows):
        offsets = np.concatenate([[0], np.cumsum([len(x) for x in X])])
        labels = np.zeros(offsets[-1], int) if Y is None else np.concatenate(Y)
        return chain_data(rows, offsets, labels, chain_layout(rows.shape[1], 3))

    def decode(self, data, i, cells):
        return tuple(cells.tolist())

    def parameters(self):
        return {}


def tagged(n=6, seed=0):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(k, 2)).round(2) for k in rng.integers(1, 4, size=n)]
    return X, [tuple((np.digitize(x[:, 0] + 0.3 * x[:, 1], [-0.5, 0.5])).tolist()) for x in X]


OWN = {"python": (Tags(), None), "registry": (Chains(), "hamming")}


@pytest.mark.parametrize("solver", ["bcfw", "sdca"])
@pytest.mark.parametrize("kind", OWN)
def test_own_structures_take_a_linear_kernel_as_the_model_without(kind, solver, plain_python):
    structure, cost = OWN[kind]
    X, Y = tagged()
    shared = {"cost": cost, "solver": solver, "tol": TOL, "max_iter": 600, "random_state": 0}
    plain = StructuredSVM(structure, C=0.3, **shared).fit(X, Y)
    kernel = StructuredSVM(structure, C=0.3, kernel="linear", **shared).fit(X, Y)
    a, b = plain.result_, kernel.result_
    assert a.status == b.status == "converged"
    assert abs(a.primal - b.primal) <= max(a.gap, b.gap) <= 1e-6
    assert a.dual <= b.primal and b.dual <= a.primal
    # The weights of features are the rows times their coefficients: the first block of w.
    rows = np.concatenate(X)[kernel.support_]
    found = rows.T @ kernel.coef_[: 3 * len(rows)].reshape(-1, 3)
    expected = plain.coef_[:6].reshape(2, 3)
    assert np.linalg.norm(found - expected) <= 2.0 * np.sqrt(2 * 0.3 * 6 * (a.gap + b.gap))
    assert kernel.coef_.size == plain.coef_.size + 3 * (len(rows) - 2)


@pytest.mark.parametrize("kind", OWN)
def test_own_structures_with_kernels_predict_and_come_back_from_files(kind, plain_python, tmp_path):
    structure, cost = OWN[kind]
    X, Y = tagged(9)
    new = tagged(4, seed=5)[0]
    models = [
        StructuredSVM(structure, cost=cost, kernel=each, C=10, tol=1e-2, random_state=0).fit(X, Y)
        for each in (Rbf(0.5), lambda A, B: rbf_kernel(A, B, gamma=0.5))
    ]
    assert all(each.result_.status == "converged" for each in models)
    assert models[0].predict(new) == models[1].predict(new)
    assert models[0].score(X, Y, sample_weight=np.arange(1, 10)) > 0.8
    register_structure(type(structure))
    try:
        models[0].save(tmp_path / "own.mm")
        again = maxmargin.load(tmp_path / "own.mm")
    finally:
        STORED.pop(type(structure).__name__)
    assert again.predict(new) == models[0].predict(new)
    with pytest.raises(ValueError, match=r"have 2 features, as at fit; got rows of shape \(3, 5\)"):
        again.predict([np.zeros((3, 5))])
    assert again.kernel_.rows.shape == (len(again.support_), 2)


@pytest.mark.parametrize("kind", OWN)
def test_own_structures_with_kernels_go_on_from_the_last_fit(kind, plain_python):
    structure, cost = OWN[kind]
    X, Y = tagged(9)
    model = StructuredSVM(structure, cost=cost, kernel=Rbf(0.5), tol=1e-3, random_state=0)
    path = model.path(X, Y, [0.1, 1.0], cv=2)
    assert [each.result_.status for each in path.estimators] == ["converged"] * 2
    warm = clone(model).set_params(warm_start=True).fit(X, Y)
    first = warm.result_
    again = warm.fit(X, Y).result_  # without a word of other data
    assert first.status == again.status == "converged" and again.n_iter <= first.n_iter


def test_rows_of_anything_and_sparse_rows(plain_python):
    class Words(Tags):
        n_columns = 2

        def rows(self, x):
            return x.split()

        def maximize(self, x, scores, y_true, score_scale, cost_scale):
            values = score_scale * scores
            if y_true is not None:
                values = values + cost_scale * (np.arange(2) != np.array(y_true)[:, None])
            return tuple(np.argmax(values, axis=1).tolist())

    X, Y = ["aab abb", "xyy aaa xxy"], [(0, 0), (1, 0, 1)]
    model = StructuredSVM(Words(), kernel=SubsequenceKernel(p=2), random_state=0).fit(X, Y)
    assert model.predict(["yyx bab"]) == [(1, 0)]

    class Sparse(Tags):
        def rows(self, x):
            return sp.csr_matrix(x)

    X, Y = tagged()
    dense, sparse = (
        StructuredSVM(each, tol=1e-6, max_iter=400, random_state=0).fit(X, Y)
        for each in (Tags(), Sparse())
    )
    assert np.allclose(dense.coef_, sparse.coef_, atol=1e-12)
    check_structure(Tags(), X[:2], Y[:2], compile=False)


def test_own_structures_that_take_no_kernel_are_refused_by_name(plain_python):
    X, Y = tagged()

    class Rowless(Chains):
        rows = None

    class Partless:
        n_columns, rows, maximize, cost = 3, Tags.rows, Tags.maximize, Tags.cost

    class Wrong(Tags):
        def parts(self, y):
            return [(len(y), 0)]

    class Twice(Tags):
        def parts(self, y):
            return [(0, 0), (0, 0)]

    for structure, options, error, message in [
        (
            Rowless(),
            {"kernel": "rbf"},
            ValueError,
            "kernel='rbf' compares rows, but Rowless has no",
        ),
        (Agreement(3, 2), {"kernel": "rbf"}, ValueError, "but Agreement has no method rows"),
        (Partless(), {}, TypeError, "but Partless has no parts"),
        (Tags(), {"kernel": "tanh"}, ValueError, "kernel='tanh' is not known"),
        (Tags(), {"kernel": "rbf", "cache_size": 0}, ValueError, "cache_size"),
        (Tags(), {"kernel": "rbf", "solver": "sgd"}, ValueError, "Solvers that fit: bcfw, sdca"),
        (Tags(), {"surrogate": "slack", "search": "angular"}, ValueError, "Tags"),
        (Tags(), {"regularizer": Diagonal(np.ones(6))}, ValueError, "but Tags has rows"),
        (Wrong(), {}, ValueError, r"pairs of a row, 0 to \d, and a column, 0 to 2"),
        (Twice(), {}, ValueError, "must name no part twice"),
    ]:
        with pytest.raises(error, match=message):
            StructuredSVM(structure, **options).fit(X, Y)
    view = tiny_problem("ranking").view
    ranked = Task(view.data, view.cost, 4, np.ones(4))
    learner = StructuredSVM(Tags(), kernel="linear", solver="bcfw")
    with pytest.raises(ValueError, match="kernel='linear' does not go with RankingData"):
        settle(learner, check_settings(learner), ranked)
    with pytest.raises(ValueError, match=r"nan"):
        StructuredSVM(Tags(), kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, Y)

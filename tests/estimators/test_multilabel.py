"""MultilabelSVM: its optimum, every way of inference, predictions of all kinds, and bad input."""

from __future__ import annotations

import pickle
import warnings
from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin
from maxmargin import Checkpoint, MulticlassSVM, MultilabelSVM
from maxmargin.costs import ClassWeighted, CostMatrix, Hamming
from maxmargin.datasets import make_label_sets
from maxmargin.metrics import macro_f1, micro_f1

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

TREE = [(0, 1), (1, 2), (1, 3)]


def svm(**params):
    return MultilabelSVM(**{"random_state": 0, "tol": 1e-2, **params})


@pytest.fixture(scope="module")
def data():
    drawn = make_label_sets(120, n_features=4, n_labels=4, random_state=1)
    return drawn.X_train, drawn.y_train, drawn.X_test, drawn.y_test


@pytest.fixture(scope="module")
def independent(data):
    return svm().fit(*data[:2])


@pytest.fixture(scope="module")
def tree(data):
    return svm(pairwise=TREE).fit(*data[:2])


@pytest.fixture(scope="module")
def listed(data):
    return svm(pairwise="full").fit(*data[:2])


def all_scores(model, X):
    """Return all label sets, and their scores in every row."""
    outputs = np.array(list(product((0, 1), repeat=len(model.classes_))))
    places = [[model.classes_.tolist().index(label) for label in edge] for edge in model.edges_]
    both = [outputs[:, a] * outputs[:, b] for a, b in places]
    unary = X @ model.coef_.T + model.intercept_
    return outputs, unary @ outputs.T + np.array(both).reshape(-1, len(outputs)).T @ model.pairwise_


# -- scikit-learn --------------------------------------------------------------------------------


def indicator(y):
    """Return the classes that scikit-learn's checks have as label sets of one label each."""
    if y is None:
        return None
    y = np.asarray(y).reshape(-1, 1)
    return (y == np.unique(y)).astype(int)


class OfClasses(MultilabelSVM):
    """scikit-learn's checks give y as one column of classes, which is no indicator matrix."""

    def fit(self, X, y, sample_weight=None):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*are nowhere o", UserWarning)
            return super().fit(X, indicator(y), sample_weight=sample_weight)

    def score(self, X, y, sample_weight=None):
        return super().score(X, indicator(y), sample_weight=sample_weight)


_NOT_EXACT = "equal optima, but a fit ends within tol of the optimum, not within 1e-7"
_ONE_COLUMN = "expects the shape of its one column of classes, not that of the indicator matrix"
EXPECTED_FAILURES = {
    "check_estimator_sparse_array": _ONE_COLUMN,
    "check_estimator_sparse_matrix": _ONE_COLUMN,
    "check_sample_weight_equivalence_on_dense_data": _NOT_EXACT,
    "check_sample_weight_equivalence_on_sparse_data": _NOT_EXACT,
}


@parametrize_with_checks(
    [OfClasses(random_state=0, max_iter=200)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("as_sets", [False, True])
def test_grid_search(data, as_sets):
    X, Y = data[:2]
    Y = [np.flatnonzero(row).tolist() for row in Y] if as_sets else Y
    grid = {"C": [1e-4, 1.0]}
    search = GridSearchCV(svm(classes=range(4)), grid, cv=3).fit(X, Y)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max() > 0.6


def test_clone_and_pickle(data, independent):
    twin = clone(independent)
    assert not hasattr(twin, "result_") and twin.get_params() == independent.get_params()
    again = pickle.loads(pickle.dumps(independent))
    np.testing.assert_array_equal(again.predict(data[2]), independent.predict(data[2]))


# -- the optimum ---------------------------------------------------------------------------------


def test_without_pairs_it_is_a_linear_machine_a_label(data):
    X, Y = data[:2]
    model = svm(tol=1e-6, max_iter=5000, fit_intercept=False).fit(X, Y)
    for j in range(4):
        peer = LinearSVC(C=1.0, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=10**6)
        peer.fit(X, Y[:, j])
        np.testing.assert_allclose(model.coef_[j], peer.coef_[0], atol=0.02)
    assert model.intercept_.tolist() == [0.0] * 4


@pytest.mark.parametrize("inference", ["tree", "listed", "pairwise", "relaxed"])
def test_inferences_agree_on_a_tree(data, tree, inference):
    model = svm(pairwise=TREE, inference=inference, tol=1e-3).fit(*data[:2])
    assert model.inference_ == inference
    # On a tree the relaxation is exact, and so is the search.
    low, high = tree.result_.dual, tree.result_.primal
    assert model.result_.primal >= low - 1e-9 and model.result_.dual <= high + 1e-9
    assert model.result_.objective == ("relaxed" if inference == "relaxed" else "integral")


def test_a_relaxation_has_the_larger_losses(data, listed):
    model = svm(pairwise="full", inference="relaxed").fit(*data[:2])
    assert model.result_.objective == "relaxed"
    assert model.result_.primal >= listed.result_.dual
    assert set(np.unique(model.predict(data[2]))) <= {0, 1}


def test_programmes_train_as_listing_does(data, listed):
    X, Y = data[:2]
    few = svm(pairwise="full", inference="listed", C=0.1).fit(X[:15], Y[:15])
    model = svm(pairwise="full", inference="program", oracle_time_limit=1e6, C=0.1)
    model.fit(X[:15], Y[:15])
    assert model.result_.primal >= few.result_.dual and model.result_.dual <= few.result_.primal
    assert model.result_.objective == "integral"
    relaxed = svm(pairwise="full", inference="relaxed_program", C=0.1).fit(X[:15], Y[:15])
    assert relaxed.result_.objective == "relaxed"
    assert relaxed.result_.primal >= few.result_.dual


def test_weights_are_repetitions(data, rng):
    X, Y = data[:2]
    weight = rng.integers(0, 3, size=len(Y))
    weighted = svm(tol=1e-6).fit(X, Y, sample_weight=weight)
    repeated = svm(tol=1e-6).fit(X.repeat(weight, axis=0), Y.repeat(weight, axis=0))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=0.05)


@pytest.mark.parametrize("pairwise", ["none", TREE])
def test_unknown_labels_count_for_nothing(data, pairwise, rng):
    X, Y = data[:2]
    partial = np.where(rng.random(Y.shape) < 0.3, -1, Y)
    model = svm(pairwise=pairwise).fit(X, partial)
    assert model.result_.status == "converged" and not (model.predict(X) < 0).any()
    # Whatever an unknown label is, with no edge it is left out of both training and score.
    guess = model.predict(X)
    known = partial >= 0
    share = ((guess != partial) & known).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    expected = 1 - share[known.any(axis=1)].mean()
    assert model.score(X, partial) == pytest.approx(expected)


def test_a_label_never_known_is_not_learnt(data):
    X, Y = data[:2]
    partial = Y.copy()
    partial[:, 2] = -1
    with pytest.warns(UserWarning, match=r"1 label\(s\) are nowhere on in y.*: 2\."):
        model = svm().fit(X, partial)
    assert not model.coef_[2].any() and model.intercept_[2] == 0 and model.missing_labels_ == [2]
    alone = svm().fit(X, Y[:, [0, 1, 3]])
    assert alone.result_.primal == pytest.approx(model.result_.primal, rel=0.02)


def test_a_weight_of_a_label_is_another_C(data):
    X, Y = data[:2]
    cost = ClassWeighted({0: 4.0}, "sum")
    model = svm(tol=1e-6, max_iter=5000, fit_intercept=False, cost=cost).fit(X, Y)
    peer = LinearSVC(C=0.25, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=10**6)
    np.testing.assert_allclose(model.coef_[0], 4 * peer.fit(X, Y[:, 0]).coef_[0], atol=0.05)


# -- forms ---------------------------------------------------------------------------------------


def test_y_of_every_form_teaches_the_same(data, independent):
    X, Y, X_test, _ = data
    expected = independent.predict(X_test)
    names = np.array(["a", "b", "c", "d"])
    sets = [{*names[row == 1]} for row in Y]
    of_sets = svm().fit(X, sets)
    np.testing.assert_array_equal(of_sets.coef_, independent.coef_)
    assert of_sets.classes_.tolist() == [*names]
    assert of_sets.predict(X_test) == [tuple(names[row == 1]) for row in expected]
    of_csr = svm(classes=names).fit(X, sp.csr_matrix(Y.astype(bool)))
    found = of_csr.predict(X_test)
    assert sp.issparse(found) and found.dtype == bool
    np.testing.assert_array_equal(found.toarray(), expected)
    # A model of one form is scored on any.
    for truth in (sets, Y, sp.csr_matrix(Y)):
        assert of_sets.score(X, truth) == pytest.approx(independent.score(X, Y))


def test_x_of_every_form(data, independent):
    X, Y, X_test, _ = data
    expected = independent.predict(X_test)
    names = [f"x{j}" for j in range(X.shape[1])]
    rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    for form, test in (
        (sp.csr_matrix(X), sp.csr_matrix(X_test)),
        (rows, [dict(zip(names, row, strict=True)) for row in X_test.tolist()]),
    ):
        model = svm().fit(form, Y)
        assert model.result_.dual <= independent.result_.primal
        assert model.result_.primal >= independent.result_.dual
        assert (model.predict(test) == expected).mean() > 0.9
    words = [["w=a"], ["w=b"], ["w=a", "w=b"], ["w=c"]]
    model = svm(C=100).fit(words, [[1], [2], [1, 2], []])
    assert model.predict(words) == [(1,), (2,), (1, 2), ()]


def test_one_label_and_one_sample():
    with pytest.warns(UserWarning, match="nowhere o"):
        model = svm().fit([[1.0, 2.0]], [["a"]])
    assert model.predict([[1.0, 2.0]]) == [("a",)]
    assert model.decision_function([[1.0, 2.0]]).shape == (1, 1)
    model = svm(pairwise="full").fit([[1.0], [-1.0]], np.array([[1], [0]]))
    assert model.inference_ == "independent" and model.pairwise_.shape == (0,)


def test_no_rows_to_predict_are_refused_as_by_the_others(independent):
    with pytest.raises(ValueError, match="0 sample"):
        independent.predict(np.zeros((0, 4)))


def test_labels_nowhere_on_or_off_are_named_and_handled(data):
    X, Y = data[:2]
    odd = np.column_stack([Y[:, 0], np.zeros(len(Y), int), np.ones(len(Y), int)])
    with pytest.warns(UserWarning, match="nowhere o") as caught:
        model = svm(classes=["a", "b", "c"]).fit(X, odd)
    messages = [str(each.message) for each in caught]
    assert any("nowhere on" in m and "off: 'b'." in m for m in messages)
    assert any("nowhere off" in m and "on: 'c'." in m for m in messages)
    assert model.missing_labels_ == ["b"] and model.universal_labels_ == ["c"]
    guess = model.predict(X)
    assert not guess[:, 1].any() and guess[:, 2].all()


# -- edges ---------------------------------------------------------------------------------------


def test_edges_and_their_weights_go_by_name(data):
    X, Y = data[:2]
    model = svm(pairwise=[("d", "a"), ("b", "c")], classes=list("abcd")).fit(X, Y)
    assert model.edges_.tolist() == [["d", "a"], ["b", "c"]]
    assert model.pairwise_.shape == (2,) and model.inference_ == "tree"
    outputs, scores = all_scores(model, X)
    np.testing.assert_array_equal(model.predict(X), outputs[scores.argmax(axis=1)])


@pytest.mark.parametrize("which", ["independent", "tree", "listed"])
def test_predictions_against_all_label_sets(which, data, request):
    model, X = request.getfixturevalue(which), data[2]
    outputs, scores = all_scores(model, X)
    np.testing.assert_array_equal(model.predict(X), outputs[scores.argmax(axis=1)])
    sets, values = model.predict_topk(X, 3)
    assert sets.shape == (len(X), 3, 4)
    np.testing.assert_allclose(values, -np.sort(-scores, axis=1)[:, :3])
    np.testing.assert_array_equal(sets[:, 0], model.predict(X))
    found = model.decision_function(X)
    for j in range(4):
        on = outputs[:, j] == 1
        expected = scores[:, on].max(axis=1) - scores[:, ~on].max(axis=1)
        np.testing.assert_allclose(found[:, j], expected)
    limits = {"at_least": 1, "at_most": 2, "exclusive": [(0, 1, 2)], "implies": [(3, 1)]}
    good = (outputs.sum(1) >= 1) & (outputs.sum(1) <= 2) & (outputs[:, :3].sum(1) <= 1)
    good &= outputs[:, 3] <= outputs[:, 1]
    best = outputs[np.where(good, scores, -np.inf).argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X, **limits), best)


@pytest.mark.parametrize("which", ["independent", "tree"])
def test_marginals_against_all_label_sets(which, data, request):
    model, X = request.getfixturevalue(which), data[2]
    outputs, scores = all_scores(model, X)
    p = np.exp(scores / 0.5)
    expected = p @ outputs / p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_marginals(X, temperature=0.5), expected)


def test_a_learnt_tree_joins_labels_that_go_together(data):
    X, Y = data[:2]
    Y = np.column_stack([Y[:, 0], Y[:, 1], Y[:, 0], 1 - Y[:, 1]])
    model = svm(pairwise="tree").fit(X, Y)
    edges = {frozenset(edge) for edge in model.edges_.tolist()}
    assert {frozenset({0, 2}), frozenset({1, 3})} <= edges and len(edges) <= 3
    assert model.inference_ == "tree"


def test_topk_has_the_form_of_y(data):
    X, Y = data[:2]
    words = np.array(list("abcd"))
    model = svm().fit(X, [tuple(words[row == 1]) for row in Y])
    sets, scores = model.predict_topk(X[:2], 100)
    assert len(sets) == 2 and len(sets[0]) == 16 and scores.shape == (2, 16)
    assert sets[0][0] == model.predict(X[:1])[0]
    model = svm().fit(X, sp.csr_matrix(Y))
    sets, _ = model.predict_topk(X[:2], 3)
    assert sets[1].shape == (3, 4) and sp.issparse(sets[1])


# -- many labels ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 5))
    Y = (X @ rng.normal(size=(5, 18)) + 0.5 * rng.normal(size=(60, 18)) > 0.5).astype(int)
    return X, Y, svm(pairwise="full", C=0.1, tol=0.1).fit(X, Y)


def test_many_labels_train_relaxed_and_predict_integral(many):
    X, Y, model = many
    assert model.inference_ == "relaxed" and model.result_.objective == "relaxed"
    assert len(model.edges_) == 18 * 17 // 2
    guess = model.predict(X)
    assert guess.shape == Y.shape and set(np.unique(guess)) <= {0, 1}
    # Each label by itself is as the others would have it.
    np.testing.assert_array_equal(model.decision_function(X) > 0, guess == 1)
    assert model.score(X, Y) > 0.7


def test_exact_prediction_is_as_good_or_better(many):
    X, _, model = many
    exact = clone(model).set_params(predict_time_limit=1e6)
    exact.__dict__.update({k: v for k, v in vars(model).items() if k.endswith("_")})
    exact.__dict__.update({k: v for k, v in vars(model).items() if k.startswith("_")})
    places = model.edges_

    def score(cells):
        unary = X[:8] @ model.coef_.T + model.intercept_
        pairs = cells[:, places[:, 0]] * cells[:, places[:, 1]]
        return (unary * cells).sum(axis=1) + pairs @ model.pairwise_

    assert (score(exact.predict(X[:8])) >= score(model.predict(X[:8])) - 1e-9).all()
    limited = model.predict(X[:8], at_most=2)
    assert (limited.sum(axis=1) <= 2).all()


def test_a_time_limit_that_strikes_is_said(many, monkeypatch):
    from maxmargin.inference import Answer, Exactness
    from maxmargin.inference import labels as label_sets

    X, _, model = many
    exact = pickle.loads(pickle.dumps(model)).set_params(predict_time_limit=0.5)

    def struck(unary, *_, time_limit, **__):
        assert time_limit == 0.5
        return Answer(np.zeros(len(unary), dtype=np.int32), 0.0, 2.5, Exactness.RELAXED)

    monkeypatch.setattr(label_sets, "maximize", struck)
    with pytest.warns(UserWarning, match=r"3 of 3 rows reached the time limit of 0.5 s.*most 2.5"):
        assert exact.predict(X[:3]).shape == (3, 18)


def test_what_needs_exact_inference_is_refused_by_name(many, data, listed):
    X, _, model = many
    with pytest.raises(ValueError, match=r"predict_topk needs labels without pairs.*18 labels"):
        model.predict_topk(X)
    with pytest.raises(ValueError, match=r"predict_marginals needs labels without pairs"):
        model.predict_marginals(X)
    with pytest.raises(ValueError, match=r"predict_marginals needs .*4 labels and 6 pairs"):
        listed.predict_marginals(data[0])


# -- thresholds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1"])
@pytest.mark.parametrize("which", ["independent", "tree"])
def test_thresholds(which, metric, data, request):
    measure = {"micro_f1": micro_f1, "macro_f1": macro_f1}[metric]
    X, Y = data[:2]
    model = pickle.loads(pickle.dumps(request.getfixturevalue(which)))
    assert model.thresholds_ is None
    before = model.predict(X)
    assert model.tune_thresholds(X, Y, metric) is model
    after = model.predict(X)
    assert measure(Y, after) >= measure(Y, before)
    np.testing.assert_array_equal(after, model.decision_function(X) > model.thresholds_)
    assert (len(np.unique(model.thresholds_)) == 1) == (metric == "micro_f1")
    assert model.score(X, Y) == pytest.approx((after == Y).mean())
    one = model.predict(X, at_least=1, at_most=1)
    excess = model.decision_function(X) - model.thresholds_
    np.testing.assert_array_equal(one.argmax(axis=1), excess.argmax(axis=1))
    np.testing.assert_array_equal(model.reset_thresholds().predict(X), before)


def test_a_new_fit_forgets_thresholds(data):
    X, Y = data[:2]
    model = svm().fit(X, Y).tune_thresholds(X, Y)
    assert model.thresholds_ is not None and model.fit(X, Y).thresholds_ is None


# -- files, warm starts, batches, paths ----------------------------------------------------------


def test_save_and_load(tmp_path, data):
    X, Y, X_test, _ = data
    sets = [tuple(np.array(list("abcd"))[row == 1]) for row in Y]
    model = svm(pairwise=[("a", "b")], cost=Hamming("mean")).fit(X, sets)
    model.tune_thresholds(X, sets, "macro_f1").save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    assert again.predict(X_test) == model.predict(X_test)
    np.testing.assert_array_equal(again.thresholds_, model.thresholds_)
    for name in ("coef_", "intercept_", "pairwise_", "edges_", "classes_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    assert again.get_params() == model.get_params() and again.inference_ == "tree"
    assert again.missing_labels_ == [] and again.universal_labels_ == []
    assert again.score(X, sets) == model.score(X, sets)


def test_a_checkpoint_resumes(tmp_path, data):
    X, Y = data[:2]
    path = tmp_path / "run.ckpt"
    svm(tol=1e-6, max_iter=3).fit(X, Y, callbacks=[Checkpoint(path, 1)])
    resumed = svm(tol=1e-6, max_iter=8).fit(X, Y, resume=path)
    whole = svm(tol=1e-6, max_iter=8).fit(X, Y)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)


def test_warm_start_goes_on(data):
    X, Y = data[:2]
    model = svm(warm_start=True, tol=1e-3).fit(X, Y)
    n_first = model.result_.n_oracle_calls
    assert model.set_params(C=1.1).fit(X, Y).result_.n_oracle_calls < n_first
    with pytest.warns(UserWarning, match="classes or features differ"):
        model.set_params(pairwise=TREE).fit(X, Y)


def test_partial_fit(data):
    X, Y, X_test, Y_test = data
    model = svm(solver="sgd")
    with pytest.raises(ValueError, match="classes must be given"):
        model.partial_fit(X[:20], Y[:20], n_total=len(Y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a batch need not have every label
        model.partial_fit(X[:1], Y[:1], classes=range(4), n_total=len(Y))
    assert model.missing_labels_ == np.flatnonzero(Y[0] == 0).tolist()
    for _ in range(5):
        for first in range(0, len(Y), 30):
            part = slice(first, first + 30)
            model.partial_fit(X[part], Y[part], n_total=len(Y))
    assert model.missing_labels_ == [] and model.universal_labels_ == []
    assert model.score(X_test, Y_test) > 0.6


@pytest.mark.parametrize("form", ["dense", "csr", "sets"])
def test_path(data, form):
    X, Y = data[:2]
    forms = {"dense": Y, "csr": sp.csr_matrix(Y), "sets": [np.flatnonzero(y).tolist() for y in Y]}
    path = svm().path(X, forms[form], [0.01, 1.0], cv=3)
    assert path.scores.shape == (2, 3) and path.best_C in (0.01, 1.0)
    assert path.best_estimator.score(X, Y) > 0.6


def test_eval_set_and_patience(data):
    X, Y, X_test, Y_test = data
    model = svm(tol=0.0, max_iter=30).fit(X, Y, eval_set=(X_test, Y_test), patience=2)
    best = max(record.validation_score for record in model.result_.history)
    assert model.score(X_test, Y_test) == pytest.approx(best)


# -- bad input: one message each -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "Y", "message"),
    [
        ({"cost": "f1"}, [[0], [], [1]], "sample 1 has an empty truth under F1"),
        ({"cost": "f1", "pairwise": "full"}, [[0], [], [1]], "sample 1 has an empty truth"),
        (
            {"cost": "f1", "pairwise": "full"},
            np.eye(3, 17, dtype=int),
            r"cost='f1' with edges .* 17 labels.*The surrogate MicroF1",
        ),
        (
            {"cost": "zero_one", "pairwise": "full"},
            np.eye(3, 17, dtype=int),
            "inference='relaxed' has no oracle for the cost ZeroOne",
        ),
        ({"classes": [0, 1]}, [[0], [1], [1, 7]], r"y\[2\] has the label 7, which is none of"),
        ({"pairwise": [(0, 9)]}, [[0], [1], [0, 1]], r"pairwise\[0\] names the label 9, which is"),
        ({"pairwise": "star"}, [[0], [1], []], "pairwise='star' is not known"),
        ({"inference": "magic"}, [[0], [1], []], "inference='magic' is not known"),
        (
            {"cost": CostMatrix(1 - np.eye(2))},
            [[0], [1], []],
            "CostMatrix is no cost of label sets",
        ),
        ({"cost": ClassWeighted({"x": 2.0})}, [[0], [1], []], "x"),
        ({"solver": "simplex"}, [[0], [1], []], "solver='simplex' is not known"),
        ({"surrogate": "micro_f1", "cost": "zero_one"}, [[0], [1], []], "has a cost of its own"),
        ({"predict_time_limit": -1.0}, [[0], [1], []], "predict_time_limit must be a number > 0"),
        ({"search": "angular", "surrogate": "slack"}, [[0], [1], []], "needs the oracle"),
        ({"oracle_time_limit": 0}, [[0], [1], []], "oracle_time_limit must be a number > 0"),
    ],
)
def test_bad_input_is_refused(params, Y, message):
    with pytest.raises(ValueError, match=message):
        svm(**params).fit(np.arange(6.0).reshape(3, 2), Y)


def test_bad_questions_are_refused(data, independent):
    X = data[0]
    ask = independent.predict
    for options, error, message in [
        ({"exclusive": [(0, 9)]}, ValueError, r"exclusive\[0\] names the label 9"),
        ({"implies": [(0, 1, 2)]}, ValueError, r"implies\[0\] must be a pair of labels"),
        ({"implies": 3}, TypeError, "implies must be a list"),
        ({"at_least": 5}, ValueError, "at_least is 5, but there are 4 label"),
        ({"at_least": 2, "at_most": 1}, ValueError, "at_most is 1, less than at_least"),
        ({"at_least": 1.5}, TypeError, "at_least"),
        (
            {"at_least": 4, "exclusive": [(0, 1)]},
            ValueError,
            r"X\[0\]: at_least is 4, but exclusive .*leave at most 3",
        ),
    ]:
        with pytest.raises(error, match=message):
            ask(X, **options)
    with pytest.raises(ValueError, match="k must be an integer >= 1"):
        independent.predict_topk(X, 0)
    with pytest.raises(ValueError, match="temperature must be a number > 0"):
        independent.predict_marginals(X, temperature=0.0)
    with pytest.raises(ValueError, match="metric='f2' is not known"):
        independent.tune_thresholds(X, data[1], "f2")
    with pytest.raises(ValueError, match="3 columns but there are 4 classes"):
        independent.score(X, np.zeros((len(X), 3)))
    with pytest.raises(ValueError, match="y has no known label in a sample of positive weight"):
        independent.score(X, -np.ones((len(X), 4)))
    with pytest.raises(ValueError, match="X has 3 features, but MultilabelSVM is expecting 4"):
        independent.predict(X[:, :3])
    with pytest.raises(TypeError, match="X has dictionaries of features, but MultilabelSVM was"):
        independent.predict([{"a": 1.0}])


@pytest.mark.parametrize(
    "method",
    ["predict", "decision_function", "predict_topk", "predict_marginals", "reset_thresholds"],
)
def test_before_fit_nothing_works(method):
    arguments = () if method == "reset_thresholds" else ([[1.0]],)
    with pytest.raises(NotFittedError):
        getattr(svm(), method)(*arguments)


def test_a_failed_fit_leaves_the_model_as_it_was(data):
    X, Y, X_test, _ = data
    model = svm().fit(X, Y).tune_thresholds(X, Y)
    before = model.predict(X_test)
    with pytest.raises(ValueError, match="nothing to learn from"):
        model.fit(X[:, :2], Y[:, :2], sample_weight=np.zeros(len(X)))
    np.testing.assert_array_equal(model.predict(X_test), before)


def test_other_estimators_refuse_the_surrogate_of_label_sets():
    with pytest.raises(ValueError, match=r"is for label sets \(Multi.* and sequences"):
        MulticlassSVM(surrogate="micro_f1", solver="bcfw").fit([[0.0], [1.0]], [0, 1])


def test_all_pairs_of_labels_are_edges():
    pairs = [list(pair) for pair in combinations("abc", 2)]
    X, Y = np.eye(3), [["a"], ["b"], ["c"]]
    assert svm(pairwise="full").fit(X, Y).edges_.tolist() == pairs

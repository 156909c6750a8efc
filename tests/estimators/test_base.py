"""What all estimators share: parameters, warm starts, checkpoints, paths, files; on classes."""

from __future__ import annotations

import importlib
import inspect
import io
import itertools
import math
import re
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import accuracy_score, balanced_accuracy_score, make_scorer
from sklearn.model_selection import KFold, cross_val_score

import maxmargin
from maxmargin import (
    ChainSVM,
    Checkpoint,
    MulticlassSVM,
    MultilabelSVM,
    RankingSVM,
    StructuredSVM,
)
from maxmargin.core.contract import workspace
from maxmargin.core.predict import best_outputs, predict_examples
from maxmargin.core.problem import lam_from_C
from maxmargin.costs import Cost, CostMatrix
from maxmargin.estimators.face import BESIDE, WORDS
from maxmargin.inputs.checks import unknown
from maxmargin.inputs.request import Request
from maxmargin.persistence import read
from maxmargin.solvers import SOLVERS, BlockFrankWolfe
from maxmargin.solvers.blocks.dual import primal_weights
from maxmargin.surrogates import MarginRescaling
from maxmargin.training.progress import ProgressLine
from maxmargin.training.settings import generator
from maxmargin.training.warm import digest
from tests.helpers import PLAIN_SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 4))
    W = rng.normal(size=(4, 3))
    return X, (X @ W + rng.normal(size=(60, 3))).argmax(axis=1)


def svm(**params):
    return MulticlassSVM(**{"random_state": 0, "tol": 1e-2, "C": 0.1, **params})


def refit_problem(model, X, y):
    """The problem that a fit of this model solves, made anew."""
    training = clone(model)._encode(Request(X, y), reset=True)
    return training.problem(MarginRescaling(), lam_from_C(model.C, len(X)))


# -- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"C": -1.0}, ValueError, r"C must be a number > 0 and finite, got -1.0"),
        ({"C": 0}, ValueError, r"C must be a number > 0"),
        ({"C": math.inf}, ValueError, r"C must be .* finite"),
        ({"C": "1"}, TypeError, r"C must be a number > 0, got '1'"),
        ({"tol": -0.1}, ValueError, r"tol must be a number >= 0"),
        ({"max_iter": 0}, ValueError, r"max_iter must be an integer >= 1"),
        ({"max_iter": 2.5}, TypeError, r"max_iter must be an integer >= 1, got 2.5"),
        ({"time_budget": 0.0}, ValueError, r"time_budget must be a number > 0"),
        ({"n_jobs": 0}, ValueError, r"n_jobs must be None or an integer other than 0"),
        ({"random_state": "x"}, TypeError, r"random_state must be"),
        ({"random_state": -3}, ValueError, r"random_state must be >= 0"),
        ({"cost": "haming"}, ValueError, r"cost='haming' is not known. There are: 'hamming'"),
        ({"cost": "matrix"}, ValueError, r"pass cost=CostMatrix\(\.\.\.\)"),
        ({"cost": 3}, TypeError, r"cost must be a name .* or a maxmargin.costs.Cost, got 3"),
        ({"surrogate": "hinge"}, ValueError, r"surrogate='hinge' is not known"),
        ({"solver": "smo"}, ValueError, r"solver='smo' is not known. There are: 'auto', 'bcfw'"),
        ({"solver": BlockFrankWolfe}, TypeError, r"solver must .* got the class BlockFrankWolfe"),
    ],
)
def test_bad_parameters_are_refused_before_any_work(data, params, error, message):
    with pytest.raises(error, match=message):
        svm(**params).fit(*data)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"patience": 0}, ValueError, r"patience must be an integer >= 1"),
        ({"patience": 3}, ValueError, r"patience needs an eval_set"),
        ({"callbacks": [3]}, TypeError, r"callbacks\[0\] must be callable, got 3"),
        ({"eval_set": 3}, TypeError, r"eval_set must be a pair \(X, y\), got int"),
        ({"eval_set": ([], [], [])}, TypeError, r"must be a pair \(X, y\), got tuple of 3"),
        ({"qid": [1]}, TypeError, r"qid= is not known here. Besides X and y there is: nothing"),
    ],
)
def test_bad_arguments_of_fit_are_refused_before_any_work(data, arguments, error, message):
    with pytest.raises(error, match=message):
        svm().fit(*data, **arguments)


def test_common_parameters_are_seen_in_signatures_and_words():
    for kind in (ChainSVM, MulticlassSVM, MultilabelSVM, RankingSVM, StructuredSVM):
        shown = inspect.signature(kind).parameters
        assert list(shown) == [*inspect.signature(kind.__init__).parameters][1:]
        assert set(WORDS) <= set(shown) == set(kind().get_params())
        for name, parameter in shown.items():
            assert getattr(kind(), name) is parameter.default
            assert re.search(rf"^(\w+, )*{name}(, \w+)* : ", inspect.getdoc(kind), re.M), name
    with pytest.raises(TypeError, match="MulticlassSVM has no parameter 'Cs'"):
        MulticlassSVM(Cs=3)


def test_every_method_takes_what_is_said_beside_X():
    for kind in (ChainSVM, MulticlassSVM, MultilabelSVM, RankingSVM, StructuredSVM):
        for name in ("fit", "partial_fit", "path", "score", "predict", "predict_topk",
                     "predict_marginals", "decision_function", "rank"):  # fmt: skip
            if not hasattr(kind, name):
                continue
            method = getattr(kind, name)
            shown = inspect.signature(method).parameters
            assert "beside" not in shown and "Y" not in shown
            assert [each for each in shown if each in BESIDE] == list(kind.beside)
            assert all(f"\n{each} : " in inspect.getdoc(method) for each in kind.beside)


def test_a_solver_that_needs_convexity_refuses_a_surrogate_without(data):
    class Bent(MarginRescaling):
        is_convex = False

    message = (
        r"BlockFrankWolfe needs a loss that is convex, which Bent does not provide. "
        r"Solvers that fit: .*sgd"
    )
    with pytest.raises(ValueError, match=message):
        svm(surrogate=Bent(), solver="bcfw").fit(*data)


def test_unknown_lists_what_there_is():
    assert str(unknown("cost", "x", {"a": 1, "b": 2})).endswith("There are: 'a', 'b'.")


def test_random_state_of_every_kind_repeats():
    for make in (lambda: 3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)):
        assert generator(make()).random() == generator(make()).random()


def test_objects_and_names_mean_the_same(data):
    by_name = svm(cost="zero_one", surrogate="margin", solver="bcfw").fit(*data)
    table = CostMatrix(1.0 - np.eye(3))
    by_object = svm(cost=table, surrogate=MarginRescaling(), solver=BlockFrankWolfe()).fit(*data)
    np.testing.assert_allclose(by_name.coef_, by_object.coef_, atol=1e-9)


# -- result --------------------------------------------------------------------------------------


def test_result_is_a_certificate(data):
    model = svm(tol=1e-3).fit(*data)
    result = model.result_
    assert result.status == "converged" and 0 <= result.relative_gap <= 1e-3
    problem = refit_problem(model, *data)
    assert problem.primal(result.w) == pytest.approx(result.primal, rel=1e-12)
    assert model.n_iter_ == result.n_iter == len(result.history)


def test_stopping_early_warns_with_gap_tolerance_and_remedy(data):
    with pytest.warns(ConvergenceWarning, match=r"gap .* above tol=1e-09: scale the features"):
        model = svm(C=100.0, tol=1e-9, max_iter=2).fit(*data)
    assert model.result_.status == "max_iter"


def test_keyboard_interrupt_returns_the_best_so_far(data):
    def press(event):
        if event.record.pass_ == 2:
            raise KeyboardInterrupt

    model = svm(tol=0.0).fit(*data, callbacks=[press])
    assert model.result_.status == "interrupted" and model.result_.n_iter == 2
    assert model.predict(data[0]).shape == (60,)


def test_callback_can_stop(data):
    model = svm(tol=0.0).fit(*data, callbacks=[lambda event: event.record.pass_ == 3])
    assert model.result_.n_iter == 3


def test_n_jobs_changes_nothing(data, rng):
    X = rng.normal(size=(700, 4))
    one, two = svm(n_jobs=1).fit(*data), svm(n_jobs=2).fit(*data)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    encoded = one._encode_inputs(Request(X))
    free = one._prediction_cost(encoded)
    outputs = [best_outputs(encoded, one.result_.w, free, n_jobs=n)[0] for n in (1, 2, 5)]
    np.testing.assert_array_equal(outputs[0], outputs[1])
    np.testing.assert_array_equal(outputs[0], outputs[2])


def test_compiled_and_python_prediction_agree(data):
    model = svm().fit(*data)
    training = model._encode(Request(*data), reset=False)
    free = model._prediction_cost(training.data)
    outputs, costs = best_outputs(training.data, model.result_.w, free, training.cost)
    slow, slow_costs = np.zeros_like(outputs), np.zeros(60)
    places = np.arange(61)
    room = *workspace(training.data), np.zeros(1, dtype=np.int32)
    predict_examples(
        training.data, free, training.cost, 0, 60, model.result_.w, *room, slow, places, slow_costs
    )
    np.testing.assert_array_equal(outputs, slow)
    np.testing.assert_array_equal(costs, slow_costs)
    np.testing.assert_array_equal(costs, (outputs != data[1]).astype(float))


def test_verbose_writes_the_standard_line(data, capsys):
    svm(verbose=1).fit(*data)
    captured = capsys.readouterr()
    head, *lines = captured.err.splitlines()
    assert captured.out == ""
    assert head.split()[:4] == ["pass", "primal", "dual", "rel."]
    assert lines[0].split()[0] == "1" and len(lines[0].split()) == 6


def test_progress_line_of_every_pass(data):
    stream = io.StringIO()
    model = svm(tol=0.0, max_iter=7)
    model.fit(*data, callbacks=[ProgressLine(every_pass=True, stream=stream)])
    assert len(stream.getvalue().splitlines()) == 8


def test_a_failed_fit_leaves_the_model_as_it_was(data):
    X, y = data
    model = svm().fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(np.ones((60, 9)), np.zeros(60))
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(model.predict(X), before)


def test_predict_before_fit():
    with pytest.raises(NotFittedError):
        svm().predict([[1.0]])
    with pytest.raises(NotFittedError):
        svm().save("nowhere.mm")


# -- held-out examples ---------------------------------------------------------------------------


def test_eval_set_is_scored_after_each_pass(data, rng):
    X, y = data
    model = svm().fit(X[:40], y[:40], eval_set=(X[40:], y[40:]))
    scores = [record.validation_score for record in model.result_.history]
    assert len(scores) == model.n_iter_ and all(0 <= score <= 1 for score in scores)


def test_patience_keeps_the_weights_that_scored_best(data):
    X, y = data
    model = svm(tol=0.0, C=10.0, max_iter=500)
    model.fit(X[:40], y[:40], eval_set=(X[40:], y[40:]), patience=3)
    scores = [record.validation_score for record in model.result_.history]
    assert model.result_.status == "patience"
    assert model.score(X[40:], y[40:]) == max(scores)
    assert len(scores) == int(np.argmax(scores)) + 1 + 3


def test_eval_set_with_an_unknown_label(data):
    X, y = data
    with pytest.raises(ValueError, match=r"y\[0\] is 7, a label never seen at fit"):
        svm().fit(X, y, eval_set=(X[:1], [7]))
    with pytest.raises(TypeError, match="eval_set must be a pair"):
        svm().fit(X, y, eval_set=[X, y])


def test_eval_set_as_a_list_of_one_pair(data):
    X, y = data
    held_out = X[40:], y[40:]
    plain, listed = (svm().fit(X[:40], y[:40], eval_set=each) for each in (held_out, [held_out]))
    scores = [[r.validation_score for r in m.result_.history] for m in (plain, listed)]
    assert scores[0] == scores[1]
    with pytest.raises(ValueError, match="eval_set holds 2 pairs"):
        svm().fit(X, y, eval_set=[held_out, (X, y)])


def balanced(estimator, X, y):
    return balanced_accuracy_score(y, estimator.predict(X))


@pytest.mark.parametrize(
    ("scoring", "name"),
    [
        ("balanced_accuracy", "balanced_accuracy"),
        (balanced, "balanced"),
        (make_scorer(balanced_accuracy_score), "balanced_accuracy_score"),
    ],
)
def test_scoring_says_what_held_out_examples_are_scored_by(data, scoring, name):
    X, y = data
    model = svm(tol=0.0, C=10.0, max_iter=50, scoring=scoring)
    model.fit(X[:40], y[:40], eval_set=(X[40:], y[40:]), patience=2)
    scores = [record.validation_score for record in model.result_.history]
    assert model.result_.validation_measure == name
    assert balanced(model, X[40:], y[40:]) == pytest.approx(max(scores))


def test_without_scoring_held_out_examples_are_scored_by_score(data, tmp_path):
    X, y = data
    assert svm().fit(X, y).result_.validation_measure == ""
    model = svm(scoring=balanced).fit(X, y)
    with pytest.warns(UserWarning, match="does not hold scoring: a callable is code"):
        model.save(tmp_path / "a.mm")
    assert maxmargin.load(tmp_path / "a.mm").scoring is None
    assert svm().fit(X, y, eval_set=(X, y)).result_.validation_measure == "accuracy"
    matrix = CostMatrix(1.0 - np.eye(3))
    assert svm(cost=matrix).fit(X, y, eval_set=(X, y)).result_.validation_measure == "1 - cost"


@pytest.mark.parametrize(
    ("scoring", "error", "message"),
    [
        ("chunk_f1", ValueError, "scoring='chunk_f1' is not known. There are: the names of"),
        (3, TypeError, "scoring must be None, the name of a measure or a callable"),
        (lambda estimator, X, y: None, ValueError, "must return a number, got None"),
        (accuracy_score, ValueError, "make_scorer"),
    ],
)
def test_bad_scoring(data, scoring, error, message):
    with pytest.raises(error, match=message):
        svm(scoring=scoring).fit(*data, eval_set=data)


def test_a_checkpoint_is_of_one_scoring(data, tmp_path):
    path = tmp_path / "run.mm"
    first = svm(scoring=balanced, max_iter=3, tol=0.0)
    first.fit(*data, eval_set=data, callbacks=[Checkpoint(path, every=1)])
    with pytest.raises(ValueError, match="other parameters: scoring="):
        svm(tol=0.0, max_iter=5).fit(*data, eval_set=data, resume=path)
    svm(tol=0.0, max_iter=5, scoring=balanced).fit(*data, eval_set=data, resume=path)


def test_progress_lines_name_the_measure_and_come_with_news(data):
    X, y = data
    stream = io.StringIO()
    model = svm(tol=0.0, max_iter=40)
    model.fit(X[:40], y[:40], eval_set=(X[40:], y[40:]), callbacks=[ProgressLine(stream=stream)])
    lines = stream.getvalue().splitlines()[1:]
    best, expected = -1.0, []
    for record in model.result_.history:
        if record.validation_score > best or not np.isnan(record.primal):
            expected.append(record.pass_)
        best = max(best, record.validation_score)
    assert [int(line.split()[0]) for line in lines] == expected and len(expected) < 40
    assert all(
        f"accuracy {r.validation_score:.4f}" in line
        for r, line in zip([model.result_.history[p - 1] for p in expected], lines, strict=True)
    )
    assert lines[0].endswith("(best)")


# -- warm start ----------------------------------------------------------------------------------


def sum_of_blocks(solver, problem, state):
    """w as its definition says, from the coefficients of the dual."""
    if solver == "bcfw":
        return primal_weights(problem, state.blocks)
    X = problem.view.data.features.values
    inputs = np.column_stack([X, np.ones(len(X))])  # the bias is the last row of W
    return -(inputs.T @ state.beta).ravel() / (problem.lam * len(X))


@pytest.mark.parametrize("solver", ["bcfw", "sdca"])
def test_warm_start_on_the_same_data_keeps_the_dual(data, solver):
    X, y = data
    params = {"tol": 0.0, "max_iter": 2, "solver": solver, "C": 1.0}
    model = svm(warm_start=True, **params).fit(X, y)
    first = model.result_
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X.copy(), y.copy())
    state = model._memory.state
    problem = refit_problem(model, X, y)
    np.testing.assert_allclose(state.w, sum_of_blocks(solver, problem, state), atol=1e-12)
    assert model.result_.dual >= first.dual - 1e-12
    cold = svm(**params).fit(X, y)
    assert model.result_.dual > cold.result_.dual


@pytest.mark.parametrize("solver", ["bcfw", "sdca"])
def test_warm_start_at_another_C_keeps_the_coefficients(data, solver):
    X, y = data
    model = svm(warm_start=True, solver=solver, tol=1e-3).fit(X, y)
    model.set_params(C=0.11, tol=1e9, max_iter=1).fit(X, y)
    problem = refit_problem(model, X, y)
    state = model._memory.state
    np.testing.assert_allclose(state.w, sum_of_blocks(solver, problem, state), atol=1e-12)
    cold = svm(C=0.11, tol=1e9, max_iter=1, solver=solver).fit(X, y)
    assert model.result_.relative_gap < 0.5 * cold.result_.relative_gap


def test_warm_start_on_other_data_keeps_w_and_says_so(data):
    X, y = data
    model = svm(warm_start=True).fit(X, y)
    with pytest.warns(UserWarning, match="The data differ .* w is kept, the dual restarts"):
        model.fit(X[:50], y[:50])
    with pytest.warns(UserWarning, match="The data differ"):
        model.fit(X[:50], y[:50], sample_weight=np.full(50, 2.0))
    with pytest.warns(UserWarning, match="The solver differs"):
        model.set_params(solver="sgd", max_iter=2).fit(X[:50], y[:50])
    with pytest.warns(UserWarning, match="The classes or features differ"):
        model.fit(X[:50, :2], y[:50])
    assert model.coef_.shape == (3, 2)


def test_what_is_kept_of_other_data_is_what_a_fit_falls_back_on(data):
    X, y = data
    model = svm(warm_start=True, tol=1e-5, C=1.0, solver="sdca").fit(X, y)
    kept = model.result_.w
    with pytest.warns(UserWarning, match="The data differ"):
        model.set_params(max_iter=1).fit(X + 1e-6, y)
    # One pass from w = 0 is not as good as weights that were all but right.
    np.testing.assert_array_equal(model.result_.w, kept)
    cold = svm(C=1.0, solver="sdca", max_iter=1).fit(X + 1e-6, y).result_
    assert model.result_.primal < cold.primal
    assert model.result_.primal == pytest.approx(refit_problem(model, X + 1e-6, y).primal(kept))


def test_without_warm_start_nothing_is_kept(data):
    assert svm().fit(*data)._memory is None


def test_digest_tells_arrays_apart():
    a = np.arange(6.0)
    values = [a, a.reshape(2, 3), a.astype(np.float32), a + 1, (a, a), [a, a], "a", 1, 1.0, None]
    assert len({digest(value) for value in values}) == len(values)
    assert digest((a, "x", {"b": 1})) == digest((a.copy(), "x", {"b": 1}))


# -- online --------------------------------------------------------------------------------------


def test_partial_fit_only_with_online_solvers(data):
    assert not hasattr(svm(), "partial_fit")
    message = (
        r"MulticlassSVM has no partial_fit with solver 'auto'.*: 'sgd', 'perceptron', 'mira'\."
    )
    with pytest.raises(AttributeError, match=message):
        svm().partial_fit(*data)
    assert "one pass over a batch" in MulticlassSVM.partial_fit.__doc__


def test_partial_fit_of_all_the_data_is_one_pass_of_fit(data):
    X, y = data
    once = svm(solver="sgd").partial_fit(X, y, classes=[0, 1, 2], n_total=60)
    fitted = svm(solver=SOLVERS["sgd"](average=True), max_iter=1).fit(X, y)
    averaged = fitted._online.solver.iterates(None, fitted._online.state)[0][0]
    np.testing.assert_array_equal(once.result_.w, averaged)
    assert once.result_.n_oracle_calls >= 60


def test_partial_fit_goes_on(data):
    X, y = data
    model = svm(solver="perceptron")
    for first in range(0, 60, 20):
        model.partial_fit(X[first : first + 20], y[first : first + 20], classes=[0, 1, 2])
    assert model.n_iter_ == 3 and len(model.result_.history) == 3
    for _ in range(30):
        model.partial_fit(X, y)
    assert model.score(X, y) > 0.6
    w = model.result_.w.copy()
    model.partial_fit(X[:1], y[:1], sample_weight=[2.0])
    assert np.abs(model.result_.w - w).max() < np.abs(w).max()


def test_partial_fit_after_fit_keeps_the_weights(data, tmp_path):
    X, y = data
    model = svm(solver="sgd", max_iter=50).fit(X, y)
    w = model.result_.w.copy()
    model.partial_fit(X[:1], y[:1], n_total=60)
    assert np.abs(model.result_.w - w).max() < 0.1 * np.abs(w).max()
    model.save(tmp_path / "m.mm")
    again = maxmargin.load(tmp_path / "m.mm").partial_fit(X[:1], y[:1], lam=1.0)
    assert again.n_iter_ == 52


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "classes must be given"),
        ({"classes": [0, 1, 2]}, "needs the regularisation: give partial_fit lam, or n_total"),
        ({"classes": [0, 1, 2], "lam": 0.1, "n_total": 3}, "lam or n_total, not both"),
        ({"classes": [0, 1, 2], "lam": -0.1}, "lam must be a number > 0"),
        ({"classes": [0, 1, 2], "n_total": 0}, "n_total must be an integer >= 1"),
        ({"classes": [0, 1], "lam": 1.0}, r"is 2, a label never seen"),
    ],
)
def test_partial_fit_says_what_it_misses(data, arguments, message):
    X, y = data
    arguments = arguments or {"lam": 1.0}
    with pytest.raises(ValueError, match=message):
        svm(solver="sgd").partial_fit(X, y, **arguments)


def test_partial_fit_with_other_classes(data):
    X, y = data
    model = svm(solver="sgd").partial_fit(X, y, classes=[0, 1, 2], lam=1.0)
    with pytest.raises(ValueError, match=r"classes are \[0, 1\] but were \[0, 1, 2\] before"):
        model.partial_fit(X, y, classes=[0, 1], lam=1.0)


# -- path ----------------------------------------------------------------------------------------


def test_path_reuses_the_dual(data):
    X, y = data
    Cs = [1.0, 0.01, 0.1]
    model = svm(tol=1e-3)
    path = model.path(X, y, Cs)
    assert path.Cs.tolist() == [0.01, 0.1, 1.0] and path.best_C is None
    assert not hasattr(model, "result_")
    for C, result, fitted in zip(path.Cs, path.results, path.estimators, strict=True):
        alone = svm(C=C, tol=1e-3).fit(X, y)
        assert result.relative_gap <= 1e-3 and fitted.C == C
        # Both are certified, so that each is above the other's lower bound.
        assert result.primal >= alone.result_.dual and alone.result_.primal >= result.dual
        np.testing.assert_array_equal(fitted.coef_.T.ravel(), result.w[: fitted.coef_.size])
    cold = svm(C=1.0, tol=1e-3).fit(X, y).result_
    assert path.results[-1].history[0].dual > cold.history[0].dual


def test_path_chooses_by_cross_validation(data):
    X, y = data
    Cs = [0.01, 0.1]
    path = svm(tol=1e-5).path(X, y, Cs, cv=3)
    for C, scores in zip(path.Cs, path.scores, strict=True):
        alone = cross_val_score(svm(C=C, tol=1e-5), X, y, cv=3)
        # The same optimum, found to tol: a sample on the border may fall on either side.
        np.testing.assert_allclose(scores, alone, atol=0.1)
    best = Cs[int(np.argmax(path.mean_scores))]
    assert path.best_C == best and best == path.best_estimator.C
    by_name = svm().path(X, y, Cs, cv=KFold(2), scoring="balanced_accuracy")
    assert by_name.scores.shape == (2, 2)


@pytest.mark.parametrize("Cs", [[], [1.0, -2.0]])
def test_path_checks_Cs(data, Cs):
    with pytest.raises(ValueError, match="Cs"):
        svm().path(*data, Cs)


def test_path_folds_know_all_labels(data):
    X, y = data
    y = np.where(np.arange(60) == 0, 9, y)  # in one fold only
    path = svm().path(X, y, [0.01, 0.1], cv=KFold(3))
    assert path.scores.shape == (2, 3) and np.isfinite(path.scores).all()
    assert path.estimators[0].classes is None


def test_path_ends_where_it_is_interrupted(data):
    n_passes = []

    def interrupt(event):
        n_passes.append(event.record.pass_)
        if len(n_passes) == 4:
            raise KeyboardInterrupt

    params = {"tol": 0.0, "max_iter": 3}
    path = svm(**params).path(*data, [0.01, 0.1, 1.0], cv=3, callbacks=[interrupt])
    assert [result.status for result in path.results] == ["max_iter", "interrupted"]
    assert path.Cs.tolist() == [0.01, 0.1] and len(path.estimators) == 2
    assert path.scores is None and len(n_passes) == 4


def test_path_interrupted_in_a_fold_keeps_the_folds_that_are_complete(data):
    n_passes = []

    def interrupt(event):
        n_passes.append(event.record.pass_)
        if len(n_passes) == 11:  # 2 Cs of 2 passes, on all examples and on each of three folds
            raise KeyboardInterrupt

    params = {"tol": 0.0, "max_iter": 2}
    path = svm(**params).path(*data, [0.01, 0.1], cv=3, callbacks=[interrupt])
    assert len(path.results) == 2 and path.scores.shape == (2, 1) and len(n_passes) == 11


# -- files ---------------------------------------------------------------------------------------


def test_save_and_load_in_a_fresh_process(data, tmp_path):
    X, y = data
    path = tmp_path / "model.mm"
    model = svm(cost=CostMatrix(2.0 - 2.0 * np.eye(3)), solver=BlockFrankWolfe(cache=1)).fit(X, y)
    model.save(path)
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, numpy as np, maxmargin\n"
        "model = maxmargin.load(sys.argv[1])\n"
        "np.save(sys.argv[3], model.decision_function(np.load(sys.argv[2])))\n"
    )
    arguments = [str(path), str(tmp_path / "X.npy"), str(tmp_path / "out.npy")]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), model.decision_function(X))

    again = maxmargin.load(path)
    assert again.get_params()["solver"] == BlockFrankWolfe(cache=1)
    assert again.cost == model.cost
    assert repr(again.result_.history) == repr(model.result_.history)  # NaN is not equal to NaN
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_what_cannot_be_stored_is_named(data, tmp_path):
    class OwnCost(Cost):
        def positions(self, names, sizes):
            return CostMatrix(1.0 - np.eye(len(names))).positions(names, sizes)

    model = svm(cost=OwnCost()).fit(*data)
    with pytest.raises(TypeError, match="OwnCost is not in the registry of costs"):
        model.save(tmp_path / "model.mm")
    assert list(tmp_path.iterdir()) == []


def test_generators_in_a_file(data, tmp_path):
    rng = np.random.default_rng(5)
    svm(random_state=rng).fit(*data).save(tmp_path / "m.mm")
    again = maxmargin.load(tmp_path / "m.mm")
    assert again.random_state.random() == rng.random()


# -- checkpoints ---------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", sorted(PLAIN_SOLVERS))
def test_a_resumed_run_ends_where_it_would_have(data, tmp_path, solver):
    X, y = data
    path = tmp_path / "run.mm"
    params = {"solver": solver, "tol": 1e-6, "C": 1.0}
    whole = svm(**params, max_iter=30).fit(X, y, eval_set=(X, y))
    svm(**params, max_iter=5).fit(X, y, eval_set=(X, y), callbacks=[Checkpoint(path, every=2)])
    assert read(path, kind="checkpoint").meta["run"]["n_passes"] == 5
    resumed = svm(**params, max_iter=30).fit(X, y, eval_set=(X, y), resume=path)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    np.testing.assert_array_equal(resumed.intercept_, whole.intercept_)
    assert resumed.n_iter_ == whole.n_iter_
    assert resumed.result_.n_oracle_calls == whole.result_.n_oracle_calls
    ours = [(r.pass_, r.validation_score) for r in resumed.result_.history]
    assert ours == [(r.pass_, r.validation_score) for r in whole.result_.history]


@pytest.mark.parametrize("solver", sorted(PLAIN_SOLVERS))
def test_a_pass_that_is_cut_short_is_not_in_the_checkpoint(data, tmp_path, monkeypatch, solver):
    X, y = data
    path = tmp_path / "run.mm"
    params = {"solver": solver, "tol": 0.0, "C": 1.0}
    whole = svm(**params, max_iter=9).fit(X, y)
    advance, n_passes = SOLVERS[solver].advance, itertools.count(1)

    def advance_or_interrupt(self, problem, state, rng):
        progress = advance(self, problem, state, rng)
        if next(n_passes) == 4:
            raise KeyboardInterrupt  # the arrays are no longer those of the pass before
        return progress

    with monkeypatch.context() as patch:
        patch.setattr(SOLVERS[solver], "advance", advance_or_interrupt)
        stopped = svm(**params, max_iter=9).fit(X, y, callbacks=[Checkpoint(path, every=100)])
    assert stopped.result_.status == "interrupted"
    assert read(path, kind="checkpoint").meta["run"]["n_passes"] == stopped.n_iter_ == 3
    resumed = svm(**params, max_iter=9).fit(X, y, resume=path)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    assert resumed.n_iter_ == whole.n_iter_


def test_a_checkpoint_is_written_when_time_is_up(data, tmp_path, monkeypatch):
    path = tmp_path / "run.mm"
    looks = itertools.count()  # a clock that tells a second more at every look
    clock = SimpleNamespace(perf_counter=lambda: float(next(looks)))
    monkeypatch.setattr(importlib.import_module("maxmargin.solvers.loop"), "time", clock)
    late = svm(tol=0.0, time_budget=40.0).fit(*data, callbacks=[Checkpoint(path, every=1000)])
    assert late.result_.status == "time_budget"
    assert read(path, kind="checkpoint").meta["run"]["n_passes"] == late.n_iter_ >= 1


@pytest.mark.parametrize("every", [1, 1000])
def test_resuming_a_run_that_was_over_changes_nothing(data, tmp_path, every):
    X, y = data
    path = tmp_path / "run.mm"
    whole = svm().fit(X, y, callbacks=[Checkpoint(path, every=every)])
    resumed = svm().fit(X, y, resume=path)
    assert whole.result_.status == resumed.result_.status == "converged"
    assert resumed.n_iter_ == whole.n_iter_
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)


def test_a_checkpoint_is_refused_elsewhere(data, tmp_path):
    X, y = data
    path = tmp_path / "run.mm"
    model = svm(max_iter=3).fit(X, y, callbacks=[Checkpoint(path, every=1)])
    with pytest.raises(ValueError, match=r"other parameters: C=0.1 there, 0.2 here"):
        svm(C=0.2).fit(X, y, resume=path)
    with pytest.raises(ValueError, match="on other data"):
        svm().fit(X + 1.0, y, resume=path)
    with pytest.raises(ValueError, match="on other data"):
        svm().fit(X, y + 5, resume=path)
    with pytest.raises(FileNotFoundError):
        svm().fit(X, y, resume=tmp_path / "nothing.mm")
    model.save(tmp_path / "model.mm")
    with pytest.raises(ValueError, match="holds a model, but a checkpoint is expected"):
        svm().fit(X, y, resume=tmp_path / "model.mm")
    with pytest.raises(ValueError, match="every must be an integer >= 1"):
        Checkpoint(path, every=0)


def test_a_checkpoint_compares_numbers_by_value(data, tmp_path):
    path = tmp_path / "run.mm"
    svm(C=1, max_iter=2).fit(*data, callbacks=[Checkpoint(path, every=1)])
    for C in (1.0, np.float32(1.0), np.int64(1)):
        svm(C=C).fit(*data, resume=path)
    with pytest.raises(ValueError, match="other parameters: fit_intercept"):
        svm(C=1, fit_intercept=False).fit(*data, resume=path)


def test_a_checkpoint_is_refused_with_another_eval_set(data, tmp_path):
    X, y = data
    path = tmp_path / "run.mm"
    model = svm(max_iter=2)
    model.fit(X[:40], y[:40], eval_set=(X[40:], y[40:]), callbacks=[Checkpoint(path, every=1)])
    for other in (None, (X[41:], y[41:]), (X[40:], y[:20])):
        with pytest.raises(ValueError, match="another eval_set"):
            svm().fit(X[:40], y[:40], eval_set=other, resume=path)
    svm().fit(X[:40], y[:40], eval_set=(X[40:].tolist(), y[40:].tolist()), resume=path)

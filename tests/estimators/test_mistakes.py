"""Mistakes that newcomers make, and that errors name: what is wrong, where, and what to do."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, make_scorer

from maxmargin import ChainSVM, MulticlassSVM, MultilabelSVM, RankingSVM
from maxmargin.solvers import SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ROWS = np.random.default_rng(0).normal(size=(12, 3))
CLASSES = np.arange(12) % 2
SETS = np.stack([CLASSES, 1 - CLASSES], axis=1)


class Frame:
    """As much of a data frame as is looked at."""

    def __init__(self, **columns):
        self._values = np.array(list(columns.values()), dtype=object).T
        self.columns = list(columns)
        self.shape = self._values.shape

    def __len__(self):
        return len(self._values)

    def __getitem__(self, row):
        return Frame(**dict(zip(self.columns, self._values[[row]].T, strict=True)))

    def __array__(self, dtype=None, copy=None):
        return self._values.astype(dtype or self._values.dtype)


def frames():
    yield Frame
    for name in ("pandas", "polars"):
        try:
            library = __import__(name)
        except ImportError:
            continue
        yield lambda lib=library, **columns: lib.DataFrame(columns)


# -- columns of text -------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", list(frames()))
@pytest.mark.parametrize(
    ("estimator", "Y"),
    [
        (MulticlassSVM(), CLASSES),
        (MultilabelSVM(), SETS),
        (RankingSVM(), CLASSES),
    ],
    ids=["classes", "sets", "ranking"],
)
def test_a_column_of_text_is_named(estimator, Y, frame):
    table = frame(age=ROWS[:, 0], city=["3", *["Oslo"] * 11])
    wanted = r"X has 'Oslo' in row 1 of column 'city', where numbers are expected. Encode that"
    with pytest.raises(ValueError, match=wanted):
        estimator.fit(table, Y)
    fitted = estimator.fit(frame(age=ROWS[:, 0], city=ROWS[:, 1]), Y)
    with pytest.raises(ValueError, match=wanted):
        fitted.predict(table)
    with pytest.raises(ValueError, match=f"eval_set: {wanted}"):
        estimator.fit(frame(age=ROWS[:, 0], city=ROWS[:, 1]), Y, eval_set=(table, Y))


@pytest.mark.parametrize("frame", list(frames()))
@pytest.mark.parametrize("estimator", [ChainSVM(), RankingSVM()], ids=["chain", "ranking"])
def test_a_column_of_text_is_named_in_lists_of_frames(estimator, frame):
    good = frame(age=[1.0, 2.0], city=[0.0, 3.0])
    bad = frame(age=[1.0, 2.0], city=[0.0, "Oslo"])
    with pytest.raises(ValueError, match=r"X\[1\] has 'Oslo' in row 1 of column 'city'"):
        estimator.fit([good, bad], [[0, 1], [1, 0]])


def test_a_frame_is_no_list_of_sequences():
    with pytest.raises(TypeError, match=r"X must be a list of sequences, got Frame; .* wrap"):
        ChainSVM().fit(Frame(age=[1.0, 2.0]), [[0, 1]])


def test_other_matrices_are_refused_as_before():
    with pytest.raises(ValueError, match="could not convert string"):
        MulticlassSVM().fit(np.array([["a"], ["b"]]), [0, 1])


# -- held-out examples -----------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", [None, "accuracy", make_scorer(accuracy_score)])
def test_errors_about_eval_set_say_so(scoring):
    model = MulticlassSVM(scoring=scoring)
    passes = []
    model.callbacks = [passes.append]
    with pytest.raises(ValueError, match=r"^eval_set: X has 2 features, .* expecting 3 features"):
        model.fit(ROWS, CLASSES, eval_set=(ROWS[:, :2], CLASSES))
    assert not passes
    with pytest.raises(ValueError, match=r"^eval_set: "):
        model.fit(ROWS, CLASSES, eval_set=(ROWS, CLASSES[:5]))


@pytest.mark.parametrize(
    ("estimator", "X", "Y", "held_out", "message"),
    [
        (MulticlassSVM(), ROWS, CLASSES, (ROWS, CLASSES + 7), r"y\[0\] is 7, a label never seen"),
        (MultilabelSVM(), ROWS, SETS, (ROWS[:, :1], SETS), "X has 1 features"),
        (ChainSVM(), [ROWS], [CLASSES], ([ROWS[:, :2]], [CLASSES]), r"X\[0\] has 2 features"),
        (RankingSVM(), ROWS, CLASSES, (ROWS, CLASSES[:3]), "y must have a grade for each of the"),
        (RankingSVM(), ROWS, CLASSES, (ROWS, 0 * CLASSES), "Nothing to score in 1 query"),
    ],
    ids=["classes", "sets", "chain", "ranking", "no relevant document"],
)
def test_every_estimator_names_eval_set(estimator, X, Y, held_out, message):
    with pytest.raises(ValueError, match=f"^eval_set: {message}"):
        estimator.fit(X, Y, eval_set=held_out)


def test_an_eval_set_of_four_is_counted():
    with pytest.raises(TypeError, match=r"eval_set must be a pair \(X, y\), got tuple of 4"):
        MulticlassSVM().fit(ROWS, CLASSES, eval_set=(ROWS, CLASSES, None, None))


# -- costs by the names of measures ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ndcg@5", r"Pass cost=NDCGAtK\(k=5\)\.$"),
        ("NDCG@10", r"Pass cost=NDCGAtK\(k=10\)\.$"),
        ("precision@3", r"Pass cost=PrecisionAtK\(k=3\)\.$"),
        ("map", r"Pass cost='ap'\.$"),
        ("average_precision", r"Pass cost='ap'\.$"),
        ("map@5", r"'precision_at_k'\.$"),
        ("ndcg@0", r"'precision_at_k'\.$"),
    ],
)
def test_a_measure_that_is_no_cost_hints_at_one(name, hint):
    with pytest.raises(ValueError, match=f"cost='{name}' is not known. There are: 'ap', .*{hint}"):
        RankingSVM(cost=name).fit(ROWS, CLASSES)


# -- warm starts in other units --------------------------------------------------------------------


def test_a_warm_start_on_other_data_keeps_the_weights_of_features_as_they_came(monkeypatch):
    """The unit of a feature is its largest value, so other data have other units."""
    model = RankingSVM(solver="sgd", steps=0, warm_start=True, random_state=0, max_iter=3)
    before = model.fit(ROWS, CLASSES).coef_.copy()
    starts, start = [], SOLVERS["sgd"].start
    monkeypatch.setattr(
        SOLVERS["sgd"], "start", lambda *given: [starts.append(given[-1]), start(*given)][1]
    )
    with pytest.warns(UserWarning, match="The data differ from those of the last fit: w is kept"):
        model.fit(ROWS * [1.0, 100.0, 0.25], CLASSES[::-1])
    assert before.any() and len(starts) == 1
    largest = abs(ROWS * [1.0, 100.0, 0.25]).max(axis=0)
    np.testing.assert_allclose(starts[0] / largest, before, rtol=1e-12)


def test_units_too_far_apart_start_anew():
    model = RankingSVM(steps=0, warm_start=True, random_state=0).fit(1e-140 * ROWS, CLASSES)
    with pytest.warns(UserWarning, match="scales of the features differ too much"):
        model.fit(1e170 * ROWS[:, ::-1], CLASSES)
    assert model.result_.status == "converged"

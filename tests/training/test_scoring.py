"""What held-out examples are scored by: one measure with a name, for every kind of estimator."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import r2_score

import maxmargin
from maxmargin import ChainSVM, MultilabelSVM, RankingSVM, metrics
from maxmargin.costs import NDCGAtK
from maxmargin.estimators.chain.scores import chunk_f1_of
from maxmargin.estimators.ranking.scores import cost_called, measure_name
from maxmargin.tags import closest_scheme

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LABELS = ["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "odd"]
TAGS = ["O", "B-X", "I-X"]


def make_tags(seed=0, n=20, tags=TAGS):
    rng = np.random.default_rng(seed)
    Y = [[tags[k] for k in rng.integers(0, len(tags), rng.integers(1, 6))] for _ in range(n)]
    X = [
        np.eye(len(tags))[[tags.index(tag) for tag in y]] + rng.normal(0, 1.0, (len(y), len(tags)))
        for y in Y
    ]
    return X, Y


# -- segments ------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=200)
@given(st.lists(st.lists(st.tuples(*[st.integers(0, 7)] * 2), min_size=1, max_size=7), min_size=1))
def test_fast_f1_is_that_of_the_metrics(sequences):
    """Broken tags of all schemes, and a label that is no tag and counts as O."""
    offsets = np.cumsum([0, *map(len, sequences)])
    truth, guess = ([[LABELS[pair[side]] for pair in s] for s in sequences] for side in (0, 1))
    flat = [label for labels in truth for label in labels]
    classes, codes = np.unique([label for labels in guess for label in labels], return_inverse=True)
    if flat.count("odd") > 0.05 * len(flat):
        with pytest.raises(ValueError, match=r"needs tags such as 'B-NP'.*'odd'"):
            chunk_f1_of(classes, flat, offsets)
        return
    read = [[["O" if tag == "odd" else tag for tag in y] for y in side] for side in (truth, guess)]
    assert chunk_f1_of(classes, flat, offsets)(codes) == pytest.approx(metrics.chunk_f1(*read))


def test_tags_are_scored_by_f1_and_patience_keeps_the_best():
    held_out = make_tags(1)
    model = ChainSVM(tol=0.0, max_iter=50, random_state=0)
    model.fit(*make_tags(), eval_set=[held_out], patience=3)
    scores = [record.validation_score for record in model.result_.history]
    assert model.result_.validation_measure == "chunk_f1"
    assert metrics.chunk_f1(held_out[1], model.predict(held_out[0])) == pytest.approx(max(scores))


def test_held_out_tags_that_training_never_saw_are_missed_segments():
    X, Y = make_tags(1)
    Y[0] = ["B-NEW"] * len(Y[0])
    model = ChainSVM(max_iter=3, random_state=0).fit(*make_tags(), eval_set=(X, Y))
    expected = metrics.chunk_f1(Y, model.predict(X))
    model.set_params().fit(*make_tags(), eval_set=(X, Y), patience=9)
    scores = [record.validation_score for record in model.result_.history]
    assert metrics.chunk_f1(Y, model.predict(X)) == pytest.approx(max(scores))
    assert 0.0 <= expected < 1.0


@pytest.mark.parametrize(
    "name",
    ["chunk_f1", "chunk_precision", "chunk_recall", "entity_f1", "token_accuracy"]
    + ["sequence_accuracy"],
)
@pytest.mark.parametrize("as_function", [False, True])
def test_measures_of_sequences_by_name(name, as_function):
    X, Y = make_tags(1)
    metric = getattr(metrics, name)
    model = ChainSVM(scoring=metric if as_function else name, max_iter=4, tol=0.0)
    model.set_params(random_state=0).fit(*make_tags(), eval_set=(X, Y), patience=2)
    assert model.result_.validation_measure == name
    scores = [record.validation_score for record in model.result_.history]
    scheme = {"scheme": closest_scheme(Y).scheme} if name == "entity_f1" else {}
    assert metric(Y, model.predict(X), **scheme) == pytest.approx(max(scores))


@pytest.mark.parametrize(
    ("cost", "name"), [("hamming", "mean_token_accuracy"), ("zero_one", "sequence_accuracy")]
)
def test_labels_that_are_no_tags_are_scored_by_score(cost, name):
    X, Y = make_tags(1, tags=["DT", "NN", "VB"])
    model = ChainSVM(cost=cost, max_iter=4, tol=0.0, random_state=0)
    model.fit(*make_tags(tags=["DT", "NN", "VB"]), eval_set=(X, Y), patience=2)
    assert model.result_.validation_measure == name
    scores = [record.validation_score for record in model.result_.history]
    assert model.score(X, Y) == pytest.approx(max(scores))


def test_names_that_sequences_do_not_have():
    with pytest.raises(ValueError, match=r"scoring='f2' is not known. There are: 'chunk_f1', .*"):
        ChainSVM(scoring="f2").fit(*make_tags(), eval_set=make_tags(1))
    data = make_tags(tags=["DT", "NN", "VB"])
    with pytest.raises(ValueError, match="scoring='chunk_f1' needs tags"):
        ChainSVM(scoring="chunk_f1").fit(*data, eval_set=data)


# -- label sets and rankings ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["example_accuracy", "example_f1", "macro_f1", "micro_f1", "subset_accuracy"]
)
def test_measures_of_label_sets_by_name(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = (X @ rng.normal(size=(3, 3)) + rng.normal(size=(40, 3)) > 0).astype(int)
    model = MultilabelSVM(scoring=name, max_iter=4, tol=0.0, random_state=0)
    model.fit(X[:30], Y[:30], eval_set=(X[30:], Y[30:]), patience=2)
    scores = [record.validation_score for record in model.result_.history]
    assert model.result_.validation_measure == name
    assert getattr(metrics, name)(Y[30:], model.predict(X[30:])) == pytest.approx(max(scores))
    plain = MultilabelSVM(random_state=0, max_iter=4).fit(X, Y, eval_set=(X, Y))
    assert plain.result_.validation_measure == "1 - hamming_loss"
    last = plain.result_.history[-1].validation_score
    assert 0.0 <= last <= 1.0


def by_hand(estimator, X, y, qid=None):
    return metrics.average_precision(y[qid == 0], estimator.predict(X, qid=qid)[qid == 0])


@pytest.mark.parametrize(
    ("scoring", "name"),
    [(None, "ndcg"), ("ndcg@3", "ndcg@3"), ("auc", "auc"), (by_hand, "by_hand")]
    + [("average_precision", "average_precision"), ("precision@2", "precision@2")],
)
def test_measures_of_rankings_by_name(scoring, name):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(40, 3)), np.repeat(np.arange(8), 5)
    y = np.tile([0, 1, 0, 2, 0], 8)
    held_out = (X[20:], y[20:], qid[20:] - 4)
    model = RankingSVM(scoring=scoring, max_iter=4, tol=0.0, random_state=0)
    model.fit(X[:20], y[:20], qid=qid[:20], eval_set=[held_out], patience=2)
    scores = [record.validation_score for record in model.result_.history]
    assert model.result_.validation_measure == name
    if scoring is by_hand:
        found = by_hand(model, *held_out)
    else:
        report = metrics.ranking_report(
            held_out[1], model.predict(*held_out[:1]), held_out[2], (2, 3)
        )
        if name == "auc":
            two_kinds = (held_out[1] >= 1).astype(int)
            report = metrics.ranking_report(two_kinds, model.predict(held_out[0]), held_out[2])
        found = report.means[name]
    assert found == pytest.approx(max(scores))


def test_costs_and_names_of_ranking_measures():
    for name in ("average_precision", "auc", "ndcg", "ndcg@7", "precision@3"):
        assert measure_name(cost_called(name, None)) == name
    assert cost_called("ndcg@7", NDCGAtK(2, gain="linear")).gain == "linear"
    for name in ("ndcg@0", "ndcg@x", "auc@3", "map", "precision"):
        assert cost_called(name, None) is None
    with pytest.raises(ValueError, match="There are: 'average_precision', 'auc', 'ndcg', 'ndcg@k'"):
        RankingSVM(scoring="map").fit([[1.0], [0.0]], [1, 0])


# -- what else goes by a measure -----------------------------------------------------------------


def rows_of_queries():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(40, 3)) * [1.0, 50.0, 1.0], np.repeat(np.arange(8), 5)
    return X, np.tile([0, 1, 0, 2, 0], 8), qid


@pytest.mark.parametrize("name", ["hamming_error", "sequence_error"])
def test_an_error_is_no_score(name):
    X, Y = [np.eye(2)] * 4, [["a", "b"]] * 4
    tagger = ChainSVM(scoring=getattr(metrics, name))
    with pytest.raises(ValueError, match=f"{name}: smaller is better .* greater_is_better=False"):
        tagger.fit(X, Y, eval_set=(X, Y))


def test_scorers_of_scikit_learn_judge_rankings_by_their_predictions():
    X, y, qid = rows_of_queries()
    model = RankingSVM(scoring="r2", max_iter=3, random_state=0)
    model.fit(X, y, qid=qid, eval_set=(X, y, qid))
    expected = r2_score(y, model.predict(X, qid=qid))
    scores = [record.validation_score for record in model.result_.history]
    assert min(abs(score - expected) for score in scores) < 1e-9


def test_a_path_goes_by_the_measure_that_is_named():
    X, y, qid = rows_of_queries()
    by_parameter = RankingSVM(scoring="ndcg@2", max_iter=3, random_state=0)
    by_argument = RankingSVM(max_iter=3, random_state=0)
    first = by_parameter.path(X, y, [0.1, 1.0], cv=2, qid=qid).scores
    second = by_argument.path(X, y, [0.1, 1.0], cv=2, qid=qid, scoring="ndcg@2").scores
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, by_argument.path(X, y, [0.1, 1.0], cv=2, qid=qid).scores)


@pytest.mark.parametrize("normalize", ["maxabs", "standard"])
def test_rows_that_lost_their_queries_are_noted(normalize, tmp_path):
    X, y, qid = rows_of_queries()
    model = RankingSVM(normalize_queries=normalize, max_iter=2, tol=0.9, random_state=0).fit(
        X, y, qid=qid
    )
    model.save(tmp_path / "a.mm")
    for known in (model, maxmargin.load(tmp_path / "a.mm")):
        with pytest.warns(UserWarning, match="X has no qid, so its 40 rows are taken as one query"):
            known.score(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            known.score(X, y, qid=qid)
            known.predict(X, qid=qid)

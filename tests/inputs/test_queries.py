"""Frames of other libraries, and paths over rows whose queries are given by qid."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from maxmargin import RankingSVM
from maxmargin.datasets import make_rankings

DATA = make_rankings(n_queries=16, n_documents=(5, 9), n_features=3, grades=3, random_state=2)
X, Y, QID = DATA.X_train, DATA.y_train, DATA.extra["qid_train"]
QUERIES = [np.flatnonzero(q == QID) for q in dict.fromkeys(QID.tolist())]
LISTS = [X[own] for own in QUERIES], [Y[own] for own in QUERIES]


def ranker(**options):
    return RankingSVM(**{"tol": 0.01, "random_state": 0, **options})


class Frame:
    """What a frame of polars offers of itself, where ``frame[0]`` is a frame of one row."""

    def __init__(self, values):
        self._values = np.asarray(values)
        self.columns = [f"c{j}" for j in range(self._values.shape[1])]
        self.shape = self._values.shape

    def __len__(self):
        return len(self._values)

    def __getitem__(self, row):
        return Frame(self._values[[row]])

    def __array__(self, dtype=None, copy=None):
        return self._values.astype(dtype or self._values.dtype)


class Series:
    """A column of such a frame: an array, but no sequence."""

    def __init__(self, values):
        self._values = np.asarray(values)

    def __len__(self):
        return len(self._values)

    def __array__(self, dtype=None, copy=None):
        return self._values.astype(dtype or self._values.dtype)


def frames():
    yield Frame, Series
    for name in ("pandas", "polars"):
        try:
            library = __import__(name)
        except ImportError:
            continue
        yield (
            (lambda values, lib=library: lib.DataFrame(dict(zip("abc", values.T, strict=True)))),
            library.Series,
        )


@pytest.mark.parametrize(("frame", "series"), list(frames()))
def test_a_frame_is_rows_and_not_a_list_of_queries(frame, series):
    plain = ranker().fit(X, Y, qid=QID)
    model = ranker().fit(frame(X), series(Y), qid=series(QID))
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    scores = model.predict(frame(X), qid=series(QID))
    assert scores.shape == (len(X),)
    np.testing.assert_allclose(scores, plain.predict(X, qid=QID), rtol=1e-9, atol=1e-12)
    assert model.score(frame(X), series(Y), qid=series(QID)) > 0.5
    alone = QUERIES[0]
    assert model.rank(frame(X[alone])).shape == (len(alone),)


def test_a_path_over_rows_is_that_over_lists():
    Cs = [0.1, 1.0]
    listed = ranker().path(*LISTS, Cs=Cs, cv=3)
    rows = ranker().path(X, Y, Cs, cv=3, qid=QID)
    np.testing.assert_array_equal(rows.scores, listed.scores)
    for one, other in zip(rows.estimators, listed.estimators, strict=True):
        np.testing.assert_array_equal(one.coef_, other.coef_)
    whole = ranker(C=1.0).fit(X, Y, qid=QID)
    assert rows.results[1].primal == pytest.approx(whole.result_.primal, rel=0.02)
    # Rows in another order are the same queries.
    order = np.random.default_rng(0).permutation(len(Y))
    mixed = ranker().path(X[order], Y[order], Cs[:1], qid=QID[order])
    assert mixed.results[0].primal == pytest.approx(rows.results[0].primal, rel=0.02)


def test_a_path_takes_splitters_that_keep_queries_whole():
    path = ranker().path(X, Y, [1.0], cv=GroupKFold(3), qid=QID)
    assert path.scores.shape == (1, 3)
    halves = [(np.arange(1, len(Y)), np.arange(1))]
    with pytest.raises(ValueError, match=r"has rows of query \d+ on both sides .* GroupKFold"):
        ranker().path(X, Y, [1.0], cv=halves, qid=QID)
    with pytest.raises(ValueError, match="qid must have one entry per row"):
        ranker().path(X, Y, [1.0], cv=3, qid=QID[:-1])
    with pytest.raises(ValueError, match="qid is for rows in one matrix"):
        ranker().path(*LISTS, Cs=[1.0], qid=QID)


def test_weights_and_scorers_reach_the_folds_of_a_path():
    seen = []

    def own(estimator, rows, grades, qid):
        seen.append(qid)
        return estimator.score(rows, grades, qid=qid)

    weight = np.ones(len(Y))
    plain = ranker().path(X, Y, [1.0], cv=2, qid=QID)
    scored = ranker().path(X, Y, [1.0], cv=2, scoring=own, sample_weight=weight, qid=QID)
    np.testing.assert_allclose(plain.scores, scored.scores)
    assert sorted(np.concatenate(seen).tolist()) == sorted(QID.tolist())


def test_queries_of_one_grade_are_skipped_in_a_path_too():
    grades = np.where(QID[0] == QID, 0, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = ranker().path(X, grades, [1.0], qid=QID)
    assert path.estimators[0].n_skipped_ == 1
    assert "teach nothing" in str(caught[0].message)

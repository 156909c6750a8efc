import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from maxmargin.metrics import auc, average_precision, ndcg, precision_at_k, ranking_report


def one_query(rng, n_grades=4, n_scores=6):
    """Grades and scores of 2 to 30 documents; few distinct scores, so many ties."""
    n = int(rng.integers(2, 31))
    return rng.integers(0, n_grades, size=n), rng.integers(0, n_scores, size=n) / 4.0


def all_orders(grades, scores):
    """Grades in every order that the scores allow."""
    groups = [np.asarray(grades)[scores == s].tolist() for s in np.unique(scores)[::-1]]
    for parts in itertools.product(*(list(itertools.permutations(g)) for g in groups)):
        yield np.array([grade for part in parts for grade in part])


def pairs_in_order(grades, scores):
    """The definition of the AUC, pair by pair."""
    pairs = [
        (i, j) for i in range(len(grades)) for j in range(len(grades)) if grades[i] > grades[j]
    ]
    right = sum((scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]) for i, j in pairs)
    return right / len(pairs) if pairs else np.nan


@pytest.mark.parametrize("n_scores", [1, 3, 1000])
@pytest.mark.parametrize("relevant", [1, 2])
def test_average_precision_is_that_of_scikit_learn(rng, n_scores, relevant):
    for _ in range(150):
        grades, scores = one_query(rng, n_scores=n_scores)
        found = average_precision(grades, scores, relevant=relevant)
        if (grades >= relevant).any():
            expected = sk.average_precision_score(grades >= relevant, scores)
            assert found == pytest.approx(expected, abs=1e-14)
        else:
            assert np.isnan(found)


@pytest.mark.parametrize("n_scores", [1, 3, 1000])
@pytest.mark.parametrize("k", [None, 1, 3, 10, 50])
def test_ndcg_is_that_of_scikit_learn(rng, n_scores, k):
    for _ in range(80):
        grades, scores = one_query(rng, n_scores=n_scores)
        for gains, taken in (("linear", grades), ("exponential", 2.0**grades - 1)):
            found = ndcg(grades, scores, k, gains=gains)
            expected = sk.ndcg_score([taken], [scores], k=k)
            assert np.isnan(found) if grades.max() == 0 else found == pytest.approx(expected)


def test_ndcg_without_looking_at_ties(rng):
    for k in (None, 2, 5):
        for _ in range(50):
            grades, _ = one_query(rng)
            grades[0] = 1
            scores = rng.permutation(len(grades)) * 0.1
            expected = sk.ndcg_score([grades], [scores], k=k, ignore_ties=True)
            found = ndcg(grades, scores, k, gains="linear", ignore_ties=True)
            assert found == pytest.approx(expected)
            assert ndcg(grades, scores, k, gains="linear") == pytest.approx(expected)
            # Equal scores stand in the order given: as if they fell by a little.
            tied = np.floor(scores)
            falling = tied - 1e-6 * np.arange(len(tied))
            assert ndcg(grades, tied, k, ignore_ties=True) == ndcg(grades, falling, k)


def test_ties_count_as_the_mean_over_all_orders(rng):
    for _ in range(40):
        n = int(rng.integers(1, 7))
        grades, scores = rng.integers(0, 3, size=n), rng.integers(0, 3, size=n)
        grades[0] = 1
        orders = list(all_orders(grades, scores))
        falling = -np.arange(n)
        for k in (1, 2, 4, 9):
            expected = np.mean([(order[:k] >= 1).sum() / k for order in orders])
            assert precision_at_k(grades, scores, k) == pytest.approx(expected)
            expected = np.mean([ndcg(order, falling, k) for order in orders])
            assert ndcg(grades, scores, k) == pytest.approx(expected)
        expected = np.mean([pairs_in_order(order, falling) for order in orders])
        assert auc(grades, scores) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("n_scores", [1, 3, 1000])
def test_auc_is_that_of_scikit_learn_and_of_the_pairs(rng, n_scores):
    for n_grades in (2, 3, 5, 40):
        for _ in range(40):
            grades, scores = one_query(rng, n_grades, n_scores)
            found = auc(grades, scores)
            assert found == pytest.approx(pairs_in_order(grades, scores), nan_ok=True)
            if n_grades == 2 and grades.min() < grades.max():
                assert found == pytest.approx(sk.roc_auc_score(grades, scores))


def test_precision_at_k_is_that_of_the_first_k(rng):
    for _ in range(60):
        grades, _ = one_query(rng)
        scores = rng.permutation(len(grades))
        for k in (1, 2, len(grades)):
            is_chosen = scores >= len(grades) - k
            for relevant in (1, 3):
                expected = sk.precision_score(grades >= relevant, is_chosen)
                found = precision_at_k(grades, scores, k, relevant=relevant)
                assert found == pytest.approx(expected)


def test_values_by_hand():
    grades, scores = [3, 2, 3, 0, 1, 2], [6, 5, 4, 3, 2, 1]
    linear = 3 + 2 / np.log2(3) + 3 / 2 + 1 / np.log2(6) + 2 / np.log2(7)
    best = 3 + 3 / np.log2(3) + 2 / 2 + 2 / np.log2(5) + 1 / np.log2(6)
    assert ndcg(grades, scores, gains="linear") == pytest.approx(linear / best)
    assert ndcg(grades, scores, 2) == pytest.approx((7 + 3 / np.log2(3)) / (7 + 7 / np.log2(3)))
    assert average_precision(grades, scores, relevant=3) == pytest.approx((1 + 2 / 3) / 2)
    assert precision_at_k(grades, scores, 8) == 5 / 8
    assert auc(grades, scores) == pytest.approx(9 / 13)


def test_one_document_and_one_grade():
    assert average_precision([1], [0.0]) == ndcg([1], [0.0]) == precision_at_k([1], [0.0], 1) == 1
    assert np.isnan(auc([1], [0.0])) and np.isnan(auc([2, 2, 2], [1, 2, 3]))
    assert average_precision([2, 2], [1, 2]) == ndcg([2, 2], [1, 2]) == 1
    assert np.isnan(average_precision([0, 0], [1, 2])) and np.isnan(ndcg([0, 0], [1, 2], 1))
    assert precision_at_k([0, 0], [1, 2], 1) == 0


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, list])
def test_kinds_of_numbers(kind):
    grades, scores = [2, 0, 1], [3, 2, 1]
    if kind is not list:
        grades, scores = np.array(grades, dtype=kind), np.array(scores, dtype=kind)
    assert auc(grades, scores) == pytest.approx(2 / 3)
    assert auc(np.array([True, False]), np.array([1, 0], dtype=np.uint8)) == 1


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=40
    )
)
def test_the_report_is_its_queries_one_by_one(rows):
    grades, scores, qid = (np.array(column) for column in zip(*rows, strict=True))
    report = ranking_report(grades, scores, qid, k=(1, 5), relevant=2, gains="linear")
    assert report.qid.tolist() == list(dict.fromkeys(qid.tolist()))
    for i, query in enumerate(report.qid):
        g, s = grades[qid == query], scores[qid == query]
        expected = {
            "average_precision": average_precision(g, s, relevant=2),
            "auc": auc(g, s),
            "ndcg": ndcg(g, s, gains="linear"),
            "ndcg@1": ndcg(g, s, 1, gains="linear"),
            "ndcg@5": ndcg(g, s, 5, gains="linear"),
            "precision@1": precision_at_k(g, s, 1, relevant=2),
            "precision@5": precision_at_k(g, s, 5, relevant=2),
        }
        found = {name: values[i] for name, values in report.scores.items()}
        assert list(found) == list(expected)
        assert found == pytest.approx(expected, nan_ok=True)
        assert report.n_documents[i] == len(g) and report.n_relevant[i] == (g >= 2).sum()
    for name, values in report.scores.items():
        is_nan = np.isnan(values)
        assert report.n_undefined[name] == is_nan.sum()
        assert (report.undefined(name) == report.qid[is_nan]).all()
        expected = np.nan if is_nan.all() else np.mean(values[~is_nan])
        assert report.means[name] == pytest.approx(expected, nan_ok=True)


def test_queries_without_a_score_are_left_out_or_counted():
    grades = [1, 0, 0, 0, 1, 1]
    scores = [2, 1, 2, 1, 2, 1]
    qid = ["good", "good", "empty", "empty", "full", "full"]
    report = ranking_report(grades, scores, qid, k=1)
    assert report.qid.tolist() == ["good", "empty", "full"]
    assert report.undefined("auc").tolist() == ["empty", "full"]
    assert report.undefined("average_precision").tolist() == ["empty"]
    assert report.undefined("ndcg@1").tolist() == ["empty"]
    assert report.n_undefined["precision@1"] == 0
    assert report.means["auc"] == report.means["ndcg"] == 1
    assert report.means["precision@1"] == pytest.approx(2 / 3)
    zero = ranking_report(grades, scores, qid, k=1, zero_division=0)
    assert zero.means["auc"] == pytest.approx(1 / 3) and zero.means["ndcg"] == pytest.approx(2 / 3)
    assert zero.n_undefined == report.n_undefined
    assert ranking_report(grades, scores, qid, zero_division=1).means["auc"] == 1
    nothing = ranking_report([0, 0], [1, 2], [5, 5])
    assert np.isnan(nothing.means["auc"]) and nothing.means["precision@3"] == 0
    with pytest.raises(ValueError, match=r"name='map' is unknown\. There are: average_precision"):
        report.undefined("map")


def test_the_order_of_rows_does_not_matter(rng):
    grades, scores, qid = (rng.integers(0, 5, size=300) for _ in range(3))
    a = ranking_report(grades, scores, qid)
    order = rng.permutation(300)
    b = ranking_report(grades[order], scores[order], qid[order])
    for name, values in a.scores.items():
        by_query = dict(zip(b.qid, b.scores[name], strict=True))
        assert values == pytest.approx([by_query[query] for query in a.qid])


def test_many_documents_without_warnings(rng):
    n = 50_000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grades, scores = rng.random(n), rng.random(n).astype(np.float32)
        assert auc(grades, scores) == pytest.approx(0.5, abs=0.01)
        assert auc(grades, grades) == 1 and auc(grades, -grades) == 0
        report = ranking_report(rng.integers(0, 5, n), scores, rng.integers(0, 500, n))
        assert report.means["auc"] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("grades", "scores", "message"),
    [
        ([], [], "grades holds no document"),
        ([1, 0], [1], "grades has 2 documents but scores has 1"),
        ([1, -1], [1, 2], r"grades\[1\] is -1.0; a grade is 0 or more"),
        ([1, np.inf], [1, 2], r"grades\[1\] is inf"),
        ([1, 0], [np.nan, 2], r"scores\[0\] is nan; expected a finite number"),
        ([1, 0], [1, -np.inf], r"scores\[1\] is -inf"),
        ([[1, 0]], [1, 2], r"grades must be numbers of shape \(n_documents,\), got int64"),
        ([1, 0], ["a", "b"], "scores must be numbers"),
    ],
)
def test_bad_documents(grades, scores, message):
    for score in (average_precision, ndcg, auc, lambda g, s: precision_at_k(g, s, 1)):
        with pytest.raises(ValueError, match=message):
            score(grades, scores)
    with pytest.raises(ValueError, match=message):
        ranking_report(grades, scores, [1, 1])


def test_bad_options():
    for k in (0, -1, 1.5, True, "3"):
        for score in (ndcg, precision_at_k):
            with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
                score([1], [1], k)
        with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
            ranking_report([1], [1], [1], k=(1, k))
    for score in (
        average_precision,
        lambda g, s, relevant: precision_at_k(g, s, 1, relevant=relevant),
    ):
        with pytest.raises(ValueError, match="relevant must be above 0, got 0"):
            score([1], [1], relevant=0)
    with pytest.raises(ValueError, match=r"gains='log' is unknown\. There are: 'exponential'"):
        ndcg([1], [1], gains="log")
    with pytest.raises(ValueError, match=r"the gain 2\*\*2000 - 1 is too large; gains='linear'"):
        ndcg([2000, 1], [1, 2])
    assert ndcg([2000, 1], [2, 1], gains="linear") == 1
    with pytest.raises(ValueError, match="zero_division must be 0, 1 or nan, got 2"):
        ranking_report([1], [1], [1], zero_division=2)
    with pytest.raises(ValueError, match=r"qid must have the shape of grades, \(2,\), got \(1,\)"):
        ranking_report([1, 0], [1, 2], [1])
    with pytest.raises(ValueError, match="qid must be all numbers or all strings, none missing"):
        ranking_report([1, 0], [1, 2], np.array([None, "a"], dtype=object))
    with pytest.raises(ValueError, match=r"qid\[1\] is nan"):
        ranking_report([1, 0], [1, 2], [1, np.nan])

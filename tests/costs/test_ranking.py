"""Costs of rankings: the paper's examples, scikit-learn's measures, grades, and users' costs."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from maxmargin.costs import (
    AUC,
    COSTS,
    NDCG,
    AveragePrecision,
    NDCGAtK,
    NDCGPairs,
    PrecisionAtK,
    RankingCost,
    fitting_costs,
    graded_weights,
)

#: The order (3.8) of the paper: samples 1-4 are relevant.
RELEVANT, ORDER = [1, 1, 1, 1, 0, 0, 0, 0], [0, 2, 7, 3, 4, 1, 5, 6]


def test_examples_of_the_paper():
    assert AveragePrecision().value(RELEVANT, ORDER) == pytest.approx(0.146, abs=5e-4)
    assert NDCG().value(RELEVANT, ORDER) == pytest.approx(0.056, abs=5e-4)
    assert AUC().value(RELEVANT, ORDER) == 3 / 16
    assert PrecisionAtK(3).value(RELEVANT, ORDER) == pytest.approx(1 / 3)


def random_ranking(rng, n, n_grades=2):
    grades = rng.integers(0, n_grades, size=n)
    grades[:2] = 0, n_grades - 1
    scores = rng.permutation(n).astype(float)
    return grades, scores, np.argsort(-scores)


def test_measures_of_scikit_learn():
    rng = np.random.default_rng(0)
    for _ in range(100):
        relevant, scores, order = random_ranking(rng, int(rng.integers(2, 12)))
        ap, area = average_precision_score(relevant, scores), roc_auc_score(relevant, scores)
        assert AveragePrecision().value(relevant, order) == pytest.approx(1 - ap, abs=1e-12)
        assert AUC().value(relevant, order) == pytest.approx(1 - area, abs=1e-12)
        ndcg = ndcg_score([relevant], [scores])
        assert NDCG().value(relevant, order) == pytest.approx(1 - ndcg, abs=1e-12)
        k = int(rng.integers(1, 14))
        ndcg = ndcg_score([relevant], [scores], k=k)
        assert NDCGAtK(k).value(relevant, order) == pytest.approx(1 - ndcg, abs=1e-12)
        hits = relevant[order][:k].sum()
        expected = 1 - hits / min(k, relevant.sum())
        assert PrecisionAtK(k).value(relevant, order) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("gain", ["exponential", "linear"])
@pytest.mark.parametrize("k", [None, 1, 4, 30])
def test_a_graded_ndcg_is_made_of_binary_ones(gain, k):
    rng = np.random.default_rng(1)
    cost = NDCG(gain) if k is None else NDCGAtK(k, gain)
    for _ in range(50):
        grades, scores, order = random_ranking(rng, int(rng.integers(2, 20)), 5)
        grades = grades + rng.integers(0, 2)
        thresholds, weights = graded_weights(grades, cost)
        parts = [cost.value(grades >= t, order) for t in thresholds]
        assert weights @ parts == pytest.approx(cost.value(grades, order), abs=1e-12)
        gains = np.exp2(grades) - 1 if gain == "exponential" else grades
        expected = 1 - ndcg_score([gains], [scores], k=k)
        assert cost.value(grades, order) == pytest.approx(expected, abs=1e-12)
        if grades.min() == 0:
            assert weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_pairs_are_above_ndcg_and_made_of_areas(gain):
    """Over all rankings of small queries, and for single swaps at the top the bound is reached."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        grades = rng.integers(0, 4, size=int(rng.integers(2, 6)))
        thresholds, weights = graded_weights(grades, NDCGPairs(gain))
        gains = np.exp2(grades) - 1 if gain == "exponential" else grades
        for order in map(list, permutations(range(len(grades)))):
            cost = NDCGPairs(gain).value(grades, order)
            assert cost >= NDCG(gain).value(grades, order) - 1e-12
            lost = sum(max(gains[b] - gains[a], 0) for a, b in combinations(order, 2))
            best = np.sort(gains)[::-1] @ (1 / np.log2(np.arange(2, len(grades) + 2)))
            assert cost == pytest.approx((1 - 1 / np.log2(3)) * lost / max(best, 1.0))
            parts = [AUC().value(grades >= t, order) for t in thresholds]
            assert weights @ parts == pytest.approx(cost, abs=1e-12)
    assert NDCGPairs().value([1, 0], [1, 0]) == pytest.approx(NDCG().value([1, 0], [1, 0]))


def test_a_query_of_one_grade_has_no_thresholds():
    for grades in ([0, 0, 0], [2, 2]):
        thresholds, weights = graded_weights(grades, NDCG())
        assert len(thresholds) == len(weights) == 0


@pytest.mark.parametrize("cost", [NDCG(), NDCGAtK(2), NDCGPairs()], ids=repr)
def test_grades_that_are_all_zero_cost_nothing_in_any_order_that_is_one(cost):
    assert cost.value([0, 0, 0], [2, 0, 1]) == 0.0
    with pytest.raises(ValueError, match="order must hold each of the 3 samples once"):
        cost.value([0, 0, 0], [0, 0, 1])


@pytest.mark.parametrize("name", fitting_costs("places"))
def test_costs_are_values(name):
    cost = COSTS[name]()
    assert COSTS[name](**cost.parameters()) == cost
    assert hash(cost) == hash(COSTS[name]())
    assert cost.value([1, 0, 1], [2, 0, 1]) == 0.0
    assert cost.value([0, 0], [0, 1]) == cost.value([1, 1], [0, 1]) == 0.0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: PrecisionAtK(0), ValueError, "PrecisionAtK: k must be at least 1, got 0"),
        (lambda: NDCGAtK(2.5), TypeError, "NDCGAtK: k must be a whole number, got 2.5"),
        (lambda: NDCGPairs("cubic"), ValueError, "NDCGPairs: gain must be one of exponential"),
        (lambda: NDCG("cubic"), ValueError, "NDCG: gain must be one of exponential, linear"),
        (lambda: graded_weights([1, -1], NDCG()), ValueError, r"grades\[1\] is -1"),
        (lambda: graded_weights([np.nan], NDCG()), ValueError, r"grades\[0\] is nan"),
        (lambda: AUC().value([1, 0], [0, 0]), ValueError, "each of the 2 samples once"),
        (lambda: RankingCost(3), TypeError, "difference must be a function, got 3"),
        (lambda: RankingCost(lambda j, i: 0.0), ValueError, "cannot be compiled"),
        (lambda: RankingCost(lambda j, i, P, N: {}[RELEVANT]), ValueError, "cannot be compiled"),
    ],
)
def test_bad_parameters_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_difference_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"difference\(1, 1, 2, 3\) is 1.0; expected"):
        RankingCost(lambda j, i, P, N: 1.0 / j).rule([(2, 3)])
    with pytest.raises(ValueError, match="is nan"):
        RankingCost(lambda j, i, P, N: np.nan).rule([(2, 3)])


def test_monotone_differences_are_told_from_others():
    def falls_late(j, i, P, N):
        return -1.0 - (j > 3)

    cost = RankingCost(falls_late)
    assert cost.is_monotone([(2, 3)]) and not cost.is_monotone([(2, 3), (2, 4)])
    assert not cost.is_monotone([(1000, 1_000_000)])
    assert not cost.is_monotone([(2, N) for N in range(1, 500)])

    def falls_at_the_end(j, i, P, N):
        return -1.0 if j == N and i == P else 0.0

    assert not RankingCost(falls_at_the_end).is_monotone([(1000, 1_000_000)])
    assert RankingCost(lambda j, i, P, N: -1.0 / (P * N)).is_monotone([(1000, 1_000_000)])
    assert RankingCost(lambda j, i, P, N: -1.0).is_monotone([])

"""The most violating interleaving: against all of them, and in bulk against itself."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.costs import (
    AUC,
    NDCG,
    AveragePrecision,
    NDCGAtK,
    PrecisionAtK,
    RankingCost,
)
from maxmargin.inference.ranking.interleave import interleave, ranking_cost, ranking_room
from maxmargin.inference.ranking.public import most_violating_ranking
from maxmargin.inference.ranking.rule import GeneralRule, MonotoneRule
from tests.rankings import (
    all_places,
    ap_cost,
    auc_cost,
    difference_cost,
    ndcg_cost,
    precision_cost,
    random_scores,
    relevance_of,
    score_of,
    value_of,
)


def first_rank(j, i, P, N):
    """1 - reciprocal rank of the first relevant sample: monotone in j."""
    return 1.0 / (j + 1) - 1.0 / j if i == 1 else 0.0


def late_trouble(j, i, P, N):
    """A cost that minds the lower negatives more: not monotone in j."""
    return -(j * j + 0.3 * i) / (P * N * N)


def run(cost, positives, negatives, cost_scale=1.0):
    P, N = len(positives), len(negatives)
    room = ranking_room(P, N)
    above_positive, above = np.empty(P, dtype=np.int32), np.empty(N, dtype=np.int32)
    paid = interleave(
        cost.rule([(P, N)]), positives, negatives, cost_scale, room, above_positive, above
    )
    return above_positive, above, paid, room


def check_is_interleaving(positives, negatives, above_positive, above):
    """Both counts tell of one ranking, in which neither kind is out of its own order."""
    by_score = np.argsort(-negatives, kind="stable")
    sorted_above = np.sort(above)
    assert np.array_equal(negatives[by_score][np.argsort(above[by_score], kind="stable")],
                          negatives[by_score])  # fmt: skip
    counts = np.searchsorted(sorted_above, np.arange(len(positives)), side="right")
    assert np.array_equal(np.sort(above_positive), counts)
    highest_first = np.argsort(-positives, kind="stable")
    ranked = positives[highest_first][np.argsort(above_positive[highest_first], kind="stable")]
    assert np.array_equal(ranked, positives[highest_first])


COSTS = {
    "ap": (lambda k: AveragePrecision(), lambda ranking, places, k: ap_cost(ranking)),
    "ndcg": (lambda k: NDCG(), lambda ranking, places, k: ndcg_cost(ranking)),
    "auc": (lambda k: AUC(), lambda ranking, places, k: auc_cost(ranking)),
    "precision_at_k": (PrecisionAtK, lambda ranking, places, k: precision_cost(ranking, k)),
    "ndcg_at_k": (NDCGAtK, lambda ranking, places, k: ndcg_cost(ranking, k)),
    "monotone": (
        lambda k: RankingCost(first_rank),
        lambda ranking, places, k: difference_cost(first_rank, places, sum(ranking)),
    ),
    "general": (
        lambda k: RankingCost(late_trouble),
        lambda ranking, places, k: difference_cost(late_trouble, places, sum(ranking)),
    ),
}


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_is_the_best_of_all_interleavings(name, dtype):
    make, cost_of = COSTS[name]
    rng = np.random.default_rng(5)
    for trial in range(400):
        P = int(rng.integers(1, 6))
        N = int(rng.integers(1, 9 - P if trial % 20 else 10 - P))
        k = int(rng.integers(1, P + N + 3))
        positives, negatives = random_scores(rng, P, N, dtype)
        cost_scale = float(rng.choice([0.0, 0.25, 1.0, 3.0, 20.0]))
        above_positive, above, paid, room = run(make(k), positives, negatives, cost_scale)
        check_is_interleaving(positives, negatives, above_positive, above)
        found = value_of(positives, negatives, above_positive, above)
        places = tuple(np.sort(above).tolist())
        assert found == pytest.approx(score_of(places, positives, negatives), abs=1e-9)
        assert paid == pytest.approx(cost_of(relevance_of(places, P), places, k), abs=1e-12)
        assert ranking_cost(make(k).rule([(P, N)]), above, P, room) == paid
        best = max(
            score_of(other, positives, negatives)
            + cost_scale * cost_of(relevance_of(other, P), other, k)
            for other in all_places(P, N)
        )
        scale = 1.0 + np.abs(positives).max() + np.abs(negatives).max() + cost_scale
        assert abs(found + cost_scale * paid - best) <= 1e-12 * scale


def test_ties_go_to_the_truth():
    """Without a cost, and with one that pays exactly what the scores lose."""
    positives, negatives = np.zeros(3), np.zeros(30)
    for name in COSTS:
        above_positive, above, paid, _ = run(COSTS[name][0](2), positives, negatives, 0.0)
        assert (above_positive == 0).all() and (above == 3).all() and paid == 0.0
    above_positive, above, paid, _ = run(AUC(), positives + 0.5, negatives)
    assert (above == 3).all() and paid == 0.0
    above_positive, above, paid, _ = run(PrecisionAtK(1), np.ones(1), np.zeros(1), 2.0)
    assert (above == 1).all() and paid == 0.0


@pytest.mark.parametrize("name", COSTS)
def test_ties_go_to_the_truth_beside_large_scores(name):
    """Sums that hold the largest score would round the smallest ones away."""
    positives = np.array([3e38, 1e-45, 3e38, 0.0, 0.0], dtype=np.float32)
    negatives = np.array([0.0, 0.0, 1e-45, 3e38], dtype=np.float32)
    _, above, paid, _ = run(COSTS[name][0](2), positives, negatives, 0.0)
    assert above.tolist() == [5, 5, 3, 2] and paid >= 0.0


def test_rules_of_users_take_their_routes():
    assert isinstance(RankingCost(first_rank).rule([(3, 5)]), MonotoneRule)
    assert isinstance(RankingCost(late_trouble).rule([(3, 5)]), GeneralRule)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(RankingCost(first_rank).rule([(3, 5)]))


def by_quicksort(positives, negatives, ascending=False, last=0):
    """Return the value of AP by the paper's divide and conquer, with its printed mistakes if asked.

    ascending : the negatives lie from the lowest on, and so their numbers j
    last : places end that much before P
    """
    P, N = len(positives), len(negatives)
    high = np.sort(positives)[::-1]
    low = np.sort(negatives) if ascending else np.sort(negatives)[::-1]
    places = np.zeros(N, dtype=int)

    def opt(left, right, lowest, highest):
        if left > right:
            return
        m = (left + right) // 2
        i = np.arange(1, P + 1)
        steps = 2 * (high - low[m]) / (P * N) - i / ((i + m + 1) * (i + m)) / P
        values = np.concatenate([[0.0], np.cumsum(steps)])[lowest : highest + 1]
        places[m] = lowest + len(values) - 1 - np.argmax(values[::-1])
        opt(left, m - 1, lowest, places[m])
        opt(m + 1, right, places[m], highest)

    opt(0, N - 1, 0, P - last)
    sign = np.where(np.arange(P)[:, None] < places, 1.0, -1.0)
    ranking = relevance_of(tuple(np.sort(places).tolist()), P)
    return (sign * (high[:, None] - low)).mean() + ap_cost(ranking)


def test_printed_mistakes_lose_the_optimum():
    """The paper sorts the negatives the wrong way round, and leaves out the lowest place."""
    rng = np.random.default_rng(0)
    right, ascending, short = 0, 0, 0
    for _ in range(200):
        positives, negatives = rng.normal(size=4), rng.normal(size=6)
        above_positive, above, paid, _ = run(AveragePrecision(), positives, negatives)
        best = value_of(positives, negatives, above_positive, above) + paid
        right += by_quicksort(positives, negatives) >= best - 1e-12
        ascending += by_quicksort(positives, negatives, ascending=True) < best - 1e-9
        short += by_quicksort(positives, negatives, last=1) < best - 1e-9
    assert right == 200 and ascending > 180 and short > 10


def sorted_and_placed(cost, positives, negatives, cost_scale):
    """Return the best value by O(P N), each negative by itself, as a monotone cost allows."""
    P, N = len(positives), len(negatives)
    high = np.sort(positives.astype(float))[::-1]
    low = np.sort(negatives.astype(float))[::-1]
    j, i = np.arange(1.0, N + 1)[:, None], np.arange(1.0, P + 1)
    if isinstance(cost, AveragePrecision):
        differences = -i / ((i + j) * (i + j - 1)) / P
    elif isinstance(cost, AUC):
        differences = np.full((N, P), -1.0 / (P * N))
    else:
        ideal = (1 / np.log2(1 + i)).sum()
        differences = (1 / np.log2(1 + i + j) - 1 / np.log2(i + j)) / ideal
    steps = 2 * (high - low[:, None]) / (P * N) + cost_scale * differences
    # Relative to the truth: the steps that are not taken.
    tails = -np.cumsum(steps[:, ::-1], axis=1)
    gained = np.maximum(tails.max(axis=1), 0.0).sum()
    return (high[:, None] - low).mean() + gained


SHAPES = [(1, 500), (30, 500), (400, 500), (500, 40), (25, 21), (21, 2000), (300, 300)]
SPREADS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "apart": lambda rng, n: rng.normal(size=n) - 30.0,
    "heavy": lambda rng, n: rng.standard_cauchy(size=n) ** 3,
    "grid": lambda rng, n: rng.integers(0, 5, size=n) / 4.0,
    "equal": lambda rng, n: np.full(n, 0.25),
    "offset": lambda rng, n: 1e6 + rng.normal(size=n),
    "tiny": lambda rng, n: 1e-300 * rng.normal(size=n),
    "huge": lambda rng, n: 1e300 * rng.normal(size=n),
    "rising": lambda rng, n: np.linspace(-1.0, 1.0, n),
    "one outlier": lambda rng, n: np.where(np.arange(n) == n // 2, 1e9, rng.normal(size=n)),
}


@pytest.mark.parametrize("spread", SPREADS)
def test_larger_queries_are_optimal_too(spread):
    rng = np.random.default_rng(2)
    for P, N in SHAPES:
        positives = SPREADS[spread](rng, P) + (30.5 if spread == "apart" else 0.0)
        negatives = SPREADS[spread](rng, N)
        for dtype in (np.float64, np.float32):
            if dtype == np.float32 and spread in ("tiny", "huge", "heavy"):
                continue
            s_pos, s_neg = positives.astype(dtype), negatives.astype(dtype)
            size = max(np.abs(s_pos).max(), np.abs(s_neg).max())
            for cost in (AveragePrecision(), NDCG(), AUC()):
                for cost_scale in (1.0, float(size)):
                    above_positive, above, paid, _ = run(cost, s_pos, s_neg, cost_scale)
                    check_is_interleaving(s_pos, s_neg, above_positive, above)
                    sign = np.where(np.arange(P)[:, None] < np.sort(above), 1.0, -1.0)
                    gaps = np.sort(s_pos.astype(float))[::-1][:, None]
                    gaps = gaps - np.sort(s_neg.astype(float))[::-1]
                    found = (sign * gaps).mean() + cost_scale * paid
                    best = sorted_and_placed(cost, s_pos, s_neg, cost_scale)
                    assert abs(found - best) <= 1e-11 * (size + cost_scale)


@pytest.mark.parametrize("shape", [(3, 40), (30, 200), (200, 60), (40, 1000)])
def test_costs_of_the_first_places_agree_with_the_general_programme(shape):
    """The same differences, given as a user's, go through the O(P N) programme."""
    P, N = shape
    rng = np.random.default_rng(3)
    for k in (1, 5, 17, P, P + N - 1, P + N, P + N + 5):

        def precision(j, i, P, N, k=k):
            return -1.0 / min(k, P) if i + j == k + 1 else 0.0

        def ndcg(j, i, P, N, k=k):
            ideal = 0.0
            for r in range(1, min(k, P) + 1):
                ideal += 1.0 / math.log2(1.0 + r)
            before = 1.0 / math.log2(float(i + j)) if i + j - 1 <= k else 0.0
            after = 1.0 / math.log2(1.0 + i + j) if i + j <= k else 0.0
            return (after - before) / ideal

        for cost, difference in ((PrecisionAtK(k), precision), (NDCGAtK(k), ndcg)):
            if shape != (3, 40) and k not in (5, 17):
                continue
            positives, negatives = rng.normal(size=P), np.round(rng.normal(size=N), 1)
            rule = GeneralRule(RankingCost(difference).rule([(P, N)]).address)
            room = ranking_room(P, N)
            above_positive, above = np.empty(P, dtype=np.int32), np.empty(N, dtype=np.int32)
            paid = interleave(rule, positives, negatives, 2.0, room, above_positive, above)
            best = value_of(positives, negatives, above_positive, above) + 2.0 * paid
            above_positive, above, paid, _ = run(cost, positives, negatives, 2.0)
            check_is_interleaving(positives, negatives, above_positive, above)
            found = value_of(positives, negatives, above_positive, above) + 2.0 * paid
            assert found == pytest.approx(best, abs=1e-11)


@pytest.mark.parametrize("name", ["ap", "ndcg", "auc", "monotone"])
@pytest.mark.parametrize("apart", [0.0, 4.0])
def test_operations_stay_within_bounds(name, apart):
    rng = np.random.default_rng(4)
    for P, N in ((10, 1000), (100, 10_000), (1000, 3000), (10, 100_000)):
        positives, negatives = rng.normal(size=P) + apart, rng.normal(size=N)
        _, _, _, room = run(COSTS[name][0](0), positives, negatives)
        evaluations, comparisons = room.tally
        assert evaluations <= 2.0 * P * math.log2(N)
        # 4.3 to 3.7 for quickselect alone; and the positives are sorted.
        assert comparisons <= 3.0 * N * math.log2(P + 1) + 3.0 * P * math.log2(P + 1)


ORDERS = {
    "sorted": lambda n: np.linspace(-1.0, 1.0, n),
    "falling": lambda n: np.linspace(1.0, -1.0, n),
    "up and down": lambda n: 1.0 - np.abs(np.linspace(-1.0, 1.0, n)),
    "equal": np.zeros,
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["ap", "ndcg"])
def test_no_order_of_the_negatives_makes_it_quadratic(name, order):
    """Every seventh score lies far out, so that the others share a bucket, in their own order."""
    rng = np.random.default_rng(0)
    P, N = 1000, 100_000
    negatives = np.where(np.arange(N) % 7 == 3, 1e6 * rng.normal(size=N), ORDERS[order](N))
    positives = rng.choice(negatives, P)
    _, _, _, room = run(COSTS[name][0](0), positives, negatives)
    assert room.tally[1] <= 4.0 * (N + P) * math.log2(P + 1)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=4),
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=4),
    st.sampled_from(sorted(COSTS)),
    st.floats(0.0, 1e3),
    st.integers(1, 9),
)
def test_no_interleaving_is_better(positives, negatives, name, cost_scale, k):
    make, cost_of = COSTS[name]
    s_pos, s_neg = np.array(positives), np.array(negatives)
    above_positive, above, paid, _ = run(make(k), s_pos, s_neg, cost_scale)
    found = value_of(s_pos, s_neg, above_positive, above) + cost_scale * paid
    # Below the smallest normal number products have no digits left.
    size = np.abs(s_pos).max() + np.abs(s_neg).max() + cost_scale + 1e-290
    for other in all_places(len(s_pos), len(s_neg)):
        cost = cost_of(relevance_of(other, len(s_pos)), other, k)
        assert found >= score_of(other, s_pos, s_neg) + cost_scale * cost - 1e-12 * size


@pytest.mark.parametrize("name", COSTS)
def test_nothing_to_interleave(name):
    for P, N in ((0, 0), (3, 0), (0, 3)):
        above_positive, above, paid, _ = run(COSTS[name][0](2), np.zeros(P), np.ones(N))
        assert (above_positive == 0).all() and (above == P).all() and paid == 0.0


def test_public_function_answers_in_the_order_of_the_samples():
    rng = np.random.default_rng(0)
    scores, relevant = rng.normal(size=50), rng.random(50) < 0.3
    found = most_violating_ranking(scores, relevant, NDCG(), 2.0)
    assert found.value == pytest.approx(found.weights @ scores + 2.0 * found.cost)
    above_positive, above, _, _ = run(NDCG(), scores[relevant], scores[~relevant], 2.0)
    assert np.array_equal(found.above[relevant], above_positive)
    assert np.array_equal(found.above[~relevant], above)
    assert found.evaluations > 0 and found.comparisons > 0
    alone = most_violating_ranking([1.0, 2.0], [1, 1], NDCG())
    assert alone.value == 0.0 and not alone.weights.any()


@pytest.mark.parametrize(
    ("scores", "relevant", "cost_scale", "message"),
    [
        ([1.0, np.nan], [1, 0], 1.0, r"scores\[1\] is nan"),
        ([-np.inf, 0.0], [1, 0], 1.0, r"scores\[0\] is -inf"),
        ([[1.0]], [1], 1.0, "one dimension"),
        ([1.0, 2.0], [1], 1.0, r"relevant has shape \(1,\)"),
        ([1.0, 2.0], [1, 2], 1.0, "zeros and ones"),
        ([1.0, 2.0], [1, 0], -1.0, "cost_scale"),
    ],
)
def test_bad_input_is_named(scores, relevant, cost_scale, message):
    with pytest.raises(ValueError, match=message):
        most_violating_ranking(scores, relevant, AveragePrecision(), cost_scale)


def test_a_name_is_no_cost():
    with pytest.raises(TypeError, match="AveragePrecision"):
        most_violating_ranking([1.0], [1], "ap")


def test_nan_in_a_pass_does_no_harm():
    """Kernels check nothing; what they are given may be wrong, but must not break the memory."""
    negatives = np.random.default_rng(0).normal(size=300)
    negatives[::7] = np.nan
    for name in COSTS:
        _, above, _, _ = run(COSTS[name][0](3), np.array([0.1, np.nan, 2.0]), negatives)
        assert ((above >= 0) & (above <= 3)).all()

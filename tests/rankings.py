"""Rankings spelt out: every interleaving of a few positives and negatives, and what it costs.

Costs are computed here from the ranking itself, place by place, without the package's formulas.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np


def all_places(P: int, N: int) -> Iterator[tuple[int, ...]]:
    """Yield all interleavings: how many positives are above each negative, best negative first."""
    return itertools.combinations_with_replacement(range(P + 1), N)


def relevance_of(places: tuple[int, ...], P: int) -> list[int]:
    """Return the ranking as ones and zeros, from the top."""
    ranking: list[int] = []
    for j, place in enumerate(places):
        ranking += [1] * (place - (len(ranking) - j)) + [0]
    return ranking + [1] * (P - sum(ranking))


def ap_cost(ranking: list[int]) -> float:
    hits = np.flatnonzero(ranking) + 1
    return 1.0 - float(np.mean(np.arange(1, len(hits) + 1) / hits))


def dcg(ranking: list[int], k: int | None = None) -> float:
    return sum(y / math.log2(2 + r) for r, y in enumerate(ranking[:k]))


def ndcg_cost(ranking: list[int], k: int | None = None) -> float:
    return 1.0 - dcg(ranking, k) / dcg(sorted(ranking, reverse=True), k)


def auc_cost(ranking: list[int]) -> float:
    above, wrong = 0, 0
    for y in ranking:
        above += 1 - y
        wrong += y * above
    return wrong / (sum(ranking) * above)


def precision_cost(ranking: list[int], k: int) -> float:
    return 1.0 - sum(ranking[:k]) / min(k, sum(ranking))


def difference_cost(difference: Callable[..., float], places: tuple[int, ...], P: int) -> float:
    """Return the cost of a user's D: the sum of -D over the inverted pairs."""
    N = len(places)
    pairs = ((j, i) for j in range(1, N + 1) for i in range(places[j - 1] + 1, P + 1))
    return -sum(difference(j, i, P, N) for j, i in pairs)


def score_of(places: tuple[int, ...], positives: np.ndarray, negatives: np.ndarray) -> float:
    """Return sum of +-(s+ - s-) / (P N), both sides sorted."""
    high = np.sort(positives.astype(float))[::-1]
    low = np.sort(negatives.astype(float))[::-1]
    sign = np.where(np.arange(len(high))[:, None] < np.array(places), 1.0, -1.0)
    return float((sign * (high[:, None] - low)).mean())


def value_of(
    positives: np.ndarray, negatives: np.ndarray, above_positive: np.ndarray, above: np.ndarray
) -> float:
    """Return the score of an interleaving by its weights, in the order that the samples have."""
    P, N = len(positives), len(negatives)
    weighted = (N - 2.0 * above_positive) @ positives.astype(float)
    weighted += (P - 2.0 * above) @ negatives.astype(float)
    return weighted / (P * N)


def random_scores(rng: np.random.Generator, P: int, N: int, dtype: type) -> tuple:
    """Return scores of positives and negatives: on a coarse grid, with many ties, or anywhere."""
    if rng.random() < 0.6:
        scores = rng.integers(-3, 4, size=P + N) / 2.0
    else:
        scores = rng.normal(size=P + N) * 10.0 ** rng.integers(-2, 2)
    scores = scores.astype(dtype)
    return scores[:P], scores[P:]

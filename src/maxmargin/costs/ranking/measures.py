"""Costs of rankings: average precision, NDCG, AUC, and those of the first k places.

All are 1 minus a measure that is 1 for the best ranking, so a cost is between 0 and 1, and 0 where
all relevant samples are on top (Mohapatra 2021, 3.2.2); ranking_pairs.py has a bound of one of
them. ``rule(shapes)`` gives a cost as compiled code reads it, for queries of the given numbers
(P, N) of relevant and irrelevant samples: tables are made for the largest, and what normalises a
query is looked up in them.
``value(relevant, order)`` is the cost of one given ranking.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin.inference.ranking.rule import (
    AREA,
    AVERAGE_PRECISION,
    DCG,
    DCG_AT_K,
    PRECISION_AT_K,
    RankingRule,
    cost_of_places,
    monotone_rule,
    top_rule,
)

__all__ = ["AUC", "NDCG", "AveragePrecision", "NDCGAtK", "PrecisionAtK", "graded_weights"]

#: What a grade is worth.
GAINS = ("exponential", "linear")
#: The largest grade whose exponential gain, times the documents of a query, is a number.
MOST_EXPONENTIAL = 1000.0


class _Ranking:
    """What the costs of rankings share."""

    def rule(self, shapes: Iterable[tuple[int, int]]) -> RankingRule:
        """Return the cost as compiled code reads it."""
        raise NotImplementedError

    def value(self, relevant: npt.ArrayLike, order: npt.ArrayLike) -> float:
        """Return the cost of a ranking.

        Parameters
        ----------
        relevant : array-like of shape (n,)
            Relevant where above 0.
        order : array-like of shape (n,)
            The samples from the top of the ranking down.
        """
        ranked = (_check_grades(relevant) > 0)[_check_order(order, np.size(relevant))]
        hits = np.flatnonzero(ranked)
        P, N = len(hits), len(ranked) - len(hits)
        if P == 0 or N == 0:
            return 0.0
        return float(cost_of_places(self.rule([(P, N)]), hits - np.arange(P), P, N))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        return asdict(self)  # type: ignore[call-overload]


@dataclass(frozen=True)
class AveragePrecision(_Ranking):
    """1 - average precision: (1/P) sum of 1 - i / rank of the i-th relevant sample.

    Examples
    --------
    >>> round(AveragePrecision().value([1, 1, 1, 1, 0, 0, 0, 0], [0, 2, 7, 3, 4, 1, 5, 6]), 3)
    0.146
    """

    def rule(self, shapes: Iterable[tuple[int, int]] = ()) -> RankingRule:
        """Return the cost as compiled code reads it."""
        return monotone_rule(AVERAGE_PRECISION)


@dataclass(frozen=True)
class AUC(_Ranking):
    """1 - area under the ROC curve: the share of pairs whose irrelevant sample stands above.

    Examples
    --------
    >>> AUC().value([1, 1, 0, 0], [0, 2, 1, 3])
    0.25
    """

    def rule(self, shapes: Iterable[tuple[int, int]] = ()) -> RankingRule:
        """Return the cost as compiled code reads it."""
        return monotone_rule(AREA)


@dataclass(frozen=True)
class PrecisionAtK(_Ranking):
    """1 - share of relevant samples among the first k, out of the min(k, P) that could be there.

    Where there are k relevant samples it is 1 - precision at k.

    Parameters
    ----------
    k : int, at least 1

    Examples
    --------
    >>> PrecisionAtK(2).value([1, 1, 0, 0], [0, 2, 1, 3])
    0.5
    """

    k: int = 10

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _check_k(self))

    def rule(self, shapes: Iterable[tuple[int, int]] = ()) -> RankingRule:
        """Return the cost as compiled code reads it."""
        return top_rule(PRECISION_AT_K, self.k)


class _Discounted(_Ranking):
    """What NDCG, that of the first places and its bound by pairs share: grades."""

    gain: str

    def value(self, relevant: npt.ArrayLike, order: npt.ArrayLike) -> float:
        """Return the cost of a ranking of samples with grades, 0 or 1 for relevance alone.

        Parameters
        ----------
        relevant : array-like of shape (n,), at least 0
        order : array-like of shape (n,)
            The samples from the top of the ranking down.
        """
        gains = _gains(relevant, self.gain)
        ranked = gains[_check_order(order, len(gains))]
        if not gains.any():
            return 0.0
        discounts = _discounts(self, len(gains))
        return float(self._lost(ranked, discounts, np.sort(gains)[::-1] @ discounts))

    def _lost(self, ranked: np.ndarray, discounts: np.ndarray, best: float) -> float:
        """Return what gains in this order lose, as a share of the best discounted sum."""
        return 1.0 - ranked @ discounts / best

    def shares(
        self, steps: np.ndarray, n_relevant: np.ndarray, ideals: np.ndarray, n: int
    ) -> np.ndarray:
        """Return what the cost of relevance alone weighs at each threshold."""
        weights = steps * ideals
        return np.asarray(weights / max(weights.sum(), np.finfo(float).tiny))


@dataclass(frozen=True)
class NDCG(_Discounted):
    """1 - normalised discounted cumulative gain, discounts 1/log2(1 + rank).

    Parameters
    ----------
    gain : {"exponential", "linear"}
        Of a grade g: 2^g - 1, or g. No matter where grades are 0 and 1.

    Examples
    --------
    >>> round(NDCG().value([1, 1, 1, 1, 0, 0, 0, 0], [0, 2, 7, 3, 4, 1, 5, 6]), 3)
    0.056
    """

    gain: str = "exponential"

    def __post_init__(self) -> None:
        _check_gain(self)

    def rule(self, shapes: Iterable[tuple[int, int]]) -> RankingRule:
        """Return the cost of relevance alone as compiled code reads it."""
        sizes = [(int(P), int(P + N)) for P, N in shapes]
        n_positives, n_samples = np.max(sizes, axis=0, initial=0) if sizes else (0, 0)
        return monotone_rule(DCG, int(n_positives), int(n_samples))


@dataclass(frozen=True)
class NDCGAtK(_Discounted):
    """1 - NDCG of the first k places, as what the best ranking has there.

    Parameters
    ----------
    k : int, at least 1
    gain : {"exponential", "linear"}
        As for `NDCG`.

    Examples
    --------
    >>> round(NDCGAtK(2).value([1, 1, 0, 0], [0, 2, 1, 3]), 6)
    0.386853
    """

    k: int = 10
    gain: str = "exponential"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _check_k(self))
        _check_gain(self)

    def rule(self, shapes: Iterable[tuple[int, int]] = ()) -> RankingRule:
        """Return the cost of relevance alone as compiled code reads it."""
        return top_rule(DCG_AT_K, self.k)


def graded_weights(
    grades: npt.ArrayLike, cost: Any
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return thresholds and weights that make a graded NDCG of NDCGs of relevance alone.

    The gain of a grade is the sum of the steps up to it, so for every ranking

        NDCG cost = sum_t weights[t] NDCG cost where samples of grade >= thresholds[t] are relevant,

    exactly: the ranking by grades is the best one for every threshold at once, so the ideals add up
    as the gains do. A threshold that all samples reach costs nothing and is left out; but for it
    the weights add up to 1. `NDCGPairs` is so made of costs 1 - AUC, with weights of any sum.

    Parameters
    ----------
    grades : array-like of shape (n,), of one query, at least 0
    cost : NDCG, NDCGAtK or NDCGPairs

    Examples
    --------
    >>> thresholds, weights = graded_weights([2, 1, 0, 0], NDCG())
    >>> thresholds, weights.round(3)
    (array([1., 2.]), array([0.449, 0.551]))
    """
    levels = np.unique(np.concatenate([[0.0], _check_grades(grades)]))
    steps = np.diff(_gains(levels, cost.gain))
    thresholds = levels[1:]
    n_relevant = (_check_grades(grades)[:, None] >= thresholds).sum(axis=0)
    ideal = np.concatenate([[0.0], np.cumsum(_discounts(cost, np.size(grades)))])[n_relevant]
    weights = cost.shares(steps, n_relevant, ideal, np.size(grades))
    reached_by_all = n_relevant == np.size(grades)
    return thresholds[~reached_by_all], weights[~reached_by_all]


def _discounts(cost, n):
    discounts = 1.0 / np.log2(np.arange(2, n + 2))
    if isinstance(cost, NDCGAtK):
        discounts[cost.k :] = 0.0
    return discounts


def _gains(grades, gain):
    checked = _check_grades(grades)
    if gain == "linear":
        return checked
    top = checked.max(initial=0.0)
    if top > MOST_EXPONENTIAL:
        raise ValueError(f"the gain 2**{top:g} - 1 is too large; gain='linear' takes any grade.")
    return np.exp2(checked) - 1.0


def _check_grades(grades):
    array = np.asarray(grades, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"grades must have one dimension, got an array of shape {array.shape}.")
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        where = int(np.argmax(bad))
        raise ValueError(f"grades[{where}] is {array[where]:g}; expected finite grades >= 0.")
    return array


def _check_order(order, n):
    array = np.asarray(order)
    if array.shape != (n,) or not np.array_equal(np.sort(array), np.arange(n)):
        raise ValueError(f"order must hold each of the {n} samples once, the first on top.")
    return array


def _check_k(cost):
    name = type(cost).__name__
    try:
        k = operator.index(cost.k)
    except TypeError:
        raise TypeError(f"{name}: k must be a whole number, got {cost.k!r}.") from None
    if k < 1:
        raise ValueError(f"{name}: k must be at least 1, got {k}.")
    return k


def _check_gain(cost):
    if cost.gain not in GAINS:
        raise ValueError(
            f"{type(cost).__name__}: gain must be one of {', '.join(GAINS)}, got {cost.gain!r}."
        )

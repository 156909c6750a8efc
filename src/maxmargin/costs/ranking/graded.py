"""What NDCG, that of the first places and its bound by pairs share: grades and discounts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin.costs.ranking.base import RankingBase, check_grades, check_order

__all__ = ["GradedBase", "check_gain", "graded_weights"]

#: What a grade is worth.
GAINS = ("exponential", "linear")
#: The largest grade: beyond it, the sum of the exponential gains of a query may overflow.
MOST_EXPONENTIAL = 1000.0


class GradedBase(RankingBase):
    """A cost made of gains of samples, each times a discount that depends on its place."""

    gain: str

    @property
    def measure(self) -> str | None:
        """The name of the measure: the cost is 1 - measure, or a bound of that."""
        return "ndcg"

    def discounts(self, n: int) -> np.ndarray:
        """Return the discounts of n places, by which gains are multiplied."""
        return np.asarray(1.0 / np.log2(np.arange(2, n + 2)))

    def value(self, relevant: npt.ArrayLike, order: npt.ArrayLike) -> float:
        """Return the cost of a ranking of samples with grades, 0 or 1 for relevance alone.

        Parameters
        ----------
        relevant : array-like of shape (n,), at least 0
        order : array-like of shape (n,)
            The samples from the top of the ranking down.
        """
        gains = _gains(relevant, self.gain)
        ranked = gains[check_order(order, len(gains))]
        if not gains.any():
            return 0.0
        discounts = self.discounts(len(gains))
        return float(self.lost(ranked, discounts, float(np.sort(gains)[::-1] @ discounts)))

    def lost(self, ranked: np.ndarray, discounts: np.ndarray, best: float) -> float:
        """Return 1 - (discounted sum of gains in this order) / (the best discounted sum)."""
        return float(1.0 - ranked @ discounts / best)

    def shares(
        self, steps: np.ndarray, n_relevant: np.ndarray, ideals: np.ndarray, n: int
    ) -> np.ndarray:
        """Return what the cost of relevance alone weighs at each threshold."""
        weights = steps * ideals
        return np.asarray(weights / max(weights.sum(), np.finfo(float).tiny))

    def thresholds(
        self, grades: np.ndarray, relevant: float
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return `graded_weights`; ``relevant`` is not read, since every grade counts."""
        return graded_weights(grades, self)


def graded_weights(
    grades: npt.ArrayLike, cost: GradedBase
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return thresholds and weights that make a graded NDCG of NDCGs of relevance alone.

    The gain of a grade is the sum of the steps up to it, so for every ranking

        NDCG cost = sum_t weights[t] NDCG cost where samples of grade >= thresholds[t] are relevant,

    exactly. For the ranking by grades is the best one for every threshold at once, so the best DCGs
    add up as the gains do. A threshold that all samples reach costs nothing and is left out; with
    it, the weights would add up to 1. In the same way `NDCGPairs` is made of costs 1 - AUC, with
    weights whose sum is not 1.

    Parameters
    ----------
    grades : array-like of shape (n,), of one query, at least 0
    cost : NDCG, NDCGAtK or NDCGPairs

    Examples
    --------
    >>> from maxmargin.costs import NDCG
    >>> thresholds, weights = graded_weights([2, 1, 0, 0], NDCG())
    >>> thresholds, weights.round(3)
    (array([1., 2.]), array([0.449, 0.551]))
    """
    checked = check_grades(grades)
    n = len(checked)
    levels = np.unique(np.concatenate([[0.0], checked]))
    steps = np.diff(_gains(levels, cost.gain))
    thresholds = levels[1:]
    n_relevant = (checked[:, None] >= thresholds).sum(axis=0)
    ideal = np.concatenate([[0.0], np.cumsum(cost.discounts(n))])[n_relevant]
    weights = cost.shares(steps, n_relevant, ideal, n)
    reached_by_all = n_relevant == n
    return thresholds[~reached_by_all], weights[~reached_by_all]


def check_gain(cost: Any) -> None:
    """Refuse a gain that is not known."""
    if cost.gain not in GAINS:
        raise ValueError(
            f"{type(cost).__name__}: gain must be one of {', '.join(GAINS)}, got {cost.gain!r}."
        )


def _gains(grades: npt.ArrayLike, gain: str) -> np.ndarray:
    checked = check_grades(grades)
    if gain == "linear":
        return checked
    top = checked.max(initial=0.0)
    if top > MOST_EXPONENTIAL:
        raise ValueError(f"the gain 2**{top:g} - 1 is too large; gain='linear' takes any grade.")
    return np.asarray(np.exp2(checked) - 1.0)

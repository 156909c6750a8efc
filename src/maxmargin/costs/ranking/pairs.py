"""NDCG bounded by pairs: what every pair of documents in the wrong order may take from it.

Rank by grade, then swap neighbours until the ranking y is reached: each pair in the wrong order is
swapped once, at places r and r + 1, which takes (gain_i - gain_j) (d_r - d_{r+1}) from the DCG. The
discounts d_r = 1/log2(1 + r) fall by at most d_1 - d_2 from a place to the next, so

    1 - NDCG(y) <= (d_1 - d_2) / best DCG * sum of gain_i - gain_j over pairs in the wrong order.

The right side is `NDCGPairs` (compare the linear bound of Wang et al. 2018, "The LambdaLoss
framework"). The price of a pair does not depend on places, and neither do the features of a
ranking. So the loss of a query is a sum of hinge losses, one per pair, and the most violating
ranking is found pair by pair. The cost 1 - NDCG depends mostly on the first places, and so on few
pairs, while the features are a mean over all pairs: with many documents its loss depends on the few
documents on top.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from maxmargin.costs.ranking.graded import GradedBase, check_gain
from maxmargin.inference.ranking.rule import AREA, RankingRule, monotone_rule

__all__ = ["NDCGPairs"]

#: d_1 - d_2, the largest difference of the discounts of two neighbouring places.
LARGEST_STEP = 1.0 - 1.0 / np.log2(3.0)


@dataclass(frozen=True)
class NDCGPairs(GradedBase):
    """The most that the pairs in the wrong order can take from NDCG; at least 1 - NDCG.

    (1 - 1/log2 3) / best DCG times the sum of gain_i - gain_j over pairs where j, of the lower
    grade, stands above i. It may be above 1.

    Parameters
    ----------
    gain : {"exponential", "linear"}
        As for `NDCG`.

    Examples
    --------
    >>> from maxmargin.costs import NDCG
    >>> grades, order = [2, 1, 0, 0], [1, 2, 0, 3]
    >>> round(NDCG().value(grades, order), 3), round(NDCGPairs().value(grades, order), 3)
    (0.311, 0.508)
    """

    gain: str = "exponential"

    def __post_init__(self) -> None:
        check_gain(self)

    def rule(self, shapes: Iterable[tuple[int, int]] = ()) -> RankingRule:
        """Return the cost of relevance alone as compiled code reads it, up to `shares`."""
        return monotone_rule(AREA)

    def lost(self, ranked: np.ndarray, discounts: np.ndarray, best: float) -> float:
        """Return what pairs in the wrong order may take from the DCG, over the best DCG."""
        swapped = np.maximum(np.triu(ranked[None, :] - ranked[:, None], 1), 0.0).sum()
        return float(LARGEST_STEP * swapped / best)

    def shares(
        self, steps: np.ndarray, n_relevant: np.ndarray, ideals: np.ndarray, n: int
    ) -> np.ndarray:
        """Return what 1 - AUC weighs at each threshold, of n samples; see `graded_weights`."""
        pairs = n_relevant * (n - n_relevant)
        best = max(float(steps @ ideals), np.finfo(float).tiny)
        return np.asarray(LARGEST_STEP * steps * pairs / best)

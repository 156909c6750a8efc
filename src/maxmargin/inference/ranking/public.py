"""Rankings of relevant and irrelevant samples: the one that violates the most.

The kernels, for compiled callers, are in `interleave`. The functions here check their arguments.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from maxmargin.inference.ranking.interleave import interleave, ranking_room
from maxmargin.inference.ranking.rule import RankingRule

__all__ = ["ViolatingRanking", "most_violating_ranking"]


class HasRule(Protocol):
    """A cost of rankings, as in `maxmargin.costs`."""

    def rule(self, shapes: Iterable[tuple[int, int]]) -> RankingRule:
        """Return the rule for queries of these numbers of positives and negatives."""
        ...


class ViolatingRanking(NamedTuple):
    """The interleaving of relevant and irrelevant samples that violates the most.

    Attributes
    ----------
    above : int32 array of shape (n,)
        For each relevant sample how many irrelevant ones stand above it, and vice versa. Relevant
        samples stand in the order of their scores, and so do irrelevant ones.
    weights : float64 array of shape (n,)
        The factor of each score: value = weights . scores + cost_scale cost.
    value : float
        The maximum that was found.
    cost : float
        The cost of this ranking, without `cost_scale`.
    evaluations, comparisons : int
        How many differences of the cost were evaluated, and how many scores were compared.
    """

    above: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float64]
    value: float
    cost: float
    evaluations: int
    comparisons: int


def most_violating_ranking(
    scores: npt.ArrayLike, relevant: npt.ArrayLike, cost: HasRule, cost_scale: float = 1.0
) -> ViolatingRanking:
    """Return the interleaving that maximises mean +-(s+ - s-) + cost_scale cost.

    The mean is over all pairs of a relevant and an irrelevant sample, with + where the relevant one
    stands above. Of ties the interleaving nearest to the truth is taken. Exact for every cost.

    Parameters
    ----------
    scores : array-like of shape (n,), finite; float32 is not copied to float64
    relevant : array-like of shape (n,) of bools, or of 0 and 1
    cost : a cost of rankings, such as ``maxmargin.costs.AveragePrecision()``
    cost_scale : float, at least 0

    Examples
    --------
    >>> from maxmargin.costs import AveragePrecision
    >>> from maxmargin.inference.ranking.public import most_violating_ranking
    >>> found = most_violating_ranking([2.0, 0.1, 1.0, -1.0], [1, 1, 0, 0], AveragePrecision())
    >>> found.above
    array([0, 1, 1, 2], dtype=int32)
    >>> found.weights
    array([ 0.5,  0. ,  0. , -0.5])
    >>> round(found.cost, 3), round(found.value, 3)
    (0.167, 1.667)
    """
    checked = _check_scores(scores)
    is_positive = _check_relevant(relevant, len(checked))
    scale = _check_scale(cost_scale)
    if not hasattr(cost, "rule"):
        raise TypeError(
            f"cost must be a cost of rankings, such as maxmargin.costs.AveragePrecision(), "
            f"got {cost!r}."
        )
    positives, negatives = checked[is_positive], checked[~is_positive]
    P, N = len(positives), len(negatives)
    room = ranking_room(P, N)
    above_positive, above_negative = np.empty(P, dtype=np.int32), np.empty(N, dtype=np.int32)
    rule = cost.rule([(P, N)])
    paid = interleave(rule, positives, negatives, scale, room, above_positive, above_negative)
    above = np.empty(P + N, dtype=np.int32)
    above[is_positive], above[~is_positive] = above_positive, above_negative
    others = np.where(is_positive, N, P)
    # Divide by P, then by N: the product P N may not fit in an int32.
    weights = (others - 2.0 * above) / max(P, 1) / max(N, 1)
    if P == 0 or N == 0:
        weights[:] = 0.0
    value = float(weights @ checked) + scale * paid
    evaluations, comparisons = (int(count) for count in room.tally)
    return ViolatingRanking(above, weights, value, float(paid), evaluations, comparisons)


def _check_scores(scores):
    array = np.asarray(scores)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"scores must hold real numbers, got dtype {array.dtype}.")
    if array.ndim != 1:
        raise ValueError(f"scores must have one dimension, got an array of shape {array.shape}.")
    if array.dtype != np.float32:
        array = array.astype(np.float64)
    bad = ~np.isfinite(array)
    if bad.any():
        where = int(np.argmax(bad))
        raise ValueError(f"scores[{where}] is {array[where]}; expected finite numbers.")
    return array


def _check_relevant(relevant, n):
    array = np.asarray(relevant)
    if array.shape != (n,):
        raise ValueError(f"relevant has shape {array.shape}; expected ({n},), one per score.")
    if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise ValueError("relevant must hold bools, or zeros and ones.")
    return array.astype(bool)


def _check_scale(value):
    scale = float(value)
    if not 0.0 <= scale < np.inf:
        raise ValueError(f"cost_scale must be finite and at least 0, got {scale}.")
    return scale

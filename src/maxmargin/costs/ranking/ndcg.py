"""1 - normalised discounted cumulative gain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from maxmargin.costs.ranking.graded import GradedBase, check_gain
from maxmargin.inference.ranking.rule import DCG, RankingRule, monotone_rule

__all__ = ["NDCG"]


@dataclass(frozen=True)
class NDCG(GradedBase):
    """1 - normalised discounted cumulative gain, discounts 1/log2(1 + rank).

    Parameters
    ----------
    gain : {"exponential", "linear"}
        The gain of a grade g is 2^g - 1, or g. The two are equal for grades 0 and 1.

    Examples
    --------
    >>> round(NDCG().value([1, 1, 1, 1, 0, 0, 0, 0], [0, 2, 7, 3, 4, 1, 5, 6]), 3)
    0.056
    """

    gain: str = "exponential"

    def __post_init__(self) -> None:
        check_gain(self)

    def rule(self, shapes: Iterable[tuple[int, int]]) -> RankingRule:
        """Return the cost of relevance alone as compiled code reads it."""
        sizes = [(int(P), int(P + N)) for P, N in shapes]
        n_positives, n_samples = np.max(sizes, axis=0, initial=0) if sizes else (0, 0)
        return monotone_rule(DCG, int(n_positives), int(n_samples))

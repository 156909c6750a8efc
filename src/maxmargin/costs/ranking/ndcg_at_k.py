"""1 - NDCG of the first k places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from maxmargin.costs.base import Names
from maxmargin.costs.ranking.base import check_k
from maxmargin.costs.ranking.graded import GradedBase, check_gain
from maxmargin.inference.ranking.rule import DCG_AT_K, RankingRule, top_rule

__all__ = ["NDCGAtK"]


@dataclass(frozen=True)
class NDCGAtK(GradedBase):
    """1 - NDCG of the first k places: their DCG over the DCG that the best ranking has there.

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
        object.__setattr__(self, "k", check_k(self))
        check_gain(self)

    @classmethod
    def example(cls, names: Names) -> NDCGAtK:
        """Return one that looks at two places, as small cases have few."""
        return cls(k=2)

    @property
    def measure(self) -> str:
        """The name of the measure: the cost is 1 - measure."""
        return f"ndcg@{self.k}"

    def discounts(self, n: int) -> np.ndarray:
        """Return the discounts of n places: 0 after the k-th."""
        discounts = super().discounts(n)
        discounts[self.k :] = 0.0
        return discounts

    def rule(self, shapes: Iterable[tuple[int, int]] = ()) -> RankingRule:
        """Return the cost of relevance alone as compiled code reads it."""
        return top_rule(DCG_AT_K, self.k)

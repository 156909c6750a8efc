"""1 - precision of the first k places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from maxmargin.costs.base import Names
from maxmargin.costs.ranking.base import RankingBase, check_k
from maxmargin.inference.ranking.rule import PRECISION_AT_K, RankingRule, top_rule

__all__ = ["PrecisionAtK"]


@dataclass(frozen=True)
class PrecisionAtK(RankingBase):
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
        object.__setattr__(self, "k", check_k(self))

    @classmethod
    def example(cls, names: Names) -> PrecisionAtK:
        """Return one that looks at two places, as small cases have few."""
        return cls(k=2)

    @property
    def measure(self) -> str:
        """The name of the measure: the cost is 1 - measure."""
        return f"precision@{self.k}"

    def rule(self, shapes: Iterable[tuple[int, int]] = ()) -> RankingRule:
        """Return the cost as compiled code reads it."""
        return top_rule(PRECISION_AT_K, self.k)

    def tells_apart(self, n_relevant: np.ndarray, n: int) -> np.ndarray:
        """Tell whether the cost depends on the ranking: not if there are at most k samples."""
        return super().tells_apart(n_relevant, n) & (n > self.k)

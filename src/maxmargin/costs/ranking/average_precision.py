"""1 - average precision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from maxmargin.costs.ranking.base import RankingBase
from maxmargin.inference.ranking.rule import AVERAGE_PRECISION, RankingRule, monotone_rule

__all__ = ["AveragePrecision"]


@dataclass(frozen=True)
class AveragePrecision(RankingBase):
    """1 - average precision: (1/P) sum of 1 - i / rank of the i-th relevant sample.

    Examples
    --------
    >>> round(AveragePrecision().value([1, 1, 1, 1, 0, 0, 0, 0], [0, 2, 7, 3, 4, 1, 5, 6]), 3)
    0.146
    """

    @property
    def measure(self) -> str:
        """The name of the measure: the cost is 1 - measure."""
        return "average_precision"

    def rule(self, shapes: Iterable[tuple[int, int]] = ()) -> RankingRule:
        """Return the cost as compiled code reads it."""
        return monotone_rule(AVERAGE_PRECISION)

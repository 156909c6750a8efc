"""1 - area under the ROC curve."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from maxmargin.costs.ranking.base import RankingBase
from maxmargin.inference.ranking.rule import AREA, RankingRule, monotone_rule

__all__ = ["AUC"]


@dataclass(frozen=True)
class AUC(RankingBase):
    """1 - area under the ROC curve: the share of pairs whose irrelevant sample stands above.

    Examples
    --------
    >>> AUC().value([1, 1, 0, 0], [0, 2, 1, 3])
    0.25
    """

    @property
    def measure(self) -> str:
        """The name of the measure: the cost is 1 - measure."""
        return "auc"

    def rule(self, shapes: Iterable[tuple[int, int]] = ()) -> RankingRule:
        """Return the cost as compiled code reads it."""
        return monotone_rule(AREA)

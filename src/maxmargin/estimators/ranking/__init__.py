"""`RankingSVM`, and what it is made of."""

from __future__ import annotations

from maxmargin.estimators.ranking.svm import RankingSVM

__all__ = ["RankingSVM"]

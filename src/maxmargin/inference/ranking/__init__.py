"""Rankings of relevant and irrelevant samples: the one that violates the most."""

from __future__ import annotations

from maxmargin.inference.ranking.public import HasRule, ViolatingRanking, most_violating_ranking

__all__ = ["HasRule", "ViolatingRanking", "most_violating_ranking"]

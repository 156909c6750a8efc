"""Checkpoints of one_slack: planes over queries."""

from __future__ import annotations

from typing import Any

from fuzz.checkpoints import Case, mutate

__all__ = ["mutate", "run", "seeds"]

X = [[[0.0, 1.0], [1.0, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 0.0]]]
Y = [[0, 1, 1], [1, 0]]


def _make(**options: Any) -> Any:
    from maxmargin import RankingSVM

    return RankingSVM(solver="one_slack", random_state=0, cost="ap", **options)


CASE = Case(_make, X, Y)
seeds, run = CASE.seeds, CASE.run

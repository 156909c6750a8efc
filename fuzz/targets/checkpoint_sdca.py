"""Checkpoints of sdca: lists of classes."""

from __future__ import annotations

from typing import Any

from fuzz.checkpoints import Case, mutate

__all__ = ["mutate", "run", "seeds"]

X, Y = [[0.0, 1.0], [1.0, 0.5], [0.5, -1.0]], ["x", "y", "z"]


def _make(**options: Any) -> Any:
    from maxmargin import MulticlassSVM

    return MulticlassSVM(solver="sdca", random_state=0, surrogate="log", **options)


CASE = Case(_make, X, Y)
seeds, run = CASE.seeds, CASE.run

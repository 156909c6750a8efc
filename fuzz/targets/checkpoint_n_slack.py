"""Checkpoints of n_slack: blocks of sequences."""

from __future__ import annotations

from typing import Any

from fuzz.checkpoints import Case, mutate

__all__ = ["mutate", "run", "seeds"]

X = [[[0.0, 1.0], [1.0, 0.5]], [[1.0, 0.0]], [[0.5, 1.0], [0.0, 0.0]]]
Y = [["x", "y"], ["y"], ["y", "x"]]


def _make(**options: Any) -> Any:
    from maxmargin import ChainSVM

    return ChainSVM(solver="n_slack", random_state=0, **options)


CASE = Case(_make, X, Y)
seeds, run = CASE.seeds, CASE.run

"""Checkpoints of bcfw: blocks of label sets with pairs, and a search that remembers."""

from __future__ import annotations

from typing import Any

from fuzz.checkpoints import Case, mutate

__all__ = ["mutate", "run", "seeds"]

X = [[0.0, 1.0], [1.0, 0.5], [0.5, 0.5]]
Y = [["x"], ["y", "z"], []]


def _make(**options: Any) -> Any:
    from maxmargin import MultilabelSVM

    return MultilabelSVM(
        solver="bcfw", random_state=0, pairwise="full", surrogate="slack", search="hull", **options
    )


CASE = Case(_make, X, Y)
seeds, run = CASE.seeds, CASE.run

"""Model files of MulticlassSVM: dense rows, and rows of names."""

from __future__ import annotations

from typing import Any

from fuzz import models
from fuzz.models import mutate

__all__ = ["mutate", "run", "seeds"]

ROWS, NAMES = [[0.0, 1.0], [1.0, 0.5]], [{"a": 1.0, "b": 2.0}, {"b": 1.0}]


def seeds() -> list[bytes]:
    from maxmargin import MulticlassSVM
    from maxmargin.costs import CostMatrix

    matrix = CostMatrix([[0.0, 1.0], [2.0, 0.0]])
    first = MulticlassSVM(max_iter=2, tol=0.9, random_state=0).fit(ROWS, ["x", "y"])
    second = MulticlassSVM(
        max_iter=2, tol=0.9, cost=matrix, random_state=0, fit_intercept=False, classes=[3, 7]
    ).fit(NAMES, [3, 7])
    return models.saved(first, second)


def _inputs(model: Any) -> Any:
    if model.features_ is not None:
        return NAMES
    return [[0.5] * model.n_features_in_]


def run(data: bytes) -> None:
    models.run(data, _inputs)

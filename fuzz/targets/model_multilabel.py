"""Model files of MultilabelSVM: without pairs, a tree, all pairs, thresholds, sets and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz import models
from fuzz.models import mutate

__all__ = ["mutate", "run", "seeds"]

ROWS, NAMES = [[0.0, 1.0], [1.0, 0.5], [0.5, 0.5]], [{"a": 1.0, "b": 2.0}, {"b": 1.0}, {}]
SETS = [["x"], ["y", "z"], []]


def seeds() -> list[bytes]:
    from maxmargin import MultilabelSVM

    options: dict[str, Any] = {"max_iter": 2, "tol": 0.9, "random_state": 0}
    matrix = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 0]])
    return models.saved(
        MultilabelSVM(**options).fit(ROWS, SETS).tune_thresholds(ROWS, SETS),
        MultilabelSVM(pairwise="full", **options).fit(NAMES, matrix),
        MultilabelSVM(pairwise="tree", fit_intercept=False, **options).fit(ROWS, SETS),
    )


def _inputs(model: Any) -> Any:
    if model.features_ is not None:
        return NAMES if model.features_.kind == "dict" else [["a"], []]
    return [[0.5] * model.n_features_in_]


def run(data: bytes) -> None:
    models.run(data, _inputs)

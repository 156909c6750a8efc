"""Model files of ChainSVM: all blocks of weights and few, constraints, feature dictionaries."""

from __future__ import annotations

from typing import Any

from fuzz import models
from fuzz.models import mutate

__all__ = ["mutate", "run", "seeds"]

ROWS = [[[0.0, 1.0], [1.0, 0.5]], [[1.0, 0.0]]]
NAMES = [[{"a": 1.0, "b": 2.0}, {"b": 1.0}], [{"a": 1.0}]]


def seeds() -> list[bytes]:
    from maxmargin import ChainSVM, Constraints

    options: dict[str, Any] = {"max_iter": 2, "tol": 0.9, "random_state": 0}
    rules = Constraints(forbidden=[("x", "x")], forbidden_end=["x"])
    return models.saved(
        ChainSVM(**options).fit(ROWS, [["x", "y"], ["y"]]),
        ChainSVM(constraints=rules, fit_start=False, **options).fit(NAMES, [["x", "y"], ["y"]]),
        ChainSVM(constraints="iob2", fit_intercept=False, **options).fit(
            ROWS, [["B-X", "I-X"], ["O"]]
        ),
    )


def _inputs(model: Any) -> Any:
    if model.features_ is not None:
        return NAMES if model.features_.kind == "dict" else [[["a"], []]]
    return [[[0.5] * model.n_features_in_] * 3]


def run(data: bytes) -> None:
    models.run(data, _inputs)

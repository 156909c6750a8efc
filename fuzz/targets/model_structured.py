"""Model files of StructuredSVM with a registered structure in plain Python."""

from __future__ import annotations

from typing import Any

from fuzz import models
from fuzz.models import mutate

__all__ = ["mutate", "run", "seeds"]


class Interval:
    """A sign and a size, chosen together."""

    n_features = 2

    def __init__(self, largest: int) -> None:
        if type(largest) is not int or not 1 <= largest <= 100:
            raise ValueError(f"Interval: largest must be 1..100, got {largest!r}.")
        self.largest = largest

    def parameters(self) -> dict[str, Any]:
        return {"largest": self.largest}

    def joint_feature(self, x: float, y: int) -> list[float]:
        return [x * y, -0.5 * y * y]

    def cost(self, y: int, y_true: int) -> float:
        return abs(y - y_true)

    def maximize(self, x: float, w: Any, y_true: Any, score_scale: float, cost_scale: float) -> int:
        def value(y: int) -> float:
            price = 0 if y_true is None else self.cost(y, y_true)
            return score_scale * float(w @ self.joint_feature(x, y)) + cost_scale * price

        return max(range(-self.largest, self.largest + 1), key=value)


def _register() -> None:
    from maxmargin.estimators import register_structure

    register_structure(Interval)


def seeds() -> list[bytes]:
    from maxmargin import StructuredSVM

    _register()
    model = StructuredSVM(Interval(2), max_iter=2, tol=0.9, random_state=0)
    return models.saved(model.fit([-2, 1, 2], [-2, 1, 2]))


def run(data: bytes) -> None:
    _register()
    models.run(data, lambda model: [-1.0, 0.5])

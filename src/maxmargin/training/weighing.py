"""Features with weights of their own: a task as it is solved, and its weights as users see them.

Where a structure scales the columns of its features (see core/contract/weighted.py), a run works
with w' = w / sqrt(alpha). All that leaves a run is converted here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.core.contract import has, kernel_use, name_of, weigh_columns
from maxmargin.solvers.result import Result
from maxmargin.training.settings import resolve_regularizer
from maxmargin.training.task import Task

__all__ = ["Units", "weigh"]


@dataclass(frozen=True)
class Units:
    """The factors that turn weights of a run into weights of the features as they were encoded."""

    factors: np.ndarray | None = None

    def seen(self, w: np.ndarray) -> np.ndarray:
        """Return weights of a run as users see them."""
        return w if self.factors is None else self._fitting(w) * w

    def solved(self, w: np.ndarray | None) -> np.ndarray | None:
        """Return weights as a run has them; where a feature is not used they are 0."""
        if w is None or self.factors is None:
            return w
        factors = self._fitting(w)
        return np.divide(w, factors, out=np.zeros_like(w), where=factors > 0.0)

    def result(self, result: Result) -> Result:
        """Return a result with its weights as users see them."""
        return result if self.factors is None else replace(result, w=self.seen(result.w))

    def score(self, score: Callable[[np.ndarray], float] | None) -> Any:
        """Return a score of weights of a run, given one of weights as users see them."""
        if score is None or self.factors is None:
            return score
        return lambda w: score(self.seen(w))

    def callbacks(self, callbacks: list[Any]) -> list[Any]:
        """Return callbacks that are told weights as users see them."""
        return callbacks if self.factors is None else [_Told(each, self) for each in callbacks]

    def _fitting(self, w: np.ndarray) -> np.ndarray:
        # A stage may have added cells behind those of the features, such as a bias.
        more = len(w) - len(self.factors)  # type: ignore[arg-type]
        return np.append(self.factors, np.ones(more)) if more else self.factors  # type: ignore


class _Told:
    """A callback that is told weights as users see them."""

    def __init__(self, callback: Any, units: Units) -> None:
        self.callback, self.units = callback, units

    def __call__(self, event: Any) -> Any:
        return self.callback(replace(event, w=self.units.seen(event.w)))

    def end(self) -> None:
        if hasattr(self.callback, "end"):
            self.callback.end()


def weigh(estimator: Any, task: Task) -> tuple[Task, Units]:
    """Return a task under the norm of the estimator, and the units of its weights."""
    regularizer = resolve_regularizer(estimator.regularizer)
    alpha = regularizer.of(estimator._weighed_names(), estimator._n_weighed())
    if alpha is None:
        return task, Units()
    if kernel_use(task.data) is not None:
        raise ValueError(
            f"regularizer={type(regularizer).__name__} weighs features, but a kernel knows none: "
            "scale the rows that it compares, or take regularizer='euclidean'."
        )
    if not has(weigh_columns, type(task.data)):
        raise ValueError(
            f"regularizer={type(regularizer).__name__} gives features weights of their own, but "
            f"{name_of(task.data)} does not implement weigh_columns: scale its features instead."
        )
    columns = estimator._column_features()
    if columns is not None:
        alpha = alpha[columns]
    data, factors = weigh_columns(task.data, alpha)
    return replace(task, data=data), Units(factors)

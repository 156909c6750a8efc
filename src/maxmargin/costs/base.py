"""What a task loss must offer."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from maxmargin.costs.tables import PartCost, WholeCost


class Cost(Protocol):
    """A task loss cost(y, y_true) >= 0, zero where y is y_true.

    ``tables(classes, sizes)`` gives the loss as compiled code reads it, for examples that have
    ``sizes[i]`` positions whose labels are indices into ``classes``: a `PartCost`, a sum over
    positions, or a `WholeCost`. It raises ValueError where the loss does not fit the classes.

    A cost is an immutable value: equal parameters, equal cost. `parameters` gives them back, for
    model files.
    """

    def tables(self, classes: np.ndarray, sizes: np.ndarray) -> PartCost | WholeCost:
        """Return the loss as compiled code reads it."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        ...


def largest_cost(tables: PartCost | WholeCost, truth: np.ndarray, i: int) -> float:
    """Return the largest cost that any labelling can have where `truth` is right."""
    if isinstance(tables, WholeCost):
        return float(tables.price[i])
    return float(tables.scale[i] * tables.matrix.max(axis=1)[truth].sum())

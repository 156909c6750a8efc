"""A distance between ordered labels: being off by two grades is worse than by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.costs.base import Cost, Names
from maxmargin.costs.hamming import Hamming, position_scale
from maxmargin.costs.tables import PartCost


@dataclass(frozen=True)
class Ordinal(Cost):
    """Sum over positions of |rank of the predicted label - rank of the true label| ** power.

    Parameters
    ----------
    order : sequence of labels, or None
        All labels from the lowest to the highest. None: in the order of the estimator's
        ``classes_`` (sorted labels, or the order of its ``classes`` parameter).
    power : float, above 0
        1 counts the ranks between, 2 punishes large mistakes more.
    average : {"sum", "mean"}
        As for `Hamming`.

    Examples
    --------
    >>> cost = Ordinal(["low", "middle", "high"])
    >>> cost.tabulate("positions", ["high", "low", "middle"], [1]).matrix
    array([[0., 2., 1.],
           [2., 0., 1.],
           [1., 1., 0.]])
    """

    order: Sequence[Any] | None = None
    power: float = 1.0
    average: str = "sum"

    def __post_init__(self) -> None:
        Hamming(self.average)
        if not (isinstance(self.power, (int, float)) and 0.0 < self.power < np.inf):
            raise ValueError(f"Ordinal: power must be a number > 0, got {self.power!r}.")
        if self.order is not None:
            if isinstance(self.order, str) or len(set(self.order)) < len(self.order):
                raise ValueError(f"Ordinal: order must name each label once, got {self.order!r}.")
            object.__setattr__(self, "order", tuple(self.order))

    def positions(self, names: Names, sizes: np.ndarray) -> PartCost:
        """Return the loss as compiled code reads it."""
        known = list(names)
        order = known if self.order is None else list(self.order)
        for label in known:
            if label not in order:
                raise ValueError(f"Ordinal: order does not name the class {label!r}.")
        for label in order:
            if label not in known:
                raise ValueError(f"Ordinal: order names {label!r}, which is no class.")
        rank = np.array([order.index(label) for label in known], dtype=np.float64)
        matrix = np.abs(rank[:, None] - rank) ** self.power
        return PartCost(matrix, position_scale(self.average, sizes))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        order = None if self.order is None else list(self.order)
        return {"order": order, "power": self.power, "average": self.average}

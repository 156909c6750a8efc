"""Class-weighted Hamming cost: a wrong position costs what its true label says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.costs.hamming import Hamming, position_scale
from maxmargin.costs.tables import PartCost


@dataclass(frozen=True)
class ClassWeighted:
    """Wrong positions, each counted with the weight of its true label.

    Parameters
    ----------
    weights : mapping from label to weight
        Labels that are not named weigh 1. Weights are finite and >= 0.
    average : {"sum", "mean"}
        As for `Hamming`.

    Examples
    --------
    >>> import numpy as np
    >>> ClassWeighted({"b": 3.0}).tables(np.array(["a", "b"]), np.array([2])).matrix
    array([[0., 1.],
           [3., 0.]])
    """

    weights: Mapping[Any, float]
    average: str = "sum"

    def __post_init__(self) -> None:
        Hamming(self.average)
        for label, weight in self.weights.items():
            if not (np.isfinite(weight) and weight >= 0):
                raise ValueError(
                    f"ClassWeighted: weights[{label!r}] must be finite and >= 0, got {weight!r}."
                )

    def tables(self, classes: np.ndarray, sizes: np.ndarray) -> PartCost:
        """Return the loss as compiled code reads it."""
        known = list(classes)
        for label in self.weights:
            if label not in known:
                raise ValueError(f"ClassWeighted: weights names {label!r}, which is no class.")
        weight = np.array([float(self.weights.get(label, 1.0)) for label in known])
        matrix = weight[:, None] * (1.0 - np.eye(len(known)))
        return PartCost(matrix, position_scale(self.average, sizes))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        return {"weights": dict(self.weights), "average": self.average}

"""Class-weighted Hamming cost: a wrong position costs what its true label says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.costs.base import Cost, Names
from maxmargin.costs.hamming import Hamming, position_scale
from maxmargin.costs.tables import PartCost, SwitchCost, switch_cost


@dataclass(frozen=True)
class ClassWeighted(Cost):
    """Wrong positions, each counted with the weight of its true label; wrong labels of a set.

    A label of a set has one weight, wherever it is wrong, on or off.

    Parameters
    ----------
    weights : mapping from label to weight
        Labels that are not named weigh 1. Weights are finite and >= 0.
    average : {"sum", "mean"}
        As for `Hamming`.

    Examples
    --------
    >>> ClassWeighted({"b": 3.0}).tabulate("positions", ["a", "b"], [2]).matrix
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

    def positions(self, names: Names, sizes: np.ndarray) -> PartCost:
        """Return the loss as compiled code reads it."""
        matrix = self._weights_of(names)[:, None] * (1.0 - np.eye(len(names)))
        return PartCost(matrix, position_scale(self.average, sizes))

    def switches(self, names: Names, sizes: np.ndarray) -> SwitchCost:
        """Return the loss of label sets as compiled code reads it."""
        price = np.repeat(self._weights_of(names)[:, None], 2, axis=1)
        return switch_cost(price, position_scale(self.average, sizes.sum(axis=1)))

    def _weights_of(self, names: Names) -> np.ndarray:
        known = list(names)
        for label in self.weights:
            if label not in known:
                raise ValueError(f"ClassWeighted: weights names {label!r}, which is no class.")
        return np.array([float(self.weights.get(label, 1.0)) for label in known])

    @classmethod
    def example(cls, names: Names) -> ClassWeighted:
        """Return one that finds the first of these names the most important."""
        return cls({names[0]: 2.5})

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        return {"weights": dict(self.weights), "average": self.average}

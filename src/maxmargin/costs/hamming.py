"""Hamming cost: the number, or the share, of wrong positions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from maxmargin.costs.base import Cost, Names
from maxmargin.costs.tables import PartCost, SwitchCost, switch_cost


@dataclass(frozen=True)
class Hamming(Cost):
    """Number of wrong positions, or their share of the sequence; of label sets, of wrong labels.

    Parameters
    ----------
    average : {"sum", "mean"}
        "sum" counts the wrong positions; "mean" divides by the known positions of the sequence, or
        the known labels of the example.

    Examples
    --------
    >>> Hamming("mean").tabulate("positions", ["a", "b"], [4]).scale
    array([0.25])
    """

    average: str = "sum"

    def __post_init__(self) -> None:
        if self.average not in ("sum", "mean"):
            raise ValueError(f"Hamming: average must be 'sum' or 'mean', got {self.average!r}.")

    def positions(self, names: Names, sizes: np.ndarray) -> PartCost:
        """Return the loss as compiled code reads it."""
        return PartCost(1.0 - np.eye(len(names)), position_scale(self.average, sizes))

    def switches(self, names: Names, sizes: np.ndarray) -> SwitchCost:
        """Return the loss of label sets as compiled code reads it."""
        scale = position_scale(self.average, sizes.sum(axis=1))
        return switch_cost(np.ones((len(names), 2)), scale)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        return asdict(self)


def position_scale(average: str, sizes: np.ndarray) -> np.ndarray:
    """Return what each example's sum over positions is multiplied by."""
    if average == "mean":
        return 1.0 / np.maximum(np.asarray(sizes, dtype=np.float64), 1.0)
    return np.ones(len(sizes))

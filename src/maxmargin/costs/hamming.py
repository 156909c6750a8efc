"""Hamming cost: the number, or the share, of wrong positions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from maxmargin.costs.tables import PartCost


@dataclass(frozen=True)
class Hamming:
    """Number of wrong positions, or their share of the sequence.

    Parameters
    ----------
    average : {"sum", "mean"}
        "sum" counts the wrong positions; "mean" divides by the length of the sequence.

    Examples
    --------
    >>> import numpy as np
    >>> Hamming("mean").tables(np.array(["a", "b"]), np.array([4])).scale
    array([0.25])
    """

    average: str = "sum"

    def __post_init__(self) -> None:
        if self.average not in ("sum", "mean"):
            raise ValueError(f"Hamming: average must be 'sum' or 'mean', got {self.average!r}.")

    def tables(self, classes: np.ndarray, sizes: np.ndarray) -> PartCost:
        """Return the loss as compiled code reads it."""
        matrix = 1.0 - np.eye(len(classes))
        return PartCost(matrix, position_scale(self.average, sizes))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        return asdict(self)


def position_scale(average: str, sizes: np.ndarray) -> np.ndarray:
    """Return what each example's sum over positions is multiplied by."""
    if average == "mean":
        return 1.0 / np.maximum(np.asarray(sizes, dtype=np.float64), 1.0)
    return np.ones(len(sizes))

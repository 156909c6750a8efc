"""A cost matrix per position: mistaking a for b costs what the matrix says."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.costs.base import Cost, Names
from maxmargin.costs.hamming import Hamming, position_scale
from maxmargin.costs.tables import PartCost


class CostMatrix(Cost):
    """Sum over positions of matrix[true label, predicted label].

    Parameters
    ----------
    matrix : array of shape (n_labels, n_labels)
        Finite, >= 0, zero on the diagonal. Rows and columns in the order of the estimator's
        ``classes_`` (sorted labels, or the order of its ``classes`` parameter).
    average : {"sum", "mean"}
        As for `Hamming`.

    Examples
    --------
    >>> CostMatrix([[0, 1], [5, 0]]).tabulate("positions", ["a", "b"], [1]).matrix
    array([[0., 1.],
           [5., 0.]])
    """

    def __init__(self, matrix: Any, average: str = "sum") -> None:
        Hamming(average)
        table = np.array(matrix, dtype=np.float64)
        if table.ndim != 2 or table.shape[0] != table.shape[1]:
            raise ValueError(f"CostMatrix: matrix must be square, got shape {table.shape}.")
        if not np.isfinite(table).all() or (table < 0).any():
            raise ValueError("CostMatrix: every entry of matrix must be finite and >= 0.")
        if np.diag(table).any():
            raise ValueError("CostMatrix: the diagonal must be 0: being right costs nothing.")
        table.flags.writeable = False
        self.matrix = table
        self.average = average

    def positions(self, names: Names, sizes: np.ndarray) -> PartCost:
        """Return the loss as compiled code reads it."""
        if len(self.matrix) != len(names):
            raise ValueError(
                f"CostMatrix: matrix is {len(self.matrix)} x {len(self.matrix)} but there are "
                f"{len(names)} classes."
            )
        return PartCost(self.matrix.copy(), position_scale(self.average, sizes))

    @classmethod
    def example(cls, names: Names) -> CostMatrix:
        """Return one whose prices are no distances: mistakes cost more one way than the other."""
        place = np.arange(len(names))
        return cls(np.abs(place[:, None] - place) * (1.0 + 0.5 * place))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        return {"matrix": self.matrix.tolist(), "average": self.average}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CostMatrix) and self.parameters() == other.parameters()

    def __hash__(self) -> int:
        return hash((self.matrix.tobytes(), self.average))

    def __repr__(self) -> str:
        return f"CostMatrix({self.matrix.tolist()!r}, average={self.average!r})"

"""A kernel that is a function of two lists of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin.features.kernels.checks import check_gram, sample_of


@dataclass(frozen=True)
class CallableKernel:
    """``function(X, Y)`` returns the matrix of products of the rows X with the rows Y.

    Rows are those that were passed to fit and predict: a matrix, or a list of anything.

    Examples
    --------
    >>> same = CallableKernel(lambda X, Y: [[float(x == y) for y in Y] for x in X])
    >>> same.gram(["a", "b"], ["b"]).tolist()
    [[0.0], [1.0]]
    """

    function: Callable[[Any, Any], Any]

    takes: ClassVar[str] = "anything"

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))

    def bound(self, rows: Any) -> CallableKernel:
        """Try it on some rows: it must be finite, symmetric and positive."""
        chosen = sample_of(_n_rows(rows))
        some = rows[chosen] if hasattr(rows, "shape") else [rows[i] for i in chosen]
        check_gram(self.gram(some), chosen, f"kernel={self!r}")
        return self

    def gram(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the products of the rows X with the rows Y, by default with themselves."""
        others = X if Y is None else Y
        shape = _n_rows(X), _n_rows(others)
        try:
            products = np.asarray(self.function(X, others))
            if products.dtype.kind != "f":  # else it tells how much rounding there may be
                products = products.astype(np.float64)
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            raise ValueError(f"{self._wanted(shape)}, but it failed: {error}") from error
        if products.shape != shape:
            raise ValueError(f"{self._wanted(shape)}, but it returned shape {products.shape}.")
        return products

    def _wanted(self, shape: tuple[int, int]) -> str:
        return (
            f"kernel={self!r} is called with many rows A and many rows B and must return the "
            f"matrix of the products of all rows of A with all rows of B, here of shape {shape}"
        )

    def diagonal(self, X: Any) -> np.ndarray:
        """Return the product of every row with itself, one call each."""
        return np.array([float(self.gram(X[i : i + 1])[0, 0]) for i in range(_n_rows(X))])

    def whole(self, rows: Any) -> None:
        """Return None: the Gram matrix is computed."""
        return

    def parameters(self) -> dict[str, Any]:
        """Return the function, by which kernels are told apart within a process."""
        return {"function": repr(self.function)}


def _n_rows(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)

"""A Gram matrix that is given: rows are products with the training rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin.features.kernels.checks import (
    MOST_FACTORED,
    allowed,
    check_diagonal,
    check_finite_block,
    check_gram,
    check_products,
    has_factor,
    sample_of,
)


@dataclass(frozen=True)
class Precomputed:
    """X has the products of its rows with all training rows, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> Precomputed().bound(np.ones((2, 3)))
    Traceback (most recent call last):
    ValueError: kernel='precomputed': X must be the square matrix of products ..., got shape (2, 3).
    """

    takes: ClassVar[str] = "gram"

    def bound(self, rows: Any) -> Precomputed:
        """Refuse a matrix that is not square, not finite, not symmetric or not positive."""
        what = "kernel='precomputed': X"
        if rows.ndim != 2 or rows.shape[0] != rows.shape[1]:
            raise ValueError(
                f"{what} must be the square matrix of products of the training rows, got shape "
                f"{rows.shape}."
            )
        check_finite_block(rows, np.arange(len(rows)), what)
        diagonal = self.diagonal(rows)
        check_diagonal(diagonal, f"{what}, its diagonal,", rows)
        for first in range(0, len(rows), 1024):
            part = slice(first, first + 1024)
            uneven = np.abs(rows[part] - rows[:, part].T)
            i, j = np.unravel_index(np.argmax(uneven), uneven.shape)
            if uneven[i, j] > allowed(rows.dtype) * max(float(np.abs(rows[part]).max()), 1e-300):
                check_gram(rows[np.ix_([first + i, j], [first + i, j])],
                           np.array([first + i, j]), what)  # fmt: skip
            check_products(rows[part], np.arange(len(rows))[part], diagonal, what, rows)
        if len(rows) > MOST_FACTORED:
            sample = sample_of(len(rows))
            check_gram(rows[np.ix_(sample, sample)], sample, what)
        elif not has_factor(rows):
            check_gram(rows, np.arange(len(rows)), what)
        return self

    def gram(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return X itself; `Y` are the columns to take, by default all."""
        return np.asarray(X if Y is None else X[:, Y], dtype=np.float64)

    def diagonal(self, X: Any) -> np.ndarray:
        """Return the diagonal of the Gram matrix of the training rows."""
        return np.diag(X).astype(np.float64)

    def whole(self, rows: Any) -> np.ndarray:
        """Return the matrix that was given."""
        return np.ascontiguousarray(rows, dtype=np.float64)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal kernel: there are none."""
        return asdict(self)

"""The linear kernel: products of rows as they are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Linear:
    """K(x, z) = x.z: the same model as without a kernel, by coefficients of training rows.

    Examples
    --------
    >>> import numpy as np
    >>> Linear().gram(np.array([[1.0, 2.0], [0.0, 1.0]])).tolist()
    [[5.0, 2.0], [2.0, 1.0]]
    """

    takes: ClassVar[str] = "rows"

    def bound(self, rows: Any) -> Linear:
        """Return the kernel itself."""
        return self

    def gram(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the products of the rows X with the rows Y, by default with themselves."""
        return row_products(X, X if Y is None else Y)

    def diagonal(self, X: Any) -> np.ndarray:
        """Return |x|^2 of every row."""
        return squared_lengths(X)

    def whole(self, rows: Any) -> None:
        """Return None: the Gram matrix is computed."""
        return

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal kernel: there are none."""
        return asdict(self)


def row_products(X: Any, Y: Any) -> np.ndarray:
    """Return x.y of all pairs of rows, in double precision."""
    products = X.astype(np.float64) @ Y.astype(np.float64).T
    return np.asarray(products.toarray() if sp.issparse(products) else products)


def squared_lengths(X: Any) -> np.ndarray:
    """Return |x|^2 of every row, in double precision."""
    if sp.issparse(X):
        return np.asarray(X.astype(np.float64).power(2).sum(axis=1)).reshape(-1)
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))

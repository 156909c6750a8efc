"""The Gaussian kernel."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin.features.kernels.linear import row_products, squared_lengths


@dataclass(frozen=True)
class Rbf:
    """K(x, z) = exp(-gamma |x - z|^2).

    Parameters
    ----------
    gamma : float > 0 or "scale"
        "scale", as in scikit-learn: 1 / (n_features * variance of all numbers of training rows).

    Examples
    --------
    >>> import numpy as np
    >>> Rbf(0.5).gram(np.array([[0.0], [2.0]])).round(4).tolist()
    [[1.0, 0.1353], [0.1353, 1.0]]
    """

    gamma: Any = "scale"

    takes: ClassVar[str] = "rows"

    def __post_init__(self) -> None:
        check_gamma("Rbf", self.gamma)

    def bound(self, rows: Any) -> Rbf:
        """Return the kernel with a number as gamma."""
        return replace(self, gamma=scaled_gamma(self.gamma, rows))

    def gram(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the products of the rows X with the rows Y, by default with themselves."""
        Z = X if Y is None else Y
        squares = row_products(X, Z)
        squares *= -2.0
        squares += squared_lengths(X)[:, None]
        squares += squared_lengths(Z)
        np.maximum(squares, 0.0, out=squares)
        if Y is None:
            np.fill_diagonal(squares, 0.0)
        squares *= -float(self.gamma)
        return np.exp(squares, out=squares)

    def diagonal(self, X: Any) -> np.ndarray:
        """Return 1 for every row."""
        return np.ones(X.shape[0])

    def whole(self, rows: Any) -> None:
        """Return None: the Gram matrix is computed."""
        return

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal kernel."""
        return asdict(self)


def check_gamma(owner: str, gamma: Any) -> None:
    """Refuse what is neither "scale" nor a number > 0."""
    if isinstance(gamma, str) and gamma == "scale":
        return
    if isinstance(gamma, bool) or not isinstance(gamma, Real) or not 0.0 < float(gamma) < np.inf:
        raise ValueError(f"{owner}: gamma must be 'scale' or a finite number > 0, got {gamma!r}.")


def scaled_gamma(gamma: Any, rows: Any) -> float:
    """Return gamma, or 1 / (n_features * variance) for "scale"; 1 if nothing varies.

    Examples
    --------
    >>> scaled_gamma("scale", np.array([[0.0], [1e200]]))
    Traceback (most recent call last):
    ValueError: gamma='scale' is 1 / (n_features * variance) of the training rows, but their ...
    """
    if not isinstance(gamma, str):
        return float(gamma)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _scale(rows)


def _scale(rows: Any) -> float:
    if sp.issparse(rows):
        n = rows.shape[0] * rows.shape[1]
        variance = float(rows.power(2).sum() / n - (rows.sum() / n) ** 2)
    else:
        variance = float(np.var(rows, dtype=np.float64))
    if variance <= 0.0:
        return 1.0
    found = float(np.reciprocal(rows.shape[1] * variance))
    if not 0.0 < found < np.inf:
        raise ValueError(
            "gamma='scale' is 1 / (n_features * variance) of the training rows, but their variance "
            f"is {variance:g}. Bring the features to a scale near 1, or give gamma a number."
        )
    return found

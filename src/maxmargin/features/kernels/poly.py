"""The polynomial kernel."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from maxmargin.features.kernels.linear import row_products, squared_lengths
from maxmargin.features.kernels.rbf import check_gamma, scaled_gamma


@dataclass(frozen=True)
class Poly:
    """K(x, z) = (gamma x.z + coef0)^degree.

    Parameters
    ----------
    degree : int >= 1
    gamma : float > 0 or "scale"
        As for :class:`Rbf`.
    coef0 : float >= 0
        With 0 there are only terms of the degree itself. (Below 0 it would not be positive.)

    Examples
    --------
    >>> import numpy as np
    >>> Poly(2, gamma=1.0).gram(np.array([[1.0], [2.0]])).tolist()
    [[4.0, 9.0], [9.0, 25.0]]
    """

    degree: int = 3
    gamma: Any = "scale"
    coef0: float = 1.0

    takes: ClassVar[str] = "rows"

    def __post_init__(self) -> None:
        check_gamma("Poly", self.gamma)
        degree: Any = self.degree
        if isinstance(degree, bool) or not isinstance(degree, Integral) or degree < 1:
            raise ValueError(f"Poly: degree must be an integer >= 1, got {self.degree!r}.")
        coef0: Any = self.coef0
        if not isinstance(coef0, Real) or not 0.0 <= float(coef0) < np.inf:
            raise ValueError(f"Poly: coef0 must be a finite number >= 0, got {coef0!r}.")

    def bound(self, rows: Any) -> Poly:
        """Return the kernel with a number as gamma."""
        return replace(self, gamma=scaled_gamma(self.gamma, rows))

    def gram(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the products of the rows X with the rows Y, by default with themselves."""
        return self._power(row_products(X, X if Y is None else Y))

    def diagonal(self, X: Any) -> np.ndarray:
        """Return (gamma |x|^2 + coef0)^degree of every row."""
        return self._power(squared_lengths(X))

    def _power(self, products: np.ndarray) -> np.ndarray:
        return np.asarray((float(self.gamma) * products + float(self.coef0)) ** int(self.degree))

    def whole(self, rows: Any) -> None:
        """Return None: the Gram matrix is computed."""
        return

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal kernel."""
        return asdict(self)

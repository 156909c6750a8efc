"""Generalised scaling: psi = h g^beta + g^alpha."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from maxmargin.core.compile import jitable
from maxmargin.surrogates.base import BuiltinSurrogate, check_is_number

KIND = 2


@dataclass(frozen=True)
class GeneralizedScaling:
    """psi(h, g) = h g^beta + g^alpha: between margin (1, 0) and slack rescaling (1, 1), and beyond.

    Quasi-concave and increasing where g >= 0 and h >= -g^(alpha - beta), which is psi >= 0, if
    0 <= beta <= alpha <= beta + 1; other parameters are refused. It bounds g^alpha from above, so
    the cost itself only for alpha = 1. At g = 0, psi = 0 (and h for beta = 0).

    Parameters
    ----------
    alpha : float, default=1.0
        Power of the cost in the margin that is asked for, g^(alpha - beta).
    beta : float, default=0.5
        Power of the cost that violations are multiplied with.

    Examples
    --------
    >>> from maxmargin.core.contract import psi
    >>> psi(GeneralizedScaling(alpha=1.5, beta=0.5).compiled(), 0.5, 4.0)[0]
    9.0
    >>> GeneralizedScaling(alpha=0.5, beta=1.0)
    Traceback (most recent call last):
    ValueError: GeneralizedScaling: psi is quasi-concave and increasing only for 0 <= beta <= ...
    """

    alpha: float = 1.0
    beta: float = 0.5

    is_convex: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True
    criteria: ClassVar[str] = "cost"

    def __post_init__(self) -> None:
        check_is_number("GeneralizedScaling", "alpha", self.alpha)
        check_is_number("GeneralizedScaling", "beta", self.beta)
        if not (0.0 <= self.beta <= self.alpha <= self.beta + 1.0 and math.isfinite(self.alpha)):
            raise ValueError(
                "GeneralizedScaling: psi is quasi-concave and increasing only for "
                "0 <= beta <= alpha <= beta + 1, "
                f"got alpha={self.alpha!r} and beta={self.beta!r}."
            )

    @property
    def has_unit_slope(self) -> bool:
        """Whether dpsi/dh is 1 wherever g > 0."""
        return self.beta == 0.0

    @property
    def direct_tilt(self) -> float | None:
        """1 where this is margin rescaling, which one call of the oracle maximises."""
        return 1.0 if self.alpha == 1.0 and self.beta == 0.0 else None

    def compiled(self) -> BuiltinSurrogate:
        """Return the surrogate as solvers read it."""
        return BuiltinSurrogate(KIND, float(self.alpha), float(self.beta))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal surrogate."""
        return {"alpha": float(self.alpha), "beta": float(self.beta)}

    def in_domain(self, h: float, g: float) -> bool:
        """Tell whether psi is quasi-concave and increasing around (h, g)."""
        return g >= 0.0 and psi(self.alpha, self.beta, h, g)[0] >= 0.0


@jitable
def psi(alpha: float, beta: float, h: float, g: float) -> tuple[float, float, float]:
    """Return (psi, dpsi/dh, dpsi/dg)."""
    if g <= 0.0:
        if beta > 0.0:
            return 0.0, 0.0, 0.0
        return h, 1.0, (1.0 if alpha == 1.0 else math.inf)
    # As a product, so that psi has the right sign also where its two terms nearly cancel.
    scale, margin = g**beta, g ** (alpha - beta)
    return scale * (h + margin), scale, scale * (beta * h + alpha * margin) / g


@jitable
def conjugate(alpha: float, beta: float, slope: float, g: float) -> float:
    """Return psi* at the only slope there is, g^beta."""
    return -(g**alpha) if g > 0.0 else 0.0


@jitable
def tilt(alpha: float, beta: float, h: float, g: float) -> float:
    """Return the tilt of the contour of psi."""
    if g <= 0.0:
        return 1.0 if alpha == 1.0 and beta == 0.0 else math.inf
    return (beta * h + alpha * g ** (alpha - beta)) / g


@jitable
def order_value(alpha: float, beta: float, h: float, g: float) -> float:
    """Return psi."""
    return psi(alpha, beta, h, g)[0]

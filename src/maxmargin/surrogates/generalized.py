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

    For 0 <= beta <= alpha <= beta + 1, psi is quasi-concave and increasing where g >= 0 and
    h >= -g^(alpha - beta), that is where psi >= 0. Other parameters are refused. psi bounds g^alpha
    from above, so it bounds the cost g itself only for alpha = 1. At g = 0, psi is 0 if beta > 0
    and h if beta = 0.

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
        """1 for margin rescaling, alpha = 1 and beta = 0: one oracle call maximises it; or None."""
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
    # Compute psi as the product scale * (h + margin): its sign is then right even if the two terms
    # of psi nearly cancel.
    scale, margin = g**beta, g ** (alpha - beta)
    return scale * (h + margin), scale, scale * (beta * h + alpha * margin) / g


@jitable
def conjugate(alpha: float, beta: float, slope: float, g: float) -> float:
    """Return psi* at g^beta, the only slope that psi has."""
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

"""Slack rescaling: psi = (h + 1) g."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from maxmargin.core.compile import jitable
from maxmargin.surrogates.base import BuiltinSurrogate

KIND = 1


@dataclass(frozen=True)
class SlackRescaling:
    """psi(h, g) = (h + 1) g: the margin is 1 for every output, its violation is times the cost.

    psi is quasi-concave and increasing where g >= 0 and h >= -1. (It is not quasi-concave on the
    whole plane: the set psi >= c > 0 has a second part, where both factors are negative.)

    Examples
    --------
    >>> from maxmargin.core.contract import psi
    >>> psi(SlackRescaling().compiled(), 0.5, 2.0)  # and its slopes in h and in g
    (3.0, 2.0, 1.5)
    """

    is_convex: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True
    has_unit_slope: ClassVar[bool] = False
    direct_tilt: ClassVar[float | None] = None
    criteria: ClassVar[str] = "cost"

    def compiled(self) -> BuiltinSurrogate:
        """Return the surrogate as solvers read it."""
        return BuiltinSurrogate(KIND, 0.0, 0.0)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal surrogate (there are none)."""
        return {}

    def in_domain(self, h: float, g: float) -> bool:
        """Tell whether psi is quasi-concave and increasing around (h, g)."""
        return g >= 0.0 and h >= -1.0


@jitable
def psi(p: float, q: float, h: float, g: float) -> tuple[float, float, float]:
    """Return (psi, dpsi/dh, dpsi/dg)."""
    return (h + 1.0) * g, g, h + 1.0


@jitable
def conjugate(p: float, q: float, slope: float, g: float) -> float:
    """Return psi* at g, the only slope that psi has."""
    return -g


@jitable
def tilt(p: float, q: float, h: float, g: float) -> float:
    """Return the tilt of the contour of psi."""
    return (h + 1.0) / g if g > 0.0 else math.inf


@jitable
def order_value(p: float, q: float, h: float, g: float) -> float:
    """Return psi."""
    return (h + 1.0) * g

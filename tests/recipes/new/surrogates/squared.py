"""The squared hinge: psi = max(0, h + g)^2 / 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from maxmargin.core.compile import jitable
from maxmargin.surrogates.base import BuiltinSurrogate

KIND = 100


@dataclass(frozen=True)
class SquaredHinge:
    """psi(h, g) = max(0, h + g)^2 / 2: small violations count for little, large ones for much."""

    is_convex: ClassVar[bool] = True
    is_linear: ClassVar[bool] = False
    has_unit_slope: ClassVar[bool] = False

    def compiled(self) -> BuiltinSurrogate:
        """Return the surrogate as solvers read it."""
        return BuiltinSurrogate(KIND, 0.0, 0.0)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal surrogate (there are none)."""
        return {}


@jitable
def psi(p: float, q: float, h: float, g: float) -> tuple[float, float, float]:
    """Return (psi, dpsi/dh, dpsi/dg)."""
    violation = max(0.0, h + g)
    return 0.5 * violation * violation, violation, violation


@jitable
def conjugate(p: float, q: float, slope: float, g: float) -> float:
    """Return psi*, whose maximum over h is where h + g is the slope."""
    return slope * (0.5 * slope - g) if slope >= 0.0 else math.inf


@jitable
def tilt(p: float, q: float, h: float, g: float) -> float:
    """Return the tilt of the contours of psi, which are straight."""
    return 1.0


@jitable
def order_value(p: float, q: float, h: float, g: float) -> float:
    """Return what psi rises with."""
    return h + g

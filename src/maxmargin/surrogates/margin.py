"""Margin rescaling: psi = h + g."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from maxmargin.core.compile import jitable
from maxmargin.surrogates.base import BuiltinSurrogate

KIND = 0


@dataclass(frozen=True)
class MarginRescaling:
    """psi(h, g) = h + g: the truth must beat every output by a margin equal to the output's cost.

    psi is linear, so it is quasi-concave and increasing on the whole plane.

    Examples
    --------
    >>> MarginRescaling().compiled()
    BuiltinSurrogate(kind=0, p=0.0, q=0.0)
    """

    is_convex: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True
    has_unit_slope: ClassVar[bool] = True
    direct_tilt: ClassVar[float | None] = 1.0
    criteria: ClassVar[str] = "cost"

    def compiled(self) -> BuiltinSurrogate:
        """Return the surrogate as solvers read it."""
        return BuiltinSurrogate(KIND, 0.0, 0.0)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal surrogate (there are none)."""
        return {}

    def in_domain(self, h: float, g: float) -> bool:
        """Tell whether psi is quasi-concave and increasing around (h, g): everywhere."""
        return True


@jitable
def psi(p: float, q: float, h: float, g: float) -> tuple[float, float, float]:
    """Return (psi, dpsi/dh, dpsi/dg)."""
    return h + g, 1.0, 1.0


@jitable
def conjugate(p: float, q: float, slope: float, g: float) -> float:
    """Return psi* at 1, the only slope that psi has."""
    return -g


@jitable
def tilt(p: float, q: float, h: float, g: float) -> float:
    """Return the tilt of the contour of psi."""
    return 1.0


@jitable
def order_value(p: float, q: float, h: float, g: float) -> float:
    """Return psi."""
    return h + g

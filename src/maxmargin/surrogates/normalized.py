"""Normalised margin: psi = h / g + 1, for outputs that can be listed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from maxmargin.core.compile import jitable
from maxmargin.surrogates.base import BuiltinSurrogate

KIND = 6


@dataclass(frozen=True)
class NormalizedMargin:
    """psi(h, g) = h / g + 1: the margin error is measured in units of the cost.

    If the cost is the length of the difference of features, as the normalised cost of a hierarchy
    is, every output asks for the same distance from the truth. An output of cost 0 has no loss.

    Where h > 0, psi falls as the cost grows. So searches that ask weighted oracles do not find its
    maximum, and those that list outputs, or the best output of every cost, do: `Profile`.

    Examples
    --------
    >>> from maxmargin.core.contract import psi
    >>> psi(NormalizedMargin().compiled(), 0.5, 2.0)  # and its slopes in h and in g
    (1.25, 0.5, -0.125)
    """

    is_convex: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True
    has_unit_slope: ClassVar[bool] = False
    is_increasing: ClassVar[bool] = False
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
        return g > 0.0 and h <= 0.0


@jitable
def psi(p: float, q: float, h: float, g: float) -> tuple[float, float, float]:
    """Return (psi, dpsi/dh, dpsi/dg)."""
    if g <= 0.0:
        return 0.0, 0.0, 0.0
    return h / g + 1.0, 1.0 / g, -h / (g * g)


@jitable
def conjugate(p: float, q: float, slope: float, g: float) -> float:
    """Return psi* at 1/g, the only slope that psi has."""
    return -1.0 if g > 0.0 else 0.0


@jitable
def tilt(p: float, q: float, h: float, g: float) -> float:
    """Return the tilt of the contour of psi."""
    return -h / g if g > 0.0 else math.inf


@jitable
def order_value(p: float, q: float, h: float, g: float) -> float:
    """Return psi."""
    return h / g + 1.0 if g > 0.0 else 0.0

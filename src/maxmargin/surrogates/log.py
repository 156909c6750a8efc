"""Log loss: psi = g log2(1 + e^h)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from maxmargin.core.compile import jitable
from maxmargin.surrogates.base import BuiltinSurrogate

KIND = 3

LOG_2 = math.log(2.0)
# For h < FAR, log(1 + e^h) equals e^h in double precision, and e^h may underflow.
FAR = -37.0


@dataclass(frozen=True)
class LogLoss:
    """psi(h, g) = g log2(1 + e^h): smooth, and positive for every output with a cost.

    The logarithm has base 2, because only then psi(0, g) = g: psi bounds the cost of an output that
    scores at least as much as the true one. psi is quasi-concave and increasing where g >= 0, for
    all h.

    Examples
    --------
    >>> from maxmargin.core.contract import psi
    >>> psi(LogLoss().compiled(), 0.0, 3.0)[0]
    3.0
    """

    is_convex: ClassVar[bool] = True
    is_linear: ClassVar[bool] = False
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
        return g >= 0.0


@jitable
def psi(p: float, q: float, h: float, g: float) -> tuple[float, float, float]:
    """Return (psi, dpsi/dh, dpsi/dg)."""
    small = math.exp(-abs(h))
    bits = (max(h, 0.0) + math.log1p(small)) / LOG_2
    share = (1.0 if h >= 0.0 else small) / (1.0 + small)
    return g * bits, g * share / LOG_2, bits


@jitable
def conjugate(p: float, q: float, slope: float, g: float) -> float:
    """Return psi* = -g times the entropy, in bits, of share = slope / (g / log 2).

    g / log 2 is the largest slope. A share outside [0, 1] by less than 1e-9 is taken for rounding,
    and as 0 or 1; further outside psi* is infinite.
    """
    if g <= 0.0:  # psi = 0, whatever h
        return 0.0 if abs(slope) <= 1e-9 else math.inf
    share = slope * LOG_2 / g
    if share < -1e-9 or share > 1.0 + 1e-9:
        return math.inf
    if share <= 0.0 or share >= 1.0:
        return 0.0
    return g * (share * math.log(share) + (1.0 - share) * math.log1p(-share)) / LOG_2


@jitable
def tilt(p: float, q: float, h: float, g: float) -> float:
    """Return the tilt of the contour of psi; towards h = -inf it is 1 / g."""
    if g <= 0.0:
        return math.inf
    if h < FAR:
        return 1.0 / g
    small = math.exp(-abs(h))
    if h >= 0.0:
        return (h + math.log1p(small)) * (1.0 + small) / g
    return math.log1p(small) * (1.0 + small) / (small * g)


@jitable
def order_value(p: float, q: float, h: float, g: float) -> float:
    """Return log psi, which does not underflow."""
    if g <= 0.0:
        return -math.inf
    if h < FAR:
        return math.log(g / LOG_2) + h
    return math.log(g / LOG_2) + math.log(max(h, 0.0) + math.log1p(math.exp(-abs(h))))

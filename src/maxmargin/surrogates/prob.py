"""ProbLoss: psi = 2 g N(h sqrt(pi / 2g)), and its convex extension."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from maxmargin.core.compile import jitable
from maxmargin.surrogates.base import BuiltinSurrogate
from maxmargin.surrogates.erfc import ROOT_PI, erfcx, log_erfc

KIND = 4


@dataclass(frozen=True)
class ProbLoss:
    """psi(h, g) = 2 g N(h sqrt(pi / 2g)), N the standard normal distribution.

    psi is a sigmoid in h, from 0 to 2g, with value g and slope sqrt(g) at h = 0. The convex version
    continues for h > 0 as the straight line g + sqrt(g) h. It is still twice differentiable, since
    the sigmoid has no curvature in h at 0. Both versions bound the cost of outputs with h >= 0 from
    above, and are quasi-concave and increasing where g >= 0, for all h. Every output whose cost is
    positive has psi > 0.

    Parameters
    ----------
    convex : bool, default=True
        False takes the sigmoid for all h. It is not convex: there is no dual and no certificate.

    Examples
    --------
    >>> from maxmargin.core.contract import psi
    >>> psi(ProbLoss().compiled(), 1.0, 4.0)  # and its slopes in h and in g
    (6.0, 2.0, 1.25)
    >>> round(psi(ProbLoss(convex=False).compiled(), 1.0, 4.0)[0], 3)
    5.876
    """

    convex: bool = True

    is_linear: ClassVar[bool] = False
    has_unit_slope: ClassVar[bool] = False
    direct_tilt: ClassVar[float | None] = None
    criteria: ClassVar[str] = "cost"

    def __post_init__(self) -> None:
        if self.convex not in (True, False):
            raise ValueError(f"ProbLoss: convex must be True or False, got {self.convex!r}.")

    @property
    def is_convex(self) -> bool:
        """Whether psi is convex in h."""
        return bool(self.convex)

    def compiled(self) -> BuiltinSurrogate:
        """Return the surrogate as solvers read it."""
        return BuiltinSurrogate(KIND, 1.0 if self.convex else 0.0, 0.0)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal surrogate."""
        return {"convex": bool(self.convex)}

    def in_domain(self, h: float, g: float) -> bool:
        """Tell whether psi is quasi-concave and increasing around (h, g)."""
        return g >= 0.0


# The formulas below use x = -h sqrt(pi) / (2 sqrt(g)): psi is g erfc(x), and dpsi/dh is
# sqrt(g) exp(-x^2).


@jitable
def psi(convex: float, q: float, h: float, g: float) -> tuple[float, float, float]:
    """Return (psi, dpsi/dh, dpsi/dg)."""
    if g <= 0.0:
        return 0.0, 0.0, 0.0
    root = math.sqrt(g)
    if convex > 0.0 and h > 0.0:
        return g + root * h, root, 1.0 + 0.5 * h / root
    x = -0.5 * ROOT_PI * h / root
    share, bell = math.erfc(x), math.exp(-x * x)
    return g * share, root * bell, share + x * bell / ROOT_PI


@jitable
def conjugate(convex: float, q: float, slope: float, g: float) -> float:
    """Return psi* of the convex version, attained at the h where dpsi/dh equals the slope.

    The slope sqrt(g) is that of all h >= 0. If slope / sqrt(g) is outside [0, 1] by less than 1e-9,
    this is taken for rounding, and the ratio as 0 or 1; further outside psi* is infinite. For the
    version that is not convex psi* is infinite at every slope > 0.
    """
    if g <= 0.0:  # psi = 0, whatever h
        return 0.0 if abs(slope) <= 1e-9 else math.inf
    ratio = slope / math.sqrt(g)
    if ratio < -1e-9 or ratio > 1.0 + 1e-9 or (convex == 0.0 and ratio > 0.0):
        return math.inf
    if ratio <= 0.0:
        return 0.0
    x = math.sqrt(max(0.0, -math.log(ratio)))
    return -g * (2.0 * min(ratio, 1.0) * x / ROOT_PI + math.erfc(x))


@jitable
def tilt(convex: float, q: float, h: float, g: float) -> float:
    """Return the tilt of the contour of psi, by the Mills ratio: right even if psi underflows."""
    if g <= 0.0:
        return math.inf
    root = math.sqrt(g)
    if convex > 0.0 and h > 0.0:
        return (1.0 + 0.5 * h / root) / root
    x = -0.5 * ROOT_PI * h / root
    return (erfcx(x) + x / ROOT_PI) / root


@jitable
def order_value(convex: float, q: float, h: float, g: float) -> float:
    """Return log psi, which does not underflow."""
    if g <= 0.0:
        return -math.inf
    root = math.sqrt(g)
    if convex > 0.0 and h > 0.0:
        return math.log(g + root * h)
    return math.log(g) + log_erfc(-0.5 * ROOT_PI * h / root)

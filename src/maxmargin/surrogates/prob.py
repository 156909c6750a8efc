"""ProbLoss: psi = 2 g N(h / sqrt(v g)), v a variance, and its convex extension."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from maxmargin.core.compile import jitable
from maxmargin.surrogates.base import BuiltinSurrogate, check_is_number
from maxmargin.surrogates.erfc import ROOT_PI, erfcx, log_erfc

KIND = 4


@dataclass(frozen=True)
class ProbLoss:
    """psi(h, g) = 2 g N(h / sqrt(v g)), N the standard normal distribution.

    This is twice the cost times the probability that the output wins, where the score of each wrong
    part has a normal noise of variance v. psi is a sigmoid in h, from 0 to 2g, with value g and
    slope a sqrt(g), a = sqrt(2 / (pi v)), at h = 0. The convex version continues for h > 0 as the
    straight line g + a sqrt(g) h. It is still twice differentiable, since
    the sigmoid has no curvature in h at 0. Both versions bound the cost of outputs with h >= 0 from
    above, and are quasi-concave and increasing where g >= 0, for all h. Every output whose cost is
    positive has psi > 0.

    Parameters
    ----------
    convex : bool, default=True
        False takes the sigmoid for all h. It is not convex: there is no dual and no certificate.
    variance : float > 0 or None
        v. None: 2 / pi, so that the slope at h = 0 is 1 where g = 1. A smaller v makes psi steeper:
        psi(h, g) at variance v is psi(a h, g) at 2 / pi, so that scores need less distance.

    Examples
    --------
    >>> from maxmargin.core.contract import psi
    >>> psi(ProbLoss().compiled(), 1.0, 4.0)  # and its slopes in h and in g
    (6.0, 2.0, 1.25)
    >>> round(psi(ProbLoss(convex=False).compiled(), 1.0, 4.0)[0], 3)
    5.876
    >>> psi(ProbLoss(variance=0.5 / math.pi).compiled(), 1.0, 4.0)[:2]  # twice as steep at h = 0
    (8.0, 4.0)
    """

    convex: bool = True
    variance: float | None = None

    is_linear: ClassVar[bool] = False
    has_unit_slope: ClassVar[bool] = False
    direct_tilt: ClassVar[float | None] = None
    criteria: ClassVar[str] = "cost"

    def __post_init__(self) -> None:
        if self.convex not in (True, False):
            raise ValueError(f"ProbLoss: convex must be True or False, got {self.convex!r}.")
        if self.variance is None:
            return
        check_is_number("ProbLoss", "variance", self.variance)
        if not 1e-12 <= self.variance <= 1e12:
            raise ValueError(
                f"ProbLoss: variance must be None or lie between 1e-12 and 1e12, got "
                f"{self.variance!r}."
            )

    @property
    def is_convex(self) -> bool:
        """Whether psi is convex in h."""
        return bool(self.convex)

    def compiled(self) -> BuiltinSurrogate:
        """Return the surrogate as solvers read it."""
        steep = 1.0 if self.variance is None else math.sqrt(2.0 / (math.pi * self.variance))
        return BuiltinSurrogate(KIND, 1.0 if self.convex else 0.0, steep)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal surrogate."""
        variance = None if self.variance is None else float(self.variance)
        return {"convex": bool(self.convex), "variance": variance}

    def in_domain(self, h: float, g: float) -> bool:
        """Tell whether psi is quasi-concave and increasing around (h, g)."""
        return g >= 0.0


# The formulas below use x = -a h sqrt(pi) / (2 sqrt(g)), where a is `steep`: psi is g erfc(x), and
# dpsi/dh is a sqrt(g) exp(-x^2).


@jitable
def psi(convex: float, steep: float, h: float, g: float) -> tuple[float, float, float]:
    """Return (psi, dpsi/dh, dpsi/dg)."""
    if g <= 0.0:
        return 0.0, 0.0, 0.0
    root, far = math.sqrt(g), steep * h
    if convex > 0.0 and h > 0.0:
        return g + root * far, steep * root, 1.0 + 0.5 * far / root
    x = -0.5 * ROOT_PI * far / root
    share, bell = math.erfc(x), math.exp(-x * x)
    return g * share, steep * root * bell, share + x * bell / ROOT_PI


@jitable
def conjugate(convex: float, steep: float, slope: float, g: float) -> float:
    """Return psi* of the convex version, attained at the h where dpsi/dh equals the slope.

    The slope a sqrt(g) is that of all h >= 0. If slope / (a sqrt(g)) is outside [0, 1] by less than
    1e-9, this is taken for rounding, and the ratio as 0 or 1; further outside psi* is infinite. For
    the version that is not convex psi* is infinite at every slope > 0.
    """
    if g <= 0.0:  # psi = 0, whatever h
        return 0.0 if abs(slope) <= 1e-9 else math.inf
    ratio = slope / (steep * math.sqrt(g))
    if ratio < -1e-9 or ratio > 1.0 + 1e-9 or (convex == 0.0 and ratio > 0.0):
        return math.inf
    if ratio <= 0.0:
        return 0.0
    x = math.sqrt(max(0.0, -math.log(ratio)))
    return -g * (2.0 * min(ratio, 1.0) * x / ROOT_PI + math.erfc(x))


@jitable
def tilt(convex: float, steep: float, h: float, g: float) -> float:
    """Return the tilt of the contour of psi, by the Mills ratio: right even if psi underflows."""
    if g <= 0.0:
        return math.inf
    root, far = math.sqrt(g), steep * h
    if convex > 0.0 and h > 0.0:
        return (1.0 + 0.5 * far / root) / (steep * root)
    x = -0.5 * ROOT_PI * far / root
    return (erfcx(x) + x / ROOT_PI) / (steep * root)


@jitable
def order_value(convex: float, steep: float, h: float, g: float) -> float:
    """Return log psi, which does not underflow."""
    if g <= 0.0:
        return -math.inf
    root, far = math.sqrt(g), steep * h
    if convex > 0.0 and h > 0.0:
        return math.log(g + root * far)
    return math.log(g) + log_erfc(-0.5 * ROOT_PI * far / root)

"""The complementary error function far out, where it underflows, for compiled code.

With N and n the distribution and the density of the standard normal law and x = -t / sqrt(2):
N(t) = erfc(x) / 2, log N(t) = log_erfc(x) - log 2, and the Mills ratio N(t) / n(t) is
sqrt(pi / 2) erfcx(x).
"""

from __future__ import annotations

import math

from maxmargin.core.compile import jitable

ROOT_PI = math.sqrt(math.pi)


@jitable
def erfcx(x: float) -> float:
    """Return exp(x^2) erfc(x); infinite for x < -26.6, where it overflows.

    The relative error is about 1e-14 for x < 8, because x^2 is rounded, and a few units in the last
    place for x >= 8.
    """
    if x < -26.6:
        return math.inf
    if x < 8.0:
        return math.exp(x * x) * math.erfc(x)
    # Laplace's continued fraction x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...))), computed from the
    # end: ten terms are enough for x >= 8.
    tail = x
    for k in range(10, 0, -1):
        tail = x + 0.5 * k / tail
    return 1.0 / (ROOT_PI * tail)


@jitable
def log_erfc(x: float) -> float:
    """Return log erfc(x), also where erfc(x) underflows or is nearly 2."""
    if x < 1.0:
        return math.log1p(-math.erf(x))
    return math.log(erfcx(x)) - x * x

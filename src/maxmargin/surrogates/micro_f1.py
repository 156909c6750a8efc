"""Micro-F1: psi = h / (-g), with criteria of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from maxmargin.core.compile import jitable
from maxmargin.surrogates.base import BuiltinSurrogate

KIND = 5


@dataclass(frozen=True)
class MicroF1:
    """psi(h, g) = h / (-g), a bound of 1 - F1 of a label set, F1 = 2 / (1/precision + 1/recall).

    Here h = Hamming + m, the wrong labels plus the margin error, and g = -(|y| + |y_i|), minus
    the number of labels in the output and in the truth; at m = 0 psi is exactly 1 - F1. Where both
    are empty, 0 / 0 is taken as 0. Quasi-concave and increasing where g < 0 and h >= 0, which is
    psi >= 0. Contours are lines of tilt psi, so searches on them find the best output exactly.

    In m it is affine: slope 1 / (-g), value Hamming / (-g) at m = 0. (In h there is no offset, so
    `conjugate`, which is in h, is 0.)

    Examples
    --------
    >>> from maxmargin.core.contract import psi
    >>> psi(MicroF1().compiled(), 3.0, -6.0)[0]  # three labels wrong, six in the two sets
    0.5
    """

    is_convex: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True
    has_unit_slope: ClassVar[bool] = False
    direct_tilt: ClassVar[float | None] = None
    criteria: ClassVar[str] = "micro_f1"

    def compiled(self) -> BuiltinSurrogate:
        """Return the surrogate as solvers read it."""
        return BuiltinSurrogate(KIND, 0.0, 0.0)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal surrogate (there are none)."""
        return {}

    def in_domain(self, h: float, g: float) -> bool:
        """Tell whether psi is quasi-concave and increasing around (h, g)."""
        return g < 0.0 and h >= 0.0


@jitable
def psi(p: float, q: float, h: float, g: float) -> tuple[float, float, float]:
    """Return (psi, dpsi/dh, dpsi/dg)."""
    if g >= 0.0:  # two empty sets; slope 1, for a first tilt of 0
        return 0.0, 1.0, 0.0
    return -h / g, -1.0 / g, h / (g * g)


@jitable
def conjugate(p: float, q: float, slope: float, g: float) -> float:
    """Return psi* at the only slope there is, 1 / (-g)."""
    return 0.0


@jitable
def tilt(p: float, q: float, h: float, g: float) -> float:
    """Return the tilt of the contour of psi, which is psi."""
    return -h / g if g < 0.0 else 0.0


@jitable
def order_value(p: float, q: float, h: float, g: float) -> float:
    """Return psi."""
    return -h / g if g < 0.0 else 0.0

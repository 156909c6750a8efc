"""Micro-F1: psi = h / (-g), with criteria of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from maxmargin.core.compile import jitable
from maxmargin.surrogates.base import BuiltinSurrogate

KIND = 5


@dataclass(frozen=True)
class MicroF1:
    """psi(h, g) = h / (-g), a bound of 1 - F1 of a set, F1 = 2 / (1/precision + 1/recall).

    Here h = Hamming + m, the number of wrong elements plus the margin error, and
    g = -(|y| + |y_i|), minus the number of elements in the output and in the truth together. At
    m = 0, psi is exactly 1 - F1. If both sets are empty, 0 / 0 is taken as 0. psi is quasi-concave
    and increasing where g < 0 and h >= 0, that is where psi >= 0. The contour of psi through a
    point is a line whose tilt is psi, so a search along contours finds the best output exactly.

    The elements of a label set are its labels. Those of a sequence are its positions, each with its
    label, but for positions whose label is `outside`: of a sequence of tags, what belongs to no
    segment. A position inside with a wrong label counts as two wrong elements, one that is missed
    and one too many.

    psi is affine in m, with slope 1 / (-g) and value Hamming / (-g) at m = 0. As a function of h it
    has no offset, so `conjugate`, which is taken in h, is 0.

    Parameters
    ----------
    outside : label, default="O"
        Of sequences, the label of positions that do not count. Label sets do not read it.

    Examples
    --------
    >>> from maxmargin.core.contract import psi
    >>> psi(MicroF1().compiled(), 3.0, -6.0)[0]  # three labels wrong, six in the two sets
    0.5
    """

    outside: Any = "O"

    is_convex: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True
    has_unit_slope: ClassVar[bool] = False
    direct_tilt: ClassVar[float | None] = None
    criteria: ClassVar[str] = "micro_f1"

    def compiled(self) -> BuiltinSurrogate:
        """Return the surrogate as solvers read it."""
        return BuiltinSurrogate(KIND, 0.0, 0.0)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal surrogate."""
        return {"outside": self.outside}

    def in_domain(self, h: float, g: float) -> bool:
        """Tell whether psi is quasi-concave and increasing around (h, g)."""
        return g < 0.0 and h >= 0.0


@jitable
def psi(p: float, q: float, h: float, g: float) -> tuple[float, float, float]:
    """Return (psi, dpsi/dh, dpsi/dg)."""
    if g >= 0.0:  # two empty sets; dpsi/dh = 1 makes the first tilt of a search 0
        return 0.0, 1.0, 0.0
    return -h / g, -1.0 / g, h / (g * g)


@jitable
def conjugate(p: float, q: float, slope: float, g: float) -> float:
    """Return psi* at 1 / (-g), the only slope that psi has."""
    return 0.0


@jitable
def tilt(p: float, q: float, h: float, g: float) -> float:
    """Return the tilt of the contour of psi, which is psi."""
    return -h / g if g < 0.0 else 0.0


@jitable
def order_value(p: float, q: float, h: float, g: float) -> float:
    """Return psi."""
    return -h / g if g < 0.0 else 0.0

"""What a surrogate offers: psi, its conjugate, and how it orders outputs."""

from __future__ import annotations

import math

from maxmargin.core.dispatch import generic, generic_with_default


@generic
def psi(surrogate, h, g):
    """Return (psi, dpsi/dh, dpsi/dg) at margin error h and cost g."""


@generic
def conjugate(surrogate, slope, g):
    """Return psi*(slope) = max_h slope * h - psi(h, g)."""


@generic_with_default
def tilt(surrogate, h, g):
    """Return dpsi/dg / dpsi/dh, the tilt of the contour of psi at (h, g); inf where dpsi/dh is 0.

    An implementation must give the right quotient even if a derivative underflows.
    """
    _, slope_h, slope_g = psi(surrogate, h, g)
    return slope_g / slope_h if slope_h > 0.0 else math.inf


@generic_with_default
def order_value(surrogate, h, g):
    """Return a number that orders outputs as psi does, also where psi underflows."""
    return psi(surrogate, h, g)[0]

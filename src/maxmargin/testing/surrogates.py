"""The contract of a surrogate, checked at random points."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._compile import compiled, jitable
from maxmargin.generic import conjugate, psi
from maxmargin.surrogates import Surrogate
from maxmargin.testing._require import require, require_parameters


@jitable
def _psi(surrogate: Any, h: float, g: float) -> tuple[float, float, float]:
    return psi(surrogate, h, g)


def check_surrogate(surrogate: Surrogate, *, n_points: int = 50, seed: int = 0) -> None:
    """Check a surrogate against the contract of `maxmargin.surrogates.Surrogate`.

    psi(0, 0) = 0; psi does not fall in h; its two derivatives are those of finite differences; it
    is convex, or affine, in h where it says so; the conjugate meets Fenchel and Young where it is
    convex; compiled code gives the same numbers; parameters make an equal surrogate.

    Parameters
    ----------
    surrogate : Surrogate
    n_points : int
        Points (h, g) that are drawn, with g > 0.
    seed : int

    Raises
    ------
    AssertionError
        That says what does not hold, and at which h and g.

    Examples
    --------
    >>> from maxmargin.surrogates import MarginRescaling
    >>> check_surrogate(MarginRescaling())
    """
    name = type(surrogate).__name__
    form = surrogate.compiled()
    require_parameters(surrogate)
    zero = psi(form, 0.0, 0.0)[0]
    require(
        zero == 0.0,
        f"{name}: psi(0, 0) must be 0, since that is the true output; got {zero!r}.",
    )
    rng = np.random.default_rng(seed)
    for _ in range(n_points):
        h, other = (float(x) for x in rng.normal(scale=2.0, size=2))
        g = float(rng.gamma(1.0))
        _check_derivatives(name, form, h, g)
        if surrogate.is_convex:
            _check_convex(name, form, h, other, g)
        if surrogate.is_linear:
            slopes = psi(form, h, g)[1], psi(form, other, g)[1]
            require(
                slopes[0] == slopes[1],
                f"{name} says it is linear, but at g={g:g} its slope is {slopes[0]:g} at h={h:g} "
                f"and {slopes[1]:g} at h={other:g}.",
            )
        if isinstance(form, tuple):
            plain, fast = psi(form, h, g), compiled(_psi)(form, h, g)
            require(
                np.allclose(plain, fast, rtol=1e-12, atol=0.0),
                f"{name}: psi at h={h:g}, g={g:g} is {plain} in Python but {fast} compiled.",
            )
    if surrogate.is_linear:
        require(surrogate.is_convex, f"{name} says it is linear, hence it must say it is convex.")


def _check_derivatives(name: str, form: object, h: float, g: float) -> None:
    value, slope_h, slope_g = psi(form, h, g)
    require(
        np.isfinite([value, slope_h, slope_g]).all(),
        f"{name}: psi and its derivatives must be finite, got {value, slope_h, slope_g} at "
        f"h={h:g}, g={g:g}.",
    )
    require(slope_h >= 0.0, f"{name}: psi falls in h at h={h:g}, g={g:g} (slope {slope_h:g}).")
    step = 1e-6
    for what, slope, up, down in (
        ("dpsi/dh", slope_h, (h + step, g), (h - step, g)),
        ("dpsi/dg", slope_g, (h, g * (1.0 + step)), (h, g * (1.0 - step))),
    ):
        width = up[0] - down[0] + up[1] - down[1]
        measured = (psi(form, *up)[0] - psi(form, *down)[0]) / width
        require(
            abs(measured - slope) <= 1e-4 * (1.0 + abs(slope)),
            f"{name}: {what} at h={h:g}, g={g:g} is said to be {slope:g} but finite differences "
            f"give {measured:g}.",
        )


def _check_convex(name: str, form: object, h: float, other: float, g: float) -> None:
    value, slope, _ = psi(form, h, g)
    there = psi(form, other, g)[0]
    tangent = value + slope * (other - h)
    slack = 1e-9 * (1.0 + abs(value) + abs(there) + abs(slope * (other - h)))
    require(
        there >= tangent - slack,
        f"{name} says it is convex, but at g={g:g} psi(h={other:g}) = {there:g} lies below its "
        f"tangent from h={h:g}, {tangent:g}.",
    )
    star = conjugate(form, slope, g)
    require(
        abs(star - (slope * h - value)) <= slack,
        f"{name}: conjugate(slope={slope:g}, g={g:g}) must be slope*h - psi = "
        f"{slope * h - value:g} (attained at h={h:g}), got {star:g}.",
    )
    require(
        star >= slope * other - there - slack,
        f"{name}: conjugate(slope={slope:g}, g={g:g}) = {star:g} is below slope*h - psi at "
        f"h={other:g}.",
    )

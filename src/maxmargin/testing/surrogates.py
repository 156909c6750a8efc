"""The contract of a surrogate, checked at random points."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import compiled, jitable
from maxmargin.core.contract import conjugate, order_value, psi, tilt
from maxmargin.surrogates import Surrogate
from maxmargin.testing._require import require, require_parameters

CRITERIA = ("cost", "micro_f1")


class _Case(NamedTuple):
    """A surrogate with its name and what solvers read."""

    name: str
    surrogate: Any
    form: Any


def check_surrogate(surrogate: Surrogate, *, n_points: int = 50, seed: int = 0) -> None:
    """Check a surrogate against the contract of `maxmargin.surrogates.Surrogate`.

    psi(0, 0) = 0; psi does not fall in h; its two derivatives are those of finite differences; it
    is convex, affine or of slope 1 in h, or linear in both, where it says so; where it is convex
    the conjugate meets Fenchel and Young, and merging two tangents by it lowers no dual; in its
    domain psi is quasi-concave and does not fall in g; `tilt` is the quotient of the derivatives
    and `order_value` sorts as psi does; compiled code gives the same numbers; parameters make an
    equal surrogate.

    Parameters
    ----------
    surrogate : Surrogate
    n_points : int
        Points (h, g) that are drawn, with g > 0 (g < 0 if its criteria are those of `MicroF1`).
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
    case = _Case(type(surrogate).__name__, surrogate, surrogate.compiled())
    name, form = case.name, case.form
    require_parameters(surrogate)
    criteria = getattr(surrogate, "criteria", "cost")
    require(criteria in CRITERIA, f"{name}.criteria must be one of {CRITERIA}, got {criteria!r}.")
    if surrogate.is_linear:
        require(surrogate.is_convex, f"{name} says it is linear, hence it must say it is convex.")
    zero = psi(form, 0.0, 0.0)[0]
    require(
        zero == 0.0,
        f"{name}: psi(0, 0) must be 0, since that is the true output; got {zero!r}.",
    )
    rng = np.random.default_rng(seed)
    sign = -1.0 if criteria == "micro_f1" else 1.0
    for _ in range(n_points):
        h, other = (float(x) for x in rng.normal(scale=2.0, size=2))
        g, other_g = (sign * float(x) for x in rng.gamma(1.0, size=2))
        _check_derivatives(case, h, g)
        _check_derivatives(case, other, other_g)
        _check_flags(case, h, other, g)
        if surrogate.is_convex:
            _check_convex(case, h, other, g)
            _check_merging(case, h, other, g, float(rng.random()))
        _check_tilt(case, h, g)
        _check_order(case, (h, g), (other, other_g))
        _check_domain(case, (h, g), (other, other_g))
        if isinstance(form, tuple):
            _check_compiled(case, h, g)


def _check_derivatives(case: _Case, h: float, g: float) -> None:
    name, form = case.name, case.form
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


def _check_flags(case: _Case, h: float, other: float, g: float) -> None:
    name, form = case.name, case.form
    value, slope, _ = psi(form, h, g)
    if case.surrogate.is_linear:
        slope_there = psi(form, other, g)[1]
        require(
            slope == slope_there,
            f"{name} says it is linear, but at g={g:g} its slope is {slope:g} at h={h:g} "
            f"and {slope_there:g} at h={other:g}.",
        )
    if getattr(case.surrogate, "has_unit_slope", False):
        require(
            slope == 1.0,
            f"{name} says it has slope 1, but at h={h:g}, g={g:g} its slope is {slope:g}.",
        )
    direct = getattr(case.surrogate, "direct_tilt", None)
    if direct is not None:
        require(
            abs(value - (h + direct * g)) <= 1e-9 * (1.0 + abs(h) + abs(direct * g)),
            f"{name} says that psi is h + {direct:g} g, but at h={h:g}, g={g:g} it is {value:g}.",
        )


def _check_convex(case: _Case, h: float, other: float, g: float) -> None:
    name, form = case.name, case.form
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


def _check_merging(case: _Case, h: float, other: float, g: float, share: float) -> None:
    """Merging two tangents of one output into one of their mean slope must not lower the offset."""
    name, form = case.name, case.form
    (value, slope, _), (there, slope_there, _) = psi(form, h, g), psi(form, other, g)
    offset, offset_there = value - slope * h, there - slope_there * other
    middle = (1.0 - share) * slope + share * slope_there
    mean = (1.0 - share) * offset + share * offset_there
    merged = -conjugate(form, middle, g)
    size = 1.0 + sum(map(abs, (value, slope * h, there, slope_there * other)))
    require(
        merged >= mean - 1e-9 * size,
        f"{name}: tangents at h={h:g} and h={other:g}, g={g:g} have offsets of mean {mean:g}, but "
        f"merged by the conjugate, at slope {middle:g}, only {merged:g}.",
    )
    line = merged + middle * h
    require(
        line <= value + 1e-9 * (size + abs(middle * h)),
        f"{name}: the tangent of slope {middle:g} = -conjugate + slope*h is {line:g} at h={h:g}, "
        f"g={g:g}, above psi = {value:g}.",
    )


def _check_tilt(case: _Case, h: float, g: float) -> None:
    _, slope_h, slope_g = psi(case.form, h, g)
    got = tilt(case.form, h, g)
    require(
        not math.isnan(got), f"{case.name}: tilt at h={h:g}, g={g:g} must be a number, got {got}."
    )
    if slope_h > 1e-300:
        expected = slope_g / slope_h
        require(
            abs(got - expected) <= 1e-9 * (1.0 + abs(expected)),
            f"{case.name}: tilt at h={h:g}, g={g:g} must be dpsi/dg / dpsi/dh = {expected:g}, got "
            f"{got:g}.",
        )


def _check_order(case: _Case, one: tuple[float, float], two: tuple[float, float]) -> None:
    values = psi(case.form, *one)[0], psi(case.form, *two)[0]
    orders = order_value(case.form, *one), order_value(case.form, *two)
    gap = abs(values[0] - values[1])
    if gap <= 1e-9 * (abs(values[0]) + abs(values[1])):
        return
    require(
        (values[0] < values[1]) == (orders[0] < orders[1]),
        f"{case.name}: order_value must sort as psi does, but at (h, g) = {one} and {two} psi is "
        f"{values} and order_value {orders}.",
    )


def _check_domain(case: _Case, one: tuple[float, float], two: tuple[float, float]) -> None:
    """Check that psi is quasi-concave and does not fall in g, which searches rely on."""
    name, form = case.name, case.form
    values = []
    for h, g in (one, two):
        value, _, slope_g = psi(form, h, g)
        if value < 0.0 or not _in_domain(case, h, g):
            continue
        values.append(value)
        require(
            slope_g >= -1e-9 * (1.0 + abs(value)),
            f"{name}: psi falls in g at h={h:g}, g={g:g}, in its domain (slope {slope_g:g}).",
        )
    if len(values) == 2:
        middle = 0.5 * (one[0] + two[0]), 0.5 * (one[1] + two[1])
        between = psi(form, *middle)[0]
        require(
            between >= min(values) - 1e-9 * (1.0 + max(values)),
            f"{name}: psi is not quasi-concave in its domain: {between:g} half-way between "
            f"(h, g) = {one} and {two}, where it is {values[0]:g} and {values[1]:g}.",
        )


def _in_domain(case: _Case, h: float, g: float) -> bool:
    inside = getattr(case.surrogate, "in_domain", None)
    return inside is None or bool(inside(h, g))


@jitable
def _numbers(surrogate: Any, h: float, g: float) -> tuple[float, float, float, float, float]:
    value, slope_h, slope_g = psi(surrogate, h, g)
    return value, slope_h, slope_g, tilt(surrogate, h, g), order_value(surrogate, h, g)


@jitable
def _conjugate(surrogate: Any, slope: float, g: float) -> float:
    return conjugate(surrogate, slope, g)


def _check_compiled(case: _Case, h: float, g: float) -> None:
    name, form = case.name, case.form
    plain, fast = list(_numbers(form, h, g)), list(compiled(_numbers)(form, h, g))
    if case.surrogate.is_convex:
        slope = plain[1]
        plain.append(_conjugate(form, slope, g))
        fast.append(compiled(_conjugate)(form, slope, g))
    for what, ours, theirs in zip(
        ("psi", "dpsi/dh", "dpsi/dg", "tilt", "order_value", "conjugate"), plain, fast, strict=False
    ):
        require(
            np.allclose(ours, theirs, rtol=1e-12, atol=1e-300),
            f"{name}: {what} at h={h:g}, g={g:g} is {ours} in Python but {theirs} compiled.",
        )

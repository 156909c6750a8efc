"""Outputs as points (h, g): their upper right hull, and psi along its edges.

A search needs psi to be quasi-concave and increasing wherever it looks. Surrogates are so where
psi >= 0. Elsewhere `rank` replaces psi: it says by how much h is too small for psi = 0. This is
concave, since the set where psi >= 0 is convex.
"""

from __future__ import annotations

import math
from typing import Any

from maxmargin.core.compile import jitable, kernel
from maxmargin.core.contract import order_value, psi
from maxmargin.core.contract import tilt as tilt_of_psi

#: Values closer than this, relative to the terms that they are sums of, are taken as equal.
ROUNDING = 1e-11


# Rows of an array of points (ORDER is `rank`), and of an array of lines h + tilt * g <= top.
H, G, ORDER = 0, 1, 3
TILT, TOP = 0, 1


@kernel
def insert_point(points: Any, chain: Any, n_chain: int, new: int) -> int:
    """Insert point ``new`` into an upper right hull; return the new number of corners.

    chain[:n_chain] are the corners in the order of increasing g. Along them h decreases, more and
    more steeply. Returns -1 and changes nothing if the point is not above the hull.
    """
    h, g = points[H], points[G]
    x, y = h[new], g[new]
    first = 0
    while first < n_chain and g[chain[first]] < y:
        first += 1
    last = first  # corners first..last-1 will be removed
    if last < n_chain and g[chain[last]] == y and h[chain[last]] < x:
        last += 1
    if last < n_chain and h[chain[last]] >= x:
        return -1
    while first > 0 and h[chain[first - 1]] <= x:
        first -= 1
    if first > 0 and last < n_chain:
        a, b = chain[first - 1], chain[last]
        if (x - h[a]) * (g[b] - g[a]) <= (h[b] - h[a]) * (y - g[a]):
            return -1
    while first > 1:
        a, b = chain[first - 2], chain[first - 1]
        if (h[b] - h[a]) * (y - g[a]) > (x - h[a]) * (g[b] - g[a]):
            break
        first -= 1
    while last < n_chain - 1:
        a, b = chain[last], chain[last + 1]
        if (h[a] - x) * (g[b] - y) > (h[b] - x) * (g[a] - y):
            break
        last += 1
    moved = first + 1 - last
    if moved > 0:
        for k in range(n_chain - 1, last - 1, -1):
            chain[k + moved] = chain[k]
    elif moved < 0:
        for k in range(last, n_chain):
            chain[k + moved] = chain[k]
    chain[first] = new
    return n_chain + moved


@jitable
def rank(surrogate: Any, h: float, g: float) -> float:
    """Return a number that orders outputs as psi does where psi >= 0, see `order_value`.

    Where psi < 0 it is negative: minus the distance from h to psi = 0 (exactly that distance if psi
    is affine in h).
    """
    value, slope, _ = psi(surrogate, h, g)
    if value < 0.0 and slope > 0.0:
        return value / slope
    return order_value(surrogate, h, g)


@jitable
def is_settled(surrogate: Any, known: float, h: float, g: float) -> bool:
    """Tell whether psi(h, g) is no larger than the psi of rank ``known``."""
    return rank(surrogate, h, g) <= known + (ROUNDING * abs(known) if known > -math.inf else 0.0)


@jitable
def contour_tilt(surrogate: Any, h: float, g: float) -> float:
    """Return the tilt of the contour of `rank` at (h, g), >= 0 and perhaps infinite."""
    value, slope, _ = psi(surrogate, h, g)
    if value < 0.0 and slope > 0.0:
        h -= value / slope
    return max(0.0, tilt_of_psi(surrogate, h, g))


@jitable
def best_share(surrogate: Any, points: Any, left: int, right: int) -> float:
    """Return the t in [0, 1] of largest psi at (1 - t) * left + t * right.

    Halves the interval 45 times, by the sign of the slope of psi along the edge. psi is flat at its
    maximum, so that its value there is exact up to rounding.
    """
    h, g = points[H, left], points[G, left]
    dh, dg = points[H, right] - h, points[G, right] - g
    low = 0.0
    high = 1.0
    for _ in range(45):
        t = 0.5 * (low + high)
        tilt = contour_tilt(surrogate, h + t * dh, g + t * dg)
        # Where the tilt is infinite, the sign of dg decides.
        rise = dg if tilt == math.inf else dh + tilt * dg
        if rise > 0.0:
            low = t
        else:
            high = t
    return 0.5 * (low + high)


@jitable
def aim(surrogate: Any, points: Any, chain: Any, n_chain: int) -> tuple[int, int, float]:
    """Return the best corner, its neighbour above the contour's tangent or -1, and a next tilt."""
    place = 0
    for k in range(1, n_chain):
        if points[ORDER, chain[k]] > points[ORDER, chain[place]]:
            place = k
    c = chain[place]
    h, g = points[H, c], points[G, c]
    tilt = contour_tilt(surrogate, h, g)
    for k in (place + 1, place - 1):
        if 0 <= k < n_chain:
            dh, dg = points[H, chain[k]] - h, points[G, chain[k]] - g
            size = abs(h) + abs(h + dh) + tilt * (abs(g) + abs(g + dg))
            rise = dg if tilt == math.inf else dh + tilt * dg - ROUNDING * size
            if rise > 0.0:
                return c, chain[k], -dh / dg
    return c, -1, tilt


@kernel
def lowest_line(lines: Any, n_lines: int, g: float) -> float:
    """Return the largest h at g that is below all lines."""
    h = math.inf
    for k in range(n_lines):
        if lines[TILT, k] < math.inf:
            h = min(h, lines[TOP, k] - lines[TILT, k] * g)
    return h


@jitable
def best_below(surrogate: Any, lines: Any, n_lines: int, most: float) -> float:
    """Return the g in [0, most] of largest psi(h, g) below all lines.

    The lines bound a convex set, so psi first rises and then falls along its border: golden section
    finds the maximum.
    """
    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    low = 0.0
    width = most
    known = (1.0 - golden) * width
    at_known = rank(surrogate, lowest_line(lines, n_lines, known), known)
    is_left = True  # whether psi is known at the left one of the two points that cut the interval
    for _ in range(60):
        new = low + (golden if is_left else 1.0 - golden) * width
        at_new = rank(surrogate, lowest_line(lines, n_lines, new), new)
        left_wins = is_left == (at_known >= at_new)
        if not left_wins:
            low = known if is_left else new
        if at_new > at_known:
            known = new
            at_known = at_new
        width *= golden
        is_left = not left_wins
    return known


@jitable
def best_level(
    surrogate: Any, lines: Any, n_lines: int, step: float, low: float, high: float
) -> float:
    """Return the multiple of step in [low, high] of largest psi(h, g) below all lines.

    ``low`` and ``high`` are multiples of step themselves, but for rounding.
    """
    first, last = round(low / step), round(high / step)
    best = low
    top = -math.inf
    for level in range(first, last + 1):
        order = rank(surrogate, lowest_line(lines, n_lines, level * step), level * step)
        if order > top:
            top = order
            best = level * step
    return best


@jitable
def highest_level(
    surrogate: Any, lines: Any, n_lines: int, step: float, most: float, known: float
) -> float:
    """Return the largest multiple of step up to ``most`` where psi may be above rank ``known``.

    That is, where some (h, g) below all lines has a larger rank. Returns 0 if there is no such g.
    """
    for level in range(round(most / step), 0, -1):
        g = level * step
        if not is_settled(surrogate, known, lowest_line(lines, n_lines, g), g):
            return g
    return 0.0

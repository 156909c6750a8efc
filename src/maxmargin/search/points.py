"""Outputs as points (h, g): their upper right hull, and psi along its edges.

A search needs psi to be quasi-concave and increasing wherever it looks. Surrogates are that where
psi >= 0. Elsewhere `rank` stands in for them: how far h is short of psi = 0, which is concave,
since the set of psi >= 0 is convex.
"""

from __future__ import annotations

import math
from typing import Any

from maxmargin._compile import jitable, kernel
from maxmargin.generic import order_value, psi, tilt

#: Values closer than this, relative to the terms that they are sums of, are taken as equal.
ROUNDING = 1e-11


@kernel
def insert_point(h: Any, g: Any, chain: Any, n_chain: int, new: int) -> int:
    """Insert point ``new`` into an upper right hull; return the points on it, -1 if it is not.

    chain[:n_chain] are the corners by rising g; h falls and the edges are ever less steep in g. A
    point on the hull, or equal to a corner, is left out.
    """
    x, y = h[new], g[new]
    first = 0
    while first < n_chain and g[chain[first]] < y:
        first += 1
    last = first  # corners first..last-1 go
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
    if last > first:
        for k in range(last, n_chain):
            chain[first + 1 + k - last] = chain[k]
    elif last == first:
        for k in range(n_chain, first, -1):
            chain[k] = chain[k - 1]
    chain[first] = new
    return n_chain + 1 - (last - first)


@jitable
def rank(surrogate: Any, h: float, g: float) -> float:
    """Return a number that orders outputs as psi does; where psi < 0, how far h is from psi = 0.

    (Exactly so where psi is affine in h. Negative then, and positive or as `order_value` orders
    where psi >= 0.)
    """
    value, slope, _ = psi(surrogate, h, g)
    if value < 0.0 and slope > 0.0:
        return value / slope
    return order_value(surrogate, h, g)


@jitable
def contour_tilt(surrogate: Any, h: float, g: float) -> float:
    """Return the tilt of the contour of `rank` at (h, g), >= 0 and perhaps infinite."""
    value, slope, _ = psi(surrogate, h, g)
    if value < 0.0 and slope > 0.0:
        h -= value / slope
    return max(0.0, tilt(surrogate, h, g))


@jitable
def best_share(surrogate: Any, h: float, g: float, other_h: float, other_g: float) -> float:
    """Return the t in [0, 1] of largest psi at (1 - t) (h, g) + t (other_h, other_g).

    Halves the interval by the slope of psi along the edge, 45 times: psi is flat at its maximum, so
    that its value is right to rounding.
    """
    low = 0.0
    high = 1.0
    for _ in range(45):
        t = 0.5 * (low + high)
        at = contour_tilt(surrogate, h + t * (other_h - h), g + t * (other_g - g))
        # The sign of dh + tilt dg; an infinite tilt leaves that of dg.
        rise = other_g - g if at == math.inf else other_h - h + at * (other_g - g)
        if rise > 0.0:
            low = t
        else:
            high = t
    return 0.5 * (low + high)


@jitable
def lowest_line(tilts: Any, tops: Any, n_lines: int, g: float) -> float:
    """Return the largest h that the lines h + tilt * g <= top allow at g."""
    h = math.inf
    for k in range(n_lines):
        if tilts[k] < math.inf:
            h = min(h, tops[k] - tilts[k] * g)
    return h


@jitable
def best_below(surrogate: Any, tilts: Any, tops: Any, n_lines: int, most: float) -> float:
    """Return the g of largest psi(h, g) under all lines h + tilt * g <= top, 0 <= g <= most.

    The lines bound a convex set, so psi along its border rises, then falls: golden section.
    """
    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    low = 0.0
    high = most
    left = high - golden * (high - low)
    right = low + golden * (high - low)
    at_left = rank(surrogate, lowest_line(tilts, tops, n_lines, left), left)
    at_right = rank(surrogate, lowest_line(tilts, tops, n_lines, right), right)
    for _ in range(70):
        if at_left < at_right:
            low = left
            left = right
            at_left = at_right
            right = low + golden * (high - low)
            at_right = rank(surrogate, lowest_line(tilts, tops, n_lines, right), right)
        else:
            high = right
            right = left
            at_right = at_left
            left = high - golden * (high - low)
            at_left = rank(surrogate, lowest_line(tilts, tops, n_lines, left), left)
    return 0.5 * (low + high)

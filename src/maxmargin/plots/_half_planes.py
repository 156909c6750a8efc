"""Polygons and lines cut by half-planes."""

from __future__ import annotations

import math

import numpy as np

#: a, b, c of the half-plane a x + b y >= c; its border is the line a x + b y = c.
HalfPlane = tuple[float, float, float]


def clip(region: np.ndarray, limit: HalfPlane) -> np.ndarray:
    """Return the part of a convex polygon, shape (n, 2), in a half-plane.

    Examples
    --------
    >>> square = np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)])
    >>> clip(square, (1.0, 0.0, 1.0)).tolist()  # x >= 1
    [[1.0, 0.0], [2.0, 0.0], [2.0, 2.0], [1.0, 2.0]]
    """
    a, b, c = limit
    kept = []
    for k in range(len(region)):
        here, there = region[k], region[(k + 1) % len(region)]
        at_here, at_there = (float(a * p[0] + b * p[1] - c) for p in (here, there))
        if at_here >= 0.0:
            kept.append(here)
        if at_here * at_there < 0.0:
            kept.append(here + (there - here) * at_here / (at_here - at_there))
    return np.array(kept).reshape(-1, 2)


def segment(line: HalfPlane, limits: list[HalfPlane]) -> np.ndarray | None:
    """Return the ends of the part of a border line within half-planes; None if there is none.

    Examples
    --------
    >>> box = [(1.0, 0.0, 0.0), (-1.0, 0.0, -2.0), (0.0, 1.0, 0.0), (0.0, -1.0, -2.0)]
    >>> segment((0.0, 1.0, 1.0), box).tolist()  # y = 1 in the square from 0 to 2
    [[0.0, 1.0], [2.0, 1.0]]
    """
    a, b, c = line
    origin = np.array([a, b]) * c / (a * a + b * b)
    along = np.array([b, -a])
    first, last = -math.inf, math.inf
    for p, q, r in limits:
        room, slope = float(p * origin[0] + q * origin[1] - r), float(p * along[0] + q * along[1])
        if slope > 0.0:
            first = max(first, -room / slope)
        elif slope < 0.0:
            last = min(last, -room / slope)
        elif room < 0.0:
            return None
    if not first < last:
        return None
    return origin + np.array([[first], [last]]) * along

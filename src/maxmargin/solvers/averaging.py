"""Passes in compiled calls, and the mean of the iterates at a few points of them.

After a visit w is best for the example visited and worse for the others, so the primal of the last
iterate is above the primal of a mean over the last few passes. Every pass adds w to the mean at a
few points, which costs O(d) per point.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from maxmargin.core.problem import Problem

#: Largest number of examples between two points.
STRIDE = 4096

#: Share of the newest pass in the mean: about the last three passes count.
SHARE = 0.3


def strides(n_visits: int, n_weights: int) -> list[int]:
    """Return the points of a pass: about 16, fewer where adding up w would cost too much."""
    return _cut(n_visits, max(n_visits // 16, n_weights // 100))


def _cut(n_visits: int, stride: int) -> list[int]:
    return [*range(0, n_visits, min(max(stride, 1), STRIDE)), n_visits]


def run_strides(
    problem: Problem,
    call: Callable[[int, int, float], float],
    n_visits: int,
    w: np.ndarray,
    mean: np.ndarray | None,
) -> tuple[float, np.ndarray | None]:
    """Call call(first, last, sum so far) over a pass; return the sum, and the new mean of w.

    ``mean`` is the mean of earlier passes, empty before the first one; None switches averaging off.
    The problem decides how many calls there are between two points. Each call continues the sum of
    the call before, so that the number of calls changes no bit of a result.
    """
    total = 0.0
    newest = None if mean is None else np.zeros_like(w)
    ends = _cut(n_visits, STRIDE) if mean is None else strides(n_visits, len(w))
    for first, last in pairwise(ends):
        part = 0.0
        for start, end in problem.strides(first, last):
            part = call(start, end, part)
        total += part
        if newest is not None:
            newest += (last - first) / n_visits * w
    if mean is None or newest is None or len(mean) == 0:
        return total, newest
    return total, mean + SHARE * (newest - mean)

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
#: Least number of examples in a call that adds up w itself. More would take room for more outputs.
CALL = 256

#: Share of the newest pass in the mean: about the last three passes count.
SHARE = 0.3


def stride(n_visits: int, n_weights: int) -> int:
    """Return how far points are apart: about 16 a pass, fewer where adding w would cost much."""
    return min(max(n_visits // 16, n_weights // 100, 1), STRIDE)


def strides(n_visits: int, n_weights: int) -> list[int]:
    """Return the points of a pass."""
    return _cut(n_visits, stride(n_visits, n_weights))


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
    return total, joined(mean, newest)


def joined(mean: np.ndarray | None, newest: np.ndarray | None) -> np.ndarray | None:
    """Return the mean of earlier passes, empty before the first one, with that of a new pass."""
    if mean is None or newest is None or len(mean) == 0:
        return newest
    return mean + SHARE * (newest - mean)


def run_averaged(
    problem: Problem,
    call: Callable[[int, int, np.ndarray, int, float], float],
    n_visits: int,
    w: np.ndarray,
    mean: np.ndarray | None,
) -> tuple[float, np.ndarray | None]:
    """Call call(first, last, newest, every, sum so far) over a pass, as `run_strides` does.

    The called function adds w to ``newest`` itself, after every so many visits, so that a call goes
    on beyond the points: it takes some 15 us, as much as a few visits. Where ``every`` is 0 there
    is no mean.
    """
    newest = np.zeros(0) if mean is None else np.zeros_like(w)
    every = 0 if mean is None else stride(n_visits, len(w))
    total = 0.0
    for first, last in pairwise(_cut(n_visits, max(every, CALL) if every else STRIDE)):
        for start, end in problem.strides(first, last):
            total = call(start, end, newest, every, total)
    return total, joined(mean, newest if every else None)

"""How one block is improved: mass moves between its planes, and planes are turned.

Planes are turned where psi is not affine in h. All functions here work on known planes and their
values, without the oracle.
"""

from __future__ import annotations

from typing import Any

from maxmargin.core.compile import jitable
from maxmargin.core.contract import add_difference, conjugate, psi
from maxmargin.solvers.blocks.arena import AT, COST, OFFSET, SLOPE


@jitable
def turned(
    surrogate: Any, h: float, g: float, slope: float, offset: float, value: float, weight: float
) -> tuple[float, float]:
    """Return slope and offset of a plane turned towards the tangent of psi at h.

    ``value`` is the value of the plane at h. Per unit of the plane's coefficient, a change of slope
    by t costs the dual ``weight`` / 2 * t^2.
    """
    top, target, _ = psi(surrogate, h, g)
    ascent, turn = top - value, target - slope
    if ascent <= 0.0 or turn == 0.0:
        return slope, offset
    # First try the share that is best if psi* is a parabola. If that would lower the dual, take the
    # share that is best on the chord of psi*, which never does.
    curvature = weight * turn * turn
    share = 2.0 * ascent / (2.0 * ascent + curvature)
    new = -conjugate(surrogate, slope + share * turn, g)
    gain = new + (slope + share * turn) * h - value
    if gain < 0.5 * share * share * curvature:
        share = ascent / curvature if ascent < curvature else 1.0
        chord = offset + share * (top - target * h - offset)
        new = max(chord, -conjugate(surrogate, slope + share * turn, g))
    return slope + share * turn, new


@jitable
def bend_planes(
    problem: Any, i: int, factor: float, gram: Any, w: Any, blocks: Any, bench: Any
) -> None:
    """Turn the planes of block i towards the tangents at w, where psi is not affine in h.

    One plane per output is enough: replacing several tangents by the one of their mean slope c
    leaves w as it is, and its offset -psi*(c) is no less than the mean of their offsets. So each
    plane is turned on its own, and the dual does not fall.
    """
    planes, start = blocks.planes, blocks.start[i]
    count = blocks.count[i]
    for p in range(1, count):
        row = start + p
        g = planes[row, COST]
        alpha, slope, h = bench.alpha[p], bench.slope[p], bench.h[p]
        weight = alpha * factor * gram[p, p]
        new, offset = turned(
            problem.surrogate, h, g, slope, planes[row, OFFSET], bench.value[p], weight
        )
        turn = new - slope
        if turn == 0.0:
            continue
        bench.slope[p] = planes[row, SLOPE] = new
        planes[row, OFFSET] = offset
        bench.value[p] = offset + bench.slope[p] * h
        if alpha > 0.0:
            moved = factor * alpha * turn
            at = blocks.spans[row, AT]
            add_difference(problem.data, i, blocks.outputs, at, moved, w)
            for q in range(1, count):
                bench.h[q] -= moved * gram[p, q]
                bench.value[q] -= bench.slope[q] * moved * gram[p, q]


@jitable
def pairwise_steps(
    gram: Any,
    count: int,
    factor: float,
    corner: int,
    max_steps: int,
    alpha: Any,
    slope: Any,
    value: Any,
    change: Any,
) -> None:
    """Move mass from the lowest active plane to the highest until their values agree.

    ``factor`` is s_i/(lam n). The first step moves mass to plane ``corner``, later steps to the
    plane of largest value. Overwrites alpha, value and change.
    """
    slack = -1.0
    for step_number in range(max_steps):
        hi, lo = 0, -1
        for p in range(count):
            if value[p] > value[hi]:
                hi = p
            if alpha[p] > 0.0 and (lo < 0 or value[p] < value[lo]):
                lo = p
        if step_number == 0:
            hi = corner
        ascent = value[hi] - value[lo]
        if slack < 0.0:
            # The other blocks move too, so it would be wasted to solve this one to the last digit.
            slack = 1e-2 * ascent
        if ascent <= slack:
            break
        curvature = factor * (
            slope[hi] * slope[hi] * gram[hi, hi]
            - 2.0 * slope[hi] * slope[lo] * gram[hi, lo]
            + slope[lo] * slope[lo] * gram[lo, lo]
        )
        step = most = alpha[lo]
        if ascent < most * curvature:
            step = ascent / curvature
        alpha[hi] += step
        # A plane that gives all it has must end at zero, not at a rounding error.
        alpha[lo] = most - step if step < most else 0.0
        change[hi] += step
        change[lo] -= step
        toward, away = step * factor * slope[hi], step * factor * slope[lo]
        for p in range(count):
            value[p] -= slope[p] * (toward * gram[hi, p] - away * gram[lo, p])


@jitable
def plain_step(
    gram: Any,
    count: int,
    factor: float,
    corner: int,
    alpha: Any,
    slope: Any,
    value: Any,
    change: Any,
) -> None:
    """Make one Frank-Wolfe step towards plane ``corner``; overwrites alpha and change."""
    ascent = value[corner]
    curvature = slope[corner] * slope[corner] * gram[corner, corner]
    for p in range(count):
        ascent -= alpha[p] * value[p]
        mass = alpha[p] * slope[p]
        curvature -= 2.0 * mass * slope[corner] * gram[corner, p]
        for q in range(count):
            curvature += mass * alpha[q] * slope[q] * gram[p, q]
    curvature *= factor
    if ascent <= 0.0:
        return
    step = ascent / curvature if ascent < curvature else 1.0
    for p in range(count):
        moved = step * alpha[p]
        alpha[p] -= moved
        change[p] -= moved
    alpha[corner] += step
    change[corner] += step

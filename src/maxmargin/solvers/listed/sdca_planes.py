"""Dual coordinate ascent over lists of outputs, where psi has slopes other than 1.

Every output k of example i has a plane offset_k + slope_k h_k below its psi, as in blocks/dual.py,
but all planes exist from the start and none has to be searched for. Features are orthogonal and
equally long, so that with N_i = |phi(x_i, y)|^2

    <Psi_k, Psi_l> = N_i (1 + [k = l])    for k, l other than the truth, whose Psi is 0,

and one Gram matrix serves all blocks. A visit looks at all outputs of an example, picks those that
have mass or may get some, and brings the values of their planes together by pairwise steps; where
psi is not affine in h, it turns their planes first. An output without mass keeps no plane: each
visit takes the tangent of psi at the current h.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_few,
    few_scores,
    generic,
    implements,
    margin_error,
    output_cost,
    potentials,
    psi,
)
from maxmargin.solvers.blocks.steps import pairwise_steps, turned

#: An output without mass is looked at if it might get mass once its h grew by this much.
NEAR = 0.3

#: Largest number of pairwise steps per visit.
MAX_STEPS = 10


class Orthogonal(NamedTuple):
    """Inner products of outputs whose features are orthogonal and equally long."""

    table: Any  # <Psi_a, Psi_b> / N_i


class Sheet(NamedTuple):
    """Scratch for the active outputs of one example; the truth comes first."""

    alpha: Any
    slope: Any
    offset: Any
    h: Any
    value: Any
    change: Any
    mass: Any  # alpha * slope before the visit; then the multiple of each phi that is added to w
    all_h: Any  # h of all outputs, output k at place k
    all_values: Any


def sheet_for(n_outputs: int) -> Sheet:
    """Return room for the outputs of one example."""
    return Sheet(*np.zeros((len(Sheet._fields), n_outputs)))


def orthogonal(n_outputs: int) -> Orthogonal:
    """Return the inner products of so many outputs."""
    # The matrix 1 + [a = b], made of one row of ones with a two in the middle. The truth needs no
    # zeros: every inner product is multiplied by both slopes, and the slope of the truth is 0.
    row = np.ones(2 * n_outputs - 1)
    row[n_outputs - 1] = 2.0
    return Orthogonal(sliding_window_view(row, n_outputs)[::-1])


@generic
def agree(gram, problem, i, curvature, bends, blocks, sheet, y):
    """Bring the values of the active planes of block i together, as far as a visit does.

    ``gram`` has the inner products, and ``curvature`` is s_i N_i / (lam n). With ``bends`` planes
    are turned towards the tangents of psi first.
    """


@jitable
def pick(problem: Any, i: int, bends: bool, w: Any, blocks: Any, sheet: Any, desk: Any) -> None:
    """Choose the active outputs, which have mass or may get some; write their h to the sheet."""
    truth = blocks.truths[i]
    beta, active = blocks.beta, blocks.active
    n_outputs = beta.shape[1]
    potentials(problem.data, i, w, 1.0, desk.theta)
    lowest = 0.0 if beta[i, truth] > -1.0 else np.inf
    for k in range(n_outputs):
        desk.y[0] = k
        h = margin_error(problem.data, i, desk.theta, desk.y, 0)
        slope = blocks.slope[i, k]
        value = blocks.offset[i, k] + slope * h
        if beta[i, k] > 0.0:
            lowest = min(lowest, value)
        elif bends and k != truth:
            g = output_cost(problem.data, problem.cost, i, desk.y, 0)
            value, slope, _ = psi(problem.surrogate, h, g)
        sheet.all_h[k] = h
        sheet.all_values[k] = value + NEAR * slope
    active[i, 0] = truth
    count = 1
    for k in range(n_outputs):
        if (beta[i, k] > 0.0 or sheet.all_values[k] > lowest) and k != truth:
            active[i, count] = k
            sheet.h[count] = sheet.all_h[k]
            count += 1
    blocks.n_active[i] = count


@jitable
def load(problem: Any, i: int, bends: bool, blocks: Any, sheet: Any, y: Any) -> tuple[float, float]:
    """Write the planes of the active outputs to the sheet.

    Returns the largest psi, and the mean of the planes' values under alpha.
    """
    top = mean = 0.0
    for a in range(blocks.n_active[i]):
        k = blocks.active[i, a]
        alpha = blocks.beta[i, k] + (1.0 if a == 0 else 0.0)
        h = sheet.h[a]
        if bends and a > 0:
            y[0] = k
            g = output_cost(problem.data, problem.cost, i, y, 0)
            above, slope, _ = psi(problem.surrogate, h, g)
            top = max(top, above)
            if alpha <= 0.0:
                blocks.slope[i, k] = slope
                blocks.offset[i, k] = above - slope * h
        sheet.alpha[a] = alpha
        sheet.slope[a] = blocks.slope[i, k]
        sheet.offset[a] = blocks.offset[i, k]
        sheet.value[a] = sheet.offset[a] + sheet.slope[a] * h
        sheet.mass[a] = alpha * sheet.slope[a]
        sheet.change[a] = 0.0
        top = max(top, sheet.value[a])
        mean += alpha * sheet.value[a]
    return top, mean


@jitable
def bend(
    gram: Any, problem: Any, i: int, curvature: float, blocks: Any, sheet: Any, y: Any
) -> None:
    """Turn the planes that have mass towards the tangents at h; see `blocks.bend_planes`."""
    count = blocks.n_active[i]
    for a in range(1, count):
        if sheet.alpha[a] <= 0.0:
            continue
        y[0] = blocks.active[i, a]
        g = output_cost(problem.data, problem.cost, i, y, 0)
        slope, offset = turned(
            problem.surrogate, sheet.h[a], g, sheet.slope[a], sheet.offset[a], sheet.value[a],
            2.0 * curvature * sheet.alpha[a],
        )  # fmt: skip
        moved = curvature * sheet.alpha[a] * (slope - sheet.slope[a])
        sheet.slope[a] = slope
        sheet.offset[a] = offset
        for b in range(1, count):
            sheet.h[b] -= moved * gram.table[a, b]
            sheet.value[b] = sheet.offset[b] + sheet.slope[b] * sheet.h[b]


@implements(agree, Orthogonal)
def _agree(gram, problem, i, curvature, bends, blocks, sheet, y):
    """Turn planes, then make pairwise steps."""
    if bends:
        bend(gram, problem, i, curvature, blocks, sheet, y)
    best = 0
    for a in range(blocks.n_active[i]):
        if sheet.value[a] > sheet.value[best]:
            best = a
    pairwise_steps(
        gram.table, blocks.n_active[i], curvature, best, MAX_STEPS,
        sheet.alpha, sheet.slope, sheet.value, sheet.change,
    )  # fmt: skip


@jitable
def store(problem: Any, i: int, factor: float, blocks: Any, sheet: Any, w: Any) -> None:
    """Write the result of a visit from the sheet to block i, and update w.

    Only outputs that have mass, or may get some soon, stay active.
    """
    count, truth = blocks.n_active[i], blocks.truths[i]
    sheet.mass[0] = 0.0
    others = linear = 0.0
    level = sheet.value[0]
    for a in range(1, count):
        k = blocks.active[i, a]
        alpha = sheet.alpha[a]
        blocks.beta[i, k] = alpha
        blocks.slope[i, k] = sheet.slope[a]
        blocks.offset[i, k] = sheet.offset[a]
        others += alpha
        linear += alpha * sheet.offset[a]
        sheet.mass[a] -= alpha * sheet.slope[a]
        sheet.mass[0] -= sheet.mass[a]
        level = max(level, sheet.value[a])
    # If the other outputs have all the mass, alpha of the truth is exactly 0 (beta = -1): with a
    # rounding error left there, the truth would be the lowest active plane of the next step.
    blocks.beta[i, truth] = -others if others < 1.0 - 1e-14 else -1.0
    blocks.linear[i] = linear
    add_few(problem.data, i, blocks.active, count, sheet.mass, factor, w)
    n_left = 1
    for a in range(1, count):
        if sheet.alpha[a] > 0.0 or sheet.value[a] + NEAR * sheet.slope[a] > level:
            blocks.active[i, n_left] = blocks.active[i, a]
            n_left += 1
    blocks.n_active[i] = n_left


@jitable
def planes_pass(
    problem: Any,
    order: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    w: Any,
    blocks: Any,
    desk: Any,
    total: float,
    sheet: Any,
    whole: bool,
    bends: bool,
    gram: Any,
) -> float:
    """Improve the blocks order[first:last], one after the other; add their gaps to ``total``.

    With ``whole`` a visit looks at all outputs, and writes the active ones to blocks.active.
    Without it, a visit looks at the active outputs alone, and its gap is the gap over these.
    ``bends`` says that psi is not affine in h; ``gram`` has the inner products of outputs, see
    `agree`.
    """
    for visit in range(first, last):
        i = order[visit]
        factor = problem.weight[i] * inv_lam_n
        if whole:
            pick(problem, i, bends, w, blocks, sheet, desk)
        else:
            few_scores(problem.data, i, blocks.active, blocks.n_active[i], w, sheet.h)
            for a in range(1, blocks.n_active[i]):
                sheet.h[a] -= sheet.h[0]
        sheet.h[0] = 0.0
        top, mean = load(problem, i, bends, blocks, sheet, desk.y)
        gap = max(problem.weight[i] * (top - mean), 0.0)
        blocks.gap[i] = gap
        total += gap
        if gap <= 1e-14 * top:
            if whole:
                blocks.n_active[i] = 0  # solved already, as most blocks are near the optimum
            continue
        agree(gram, problem, i, factor * blocks.norms[i], bends, blocks, sheet, desk.y)
        store(problem, i, factor, blocks, sheet, w)
    return total

"""Dual coordinate ascent over lists of outputs whose features are not orthogonal.

Labels of a hierarchy share nodes, so with G of `listed_gram`, N_i of `listed_norms` and the truth t

    <Psi_k, Psi_l> = N_i ( G[k, l] - G[k, t] - G[l, t] + G[t, t] ).

Everything else is as in sdca_planes.py, whose passes call what is implemented here. Inner products
are looked up when a step needs them: a visit asks for two rows of G per step, those of its active
outputs.
"""

from __future__ import annotations

from typing import Any

from maxmargin.core.compile import jitable
from maxmargin.core.contract import ListedGram, implements, listed_gram, output_cost
from maxmargin.core.problem import Problem
from maxmargin.solvers.blocks.steps import turned
from maxmargin.solvers.listed.sdca_planes import agree

#: Largest number of pairwise steps per visit, and the share of the first difference of values at
#: which a block counts as solved.
MAX_STEPS, AGREE = 30, 1e-2


def gram_of(problem: Problem) -> ListedGram | None:
    """Return G of the data, or None if it is the identity."""
    return problem.remember(listed_gram)


@jitable
def product_of(gram: Any, k: int, other: int) -> float:
    """Return G[k, other]."""
    if gram.table.shape[0] > 0:
        return gram.table[k, other]
    total = 0.0
    a, a_end = gram.at[k], gram.at[k + 1]
    b, b_end = gram.at[other], gram.at[other + 1]
    while a < a_end and b < b_end:
        if gram.parts[a] < gram.parts[b]:
            a += 1
        elif gram.parts[a] > gram.parts[b]:
            b += 1
        else:
            total += gram.weight[gram.parts[a]]
            a += 1
            b += 1
    return total


@jitable
def gram_steps(
    gram: Any, i: int, curvature: float, blocks: Any, sheet: Any, with_truth: Any, row: Any
) -> None:
    """Move mass from the lowest active plane to the highest until their values agree.

    ``curvature`` is s_i N_i / (lam n). with_truth[a] has G[k, t] for each active output k. ``row``
    is room for one number per active output.
    """
    count, active = blocks.n_active[i], blocks.active
    alpha, slope, value = sheet.alpha, sheet.slope, sheet.value
    slack = -1.0
    for _ in range(MAX_STEPS):
        hi, lo = 0, -1
        for a in range(count):
            if value[a] > value[hi]:
                hi = a
            if alpha[a] > 0.0 and (lo < 0 or value[a] < value[lo]):
                lo = a
        ascent = value[hi] - value[lo]
        if slack < 0.0:
            # The other blocks move too, so it would be wasted to solve this one to the last digit.
            slack = AGREE * ascent
        if ascent <= slack:
            break
        # row[a] = <Psi_a, slope_hi Psi_hi - slope_lo Psi_lo> / N_i
        up, down = slope[hi], slope[lo]
        shared = up * (with_truth[0] - with_truth[hi]) - down * (with_truth[0] - with_truth[lo])
        for a in range(count):
            row[a] = shared - (up - down) * with_truth[a]
            row[a] += up * product_of(gram, active[i, hi], active[i, a])
            row[a] -= down * product_of(gram, active[i, lo], active[i, a])
        bend = curvature * (up * row[hi] - down * row[lo])
        step = most = alpha[lo]
        if ascent < most * bend:
            step = ascent / bend
        alpha[hi] += step
        # A plane that gives all it has must end at zero, not at a rounding error.
        alpha[lo] = most - step if step < most else 0.0
        for a in range(count):
            value[a] -= step * curvature * slope[a] * row[a]


@jitable
def bend_with_gram(
    problem: Any, i: int, gram: Any, curvature: float, blocks: Any, sheet: Any, y: Any, own: Any
) -> None:
    """Turn the planes that have mass towards the tangents at h; see `blocks.bend_planes`.

    ``own`` has G[k, t] for each active output k.
    """
    count, active = blocks.n_active[i], blocks.active
    for a in range(1, count):
        if sheet.alpha[a] <= 0.0:
            continue
        k = active[i, a]
        y[0] = k
        g = output_cost(problem.data, problem.cost, i, y, 0)
        square = product_of(gram, k, k) - 2.0 * own[a] + own[0]
        slope, offset = turned(
            problem.surrogate, sheet.h[a], g, sheet.slope[a], sheet.offset[a], sheet.value[a],
            square * curvature * sheet.alpha[a],
        )  # fmt: skip
        moved = curvature * sheet.alpha[a] * (slope - sheet.slope[a])
        sheet.slope[a] = slope
        sheet.offset[a] = offset
        for b in range(1, count):
            shared = product_of(gram, k, active[i, b]) - own[a] - own[b] + own[0]
            sheet.h[b] -= moved * shared
            sheet.value[b] = sheet.offset[b] + sheet.slope[b] * sheet.h[b]


@implements(agree, ListedGram)
def _agree(gram, problem, i, curvature, bends, blocks, sheet, y):
    """Turn planes, then make pairwise steps."""
    own, row = sheet.all_h, sheet.all_values  # after `pick` nobody reads these
    truth = blocks.truths[i]
    for a in range(blocks.n_active[i]):
        own[a] = product_of(gram, blocks.active[i, a], truth)
    if bends:
        bend_with_gram(problem, i, gram, curvature, blocks, sheet, y, own)
    gram_steps(gram, i, curvature, blocks, sheet, own, row)

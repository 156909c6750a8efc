"""A pass over the blocks: each is asked for a new plane, or not, and improved."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_differences,
    find,
    margin_error,
    potentials,
    potentials_of,
)
from maxmargin.solvers.blocks.arena import (
    ALPHA,
    AT,
    IDLE,
    OFFSET,
    SLOPE,
    Blocks,
    add_plane,
    capacity,
)
from maxmargin.solvers.blocks.steps import bend_planes, pairwise_steps, plain_step

# How a visit improves a block: by one Frank-Wolfe step, by one pairwise step, or by pairwise steps
# until the values of its planes agree.
PLAIN, PAIRWISE, ACTIVE = 0, 1, 2


class Bench(NamedTuple):
    """Scratch for the planes of the one block that is being improved."""

    alpha: Any
    slope: Any
    value: Any
    change: Any
    h: Any
    scales: Any  # of the planes that change, times what their Psi is added to w
    places: Any  # (planes,) int64: where the outputs of these planes begin


def bench_for(blocks: Blocks) -> Bench:
    """Return a bench that is large enough for the planes of any one block."""
    largest = int(capacity(blocks).max())
    floats = {name: np.zeros(largest) for name in Bench._fields if name != "places"}
    return Bench(**floats, places=np.zeros(largest, dtype=np.int64))


@jitable
def visit_blocks(
    problem: Any,
    order: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    kind: int,
    max_steps: int,
    ask: bool,
    bends: bool,
    w: Any,
    blocks: Any,
    bench: Any,
    desk: Any,
    newest: Any,
    every: int,
    total: float,
) -> float:
    """Improve the blocks order[first:last], one after the other; add up their gaps.

    Returns ``total``, the sum so far, plus the gaps of these blocks. The gap of a block, times n,
    before its step is s_i (max psi - sum_p alpha_p value_p). With ``ask`` a visit calls the oracle
    and adds its plane. Without it, a visit uses known planes only, and its gap is the gap over
    these. With ``bends``, for a psi that is not affine in h, a visit turns planes too. After each
    ``every`` visits of the pass, and after its last, w is added to the mean ``newest``; never if
    ``every`` is 0.
    """
    for visit in range(first, last):
        i = order[visit]
        weight = problem.weight[i]
        factor = weight * inv_lam_n
        corner = -1
        top = 0.0
        if not ask:
            start, count = blocks.start[i], blocks.count[i]
            potentials_of(
                problem.data, i, w, blocks.outputs, blocks.spans, start, count, desk.theta
            )
        else:
            potentials(problem.data, i, w, 1.0, desk.theta)
            top, slope, h, _ = find(problem.search, problem, i, desk, desk.y, 0)
            if top > 0.0:
                corner = add_plane(problem, i, slope, top - slope * h, blocks, desk)

        start, count = blocks.start[i], blocks.count[i]
        alpha, slopes = bench.alpha, bench.slope
        mean = 0.0
        best = 0
        for p in range(count):
            at = blocks.spans[start + p, AT]
            h = margin_error(problem.data, i, desk.theta, blocks.outputs, at)
            alpha[p] = blocks.planes[start + p, ALPHA]
            slopes[p] = blocks.planes[start + p, SLOPE]
            bench.h[p] = h
            bench.value[p] = blocks.planes[start + p, OFFSET] + slopes[p] * h
            bench.change[p] = 0.0
            mean += alpha[p] * bench.value[p]
            if bench.value[p] > bench.value[best]:
                best = p
        # A hasty oracle may find less than is known. The margin is for rounding: an exact oracle
        # finds the best known plane again.
        if corner < 0 or bench.value[best] > top + 1e-9 * (1.0 + abs(top)):
            corner = best
            top = bench.value[corner]
        gap = max(weight * (top - mean), 0.0)
        total += gap
        if ask:
            blocks.gap[i] = gap

        room = blocks.start[i + 1] - start
        gram = blocks.gram[blocks.square[i] : blocks.square[i + 1]].reshape((room, room))
        if bends:
            bend_planes(problem, i, factor, gram, w, blocks, bench)
        if kind == PLAIN:
            plain_step(gram, count, factor, corner, alpha, slopes, bench.value, bench.change)
        else:
            n_steps = 1 if kind == PAIRWISE else max_steps
            pairwise_steps(
                gram, count, factor, corner, n_steps, alpha, slopes, bench.value, bench.change
            )

        n_changed = 0
        for p in range(count):
            row = start + p
            if bench.change[p] != 0.0:
                bench.scales[n_changed] = factor * bench.change[p] * slopes[p]
                bench.places[n_changed] = blocks.spans[row, AT]
                n_changed += 1
                blocks.planes[row, ALPHA] = alpha[p]
            blocks.planes[row, IDLE] = 0.0 if alpha[p] > 0.0 else blocks.planes[row, IDLE] + 1.0
        if n_changed > 0:
            add_differences(
                problem.data, i, blocks.outputs, bench.places, bench.scales, n_changed, w
            )
        if every > 0 and ((visit + 1) % every == 0 or visit + 1 == order.shape[0]):
            share = (visit % every + 1) / order.shape[0]
            for k in range(w.shape[0]):
                newest[k] += share * w[k]
    return total

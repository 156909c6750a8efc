"""Marginals of projective trees for a batch, eight sentences at a time in the lanes of one chart.

Arcs weigh exp((score - base) / temperature), base the best score of an arc into the same word. So
no weight is above 1, no sum above the number of trees, and what underflows is the part of trees
that all together weigh less than e^(TREES_PER_WORD n - 708). Where that is something beside the
sum, and of very long sentences, it is left to `tree_marginals`.

The way back is written the other way round than `_outside` of single sentences: every slope is the
sum of all that it gets, which are products of two runs of cells (see `lanes`), where adding to the
slopes of the parts of an item would store two numbers per split.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference._exp import fast_exp
from maxmargin.inference._inline import inlined
from maxmargin.inference.parse.projective.lanes import (
    WIDTH,
    copy_cell,
    lanes_room,
    sum_of_runs,
)
from maxmargin.inference.parse.projective.marginal import TREES_PER_WORD, WIDEST

#: So many ends of spans are taken together on a way through the chart: what begins at s is read
#: from memory once for all of them. That is 5 to 10% of the time of 100 words.
STRIP = 8


class BatchSums(NamedTuple):
    """Workspace for eight sentences of up to n words; tables have ((n + 1)^2, 8) numbers.

    [s, t] of halves and arcs, s < t, is what has the head s, [t, s] what has the head t; mirrors
    are transposed. Slopes are derivatives of the logarithm of the sum over all trees.
    """

    weights: npt.NDArray[np.float64]
    halves: npt.NDArray[np.float64]
    mirror: npt.NDArray[np.float64]
    arcs: npt.NDArray[np.float64]
    arc_mirror: npt.NDArray[np.float64]
    half_slopes: npt.NDArray[np.float64]
    mirror_slopes: npt.NDArray[np.float64]
    pair_slopes: npt.NDArray[np.float64]  # of a half of s beside a half of t; [s, t] and [t, s]
    base: npt.NDArray[np.float64]  # (n + 1, 8)
    found: npt.NDArray[np.float64]  # (2, 8)
    scales: npt.NDArray[np.float64]  # (1, 8): 1 / sum, 0 for lanes that are not filled, or not safe


def batch_sums_room(n_words: int) -> BatchSums:
    """Return workspace for eight sentences of up to ``n_words`` words."""
    size = n_words + 1
    # One array: memory that was freed in one piece is mostly still there at the next call.
    ends = list(itertools.accumulate([size * size] * 8 + [size, 2, 1], initial=0))
    room = lanes_room(ends[-1])
    return BatchSums(*(room[first:end] for first, end in itertools.pairwise(ends)))


@kernel
def projective_marginals_batch(scores, lengths, order, many, temperature, room, totals, arcs):
    """Fill the marginals of arcs for each sentence of a batch, and log sums over trees.

    Parameters
    ----------
    scores, lengths, order, many : as for `best_projective_batch`
    temperature : float, positive and finite
    room : BatchSums, overwritten
    totals : float64 array of length B; receives log sum over trees of exp(score / temperature), or
        NaN where that, and the marginals, are left to `tree_marginals`
    arcs : float64 array of shape (B, N + 1, N + 1), zeros; [i, h, m] receives p(h -> m)
    """
    side = room.base.shape[0]
    for first in range(0, order.shape[0], WIDTH):
        group = order[first : first + WIDTH]
        n = lengths[group[0]]
        _fill_weights(scores, lengths, group, n, side, temperature, room, totals)
        _inside(many, n, side, room)
        for lane in range(group.shape[0]):
            i = group[lane]
            total = _total(many, lengths[i], lane, side, room)
            trees = TREES_PER_WORD * lengths[i]
            is_safe = total > 0.0 and trees < min(WIDEST, WIDEST + math.log(total))
            room.scales[0, lane] = 1.0 / total if is_safe else 0.0
            totals[i] = totals[i] + math.log(total) if is_safe else np.nan
        for lane in range(group.shape[0], WIDTH):
            room.scales[0, lane] = 0.0
        _outside(lengths, group, many, n, side, room)
        _write_marginals(lengths, group, n, side, room, arcs)


@kernel
def _write_marginals(lengths, group, n, side, room, arcs):
    """Write the marginals of a group, row by row as `_fill_weights` reads scores."""
    for h in range(n + 1):
        for lane in range(group.shape[0]):
            i = group[lane]
            if h <= lengths[i] and room.scales[0, lane] > 0.0:
                for m in range(1, lengths[i] + 1):
                    arcs[i, h, m] = room.weights[h * side + m, lane]


@kernel
def _fill_weights(scores, lengths, group, n, side, temperature, room, totals):
    """Fill weights, 0 beyond a sentence and in lanes without one; totals receive log scales.

    Row by row, and lane by lane within a row: the cells of a row stay in the nearest cache.
    """
    weights, base = room.weights, room.base
    rate = 1.0 / temperature
    base[: n + 1] = -np.inf
    for h in range(n + 1):
        row = h * side
        weights[row : row + n + 1] = -np.inf
        for lane in range(group.shape[0]):
            i = group[lane]
            if h <= lengths[i]:
                for m in range(1, lengths[i] + 1):
                    weights[row + m, lane] = scores[i, h, m]
        weights[row + h] = -np.inf
        _raise(weights[row : row + n + 1].reshape(-1), base.reshape(-1))
    for lane in range(group.shape[0]):
        scale = 0.0
        for m in range(1, lengths[group[lane]] + 1):
            scale += base[m, lane] / temperature
        totals[group[lane]] = scale
    for m in range(n + 1):
        for lane in range(WIDTH):
            if base[m, lane] == -np.inf:
                base[m, lane] = 0.0  # all its weights are 0
    for h in range(n + 1):
        _exp_row(weights[h * side : h * side + n + 1].reshape(-1), base.reshape(-1), rate)


@kernel(fastmath="maxima")
def _raise(row, base):
    """Replace base by the larger of base and row; over numbers in one line, which vectorises."""
    for at in range(row.shape[0]):
        base[at] = row[at] if row[at] > base[at] else base[at]


@kernel
def _exp_row(row, base, rate):
    """Replace row by exp((row - base) * rate)."""
    for at in range(row.shape[0]):
        row[at] = fast_exp((row[at] - base[at]) * rate)


@kernel
def _inside(many, n, side, room):
    """Fill the sums of all items, as `_inside` of single sentences does."""
    weights, halves, mirror = room.weights, room.halves, room.mirror
    arcs, arc_mirror = room.arcs, room.arc_mirror
    lowest = 0 if many else 1
    for a in range(n + 1):
        halves[a * side + a] = mirror[a * side + a] = 1.0
    for top in range(lowest + STRIP, n + STRIP + 1, STRIP):
        for s in range(min(top, n + 1) - 2, lowest - 1, -1):
            for t in range(max(s + 1, top - STRIP), min(top, n + 1)):
                right, left, n_cells = s * side + t, t * side + s, t - s
                from_s, from_t = s * side + s, t * side + s
                sum_of_runs(halves, from_s, halves, from_t + 1, n_cells, arcs, right, 0)
                # Of arcs into the root all weights are 0.
                sum_of_runs(arcs, right, weights, left, 1, arcs, left, 0)
                sum_of_runs(arcs, right, weights, right, 1, arcs, right, 0)
                copy_cell(arcs, left, arc_mirror, right)
                copy_cell(arcs, right, arc_mirror, left)
                sum_of_runs(mirror, from_s, arcs, from_t, n_cells, halves, left, 0)
                sum_of_runs(arcs, from_s + 1, mirror, from_t + 1, n_cells, halves, right, 0)
                copy_cell(halves, left, mirror, right)
                copy_cell(halves, right, mirror, left)


@inlined
def _total(many, length, lane, side, room):
    """Return the sum over all trees of one sentence."""
    halves, weights = room.halves, room.weights
    if many:
        return halves[length, lane]
    total = 0.0
    for r in range(1, length + 1):
        both = halves[r * side + 1, lane] * halves[r * side + length, lane]
        total += both * weights[r, lane]
    return total


@kernel
def _outside(lengths, group, many, n, side, room):
    """Fill slopes from whole trees down; the weights of arcs become their marginals."""
    weights, halves, mirror = room.weights, room.halves, room.mirror
    arcs, arc_mirror = room.arcs, room.arc_mirror
    slopes, mirror_slopes, pairs, found = (
        room.half_slopes, room.mirror_slopes, room.pair_slopes, room.found
    )  # fmt: skip
    lowest = 0 if many else 1
    for a in range(n + 1):
        slopes[a * side : a * side + n + 1] = 0.0
    for lane in range(group.shape[0]):
        _seed(many, lengths[group[lane]], lane, side, room)
    for top in range(n, lowest, -STRIP):
        for s in range(lowest, top):
            for t in range(top, max(top - STRIP, s), -1):
                right, left, own = s * side + t, t * side + s, t * side + t
                n_above, n_below = n - t, s - lowest
                above, from_t, from_s = right + 1, t * side + lowest, s * side + lowest
                # A right half of s is beside halves of the word after t, and part of right halves
                # of words before s; a left half of t likewise.
                after = own + side + 1 if t < n else 0
                before = from_s - side if s > lowest else 0
                sum_of_runs(pairs, above, mirror, after, n_above, slopes, right, 1)
                sum_of_runs(mirror_slopes, from_t, arc_mirror, from_s, n_below, slopes, right, 1)
                sum_of_runs(pairs, from_t, mirror, before, n_below, slopes, left, 1)
                sum_of_runs(mirror_slopes, above, arc_mirror, own + 1, n_above, slopes, left, 1)
                copy_cell(slopes, left, mirror_slopes, right)
                copy_cell(slopes, right, mirror_slopes, left)
                # An arc s -> t is part of right halves of s that end at t or later.
                sum_of_runs(slopes, right, halves, own, n_above + 1, found, 0, 0)
                sum_of_runs(slopes, from_t, halves, from_s, n_below + 1, found, 1, 0)
                sum_of_runs(found, 0, weights, right, 1, pairs, right, 0)
                sum_of_runs(found, 1, weights, left, 1, pairs, right, 1)
                copy_cell(pairs, right, pairs, left)
                sum_of_runs(found, 0, arcs, right, 1, weights, right, 0)
                sum_of_runs(found, 1, arcs, left, 1, weights, left, 0)


@inlined
def _seed(many, length, lane, side, room):
    """Add the slopes of halves in whole trees; with one root, fill the marginals of its arcs."""
    halves, weights, slopes, scale = (
        room.halves,
        room.weights,
        room.half_slopes,
        room.scales[0, lane],
    )
    if many:
        slopes[length, lane] += scale
        return
    for r in range(1, length + 1):
        left, right = r * side + 1, r * side + length
        slope = weights[r, lane] * scale
        weights[r, lane] = slope * halves[left, lane] * halves[right, lane]
        if r < length:
            slopes[right, lane] += slope * halves[left, lane]
        if r > 1:
            slopes[left, lane] += slope * halves[right, lane]

"""The best projective trees of a batch, eight sentences at a time in the lanes of one chart.

Lane k of cell (a, b) belongs to the item over the words a and b of the k-th sentence, see `lanes`.
What is in a span does not depend on what comes after it, so a shorter sentence has its answer in a
smaller part of the chart. Sentences of like lengths share a chart, the longest come first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.parse.projective.chart import goal_value, write_tree
from maxmargin.inference.parse.projective.lanes import (
    WIDTH,
    best_of_runs,
    copy_cell,
    lanes_room,
)


class BatchChart(NamedTuple):
    """Workspace for eight sentences of up to n words; see `Chart`."""

    values: npt.NDArray[np.float64]  # (2 (n + 1)^2, 8): halves, then arcs
    mirror: npt.NDArray[np.float64]  # ((n + 1)^2, 8): halves, transposed
    stack: npt.NDArray[np.int64]  # (4 n + 8, 2)


def batch_chart_room(n_words: int) -> BatchChart:
    """Return workspace for eight sentences of up to ``n_words`` words."""
    size = n_words + 1
    return BatchChart(
        lanes_room(2 * size * size),
        lanes_room(size * size),
        np.empty((4 * n_words + 8, 2), dtype=np.int64),
    )


@kernel
def best_projective_batch(scores, lengths, order, many, room, heads, totals):
    """Find a best projective tree for each sentence of a batch.

    Parameters
    ----------
    scores : float64 array of shape (B, N + 1, N + 1)
        Those of sentence i are scores[i, : n + 1, : n + 1], as for `best_projective`; the rest is
        not read.
    lengths : int64 array of length B: n, the number of words of each sentence, n >= 1
    order : int64 array: the numbers of sentences to parse, the longest first
    many : int
        1 if several words may hang on the root, 0 if exactly one must.
    room : BatchChart, overwritten
    heads : int32 array of shape (B, N); heads[i, m - 1] receives the head of word m
    totals : float64 array of length B; receives the scores of the trees

    Scores, and trees that tie, are those of `best_projective` to the last bit. Where every tree
    scores -inf, so does the answer, and no heads are written.
    """
    values, mirror, stack = room.values, room.mirror, room.stack
    side, none = stack.shape[0] // 4 - 1, np.empty((0, 0, 0))
    halves = values[: side * side].reshape((side, side, WIDTH))
    for first in range(0, order.shape[0], WIDTH):
        group = order[first : first + WIDTH]
        _fill_lanes(scores, lengths, group, many, side, values, mirror)
        for lane in range(group.shape[0]):
            i = group[lane]
            n = lengths[i]
            own = scores[i, : n + 1, : n + 1]
            totals[i], place = goal_value(own, none, many, halves[:, :, lane])
            if totals[i] > -np.inf:
                write_tree(own, none, many, values[:, lane], side, stack, place, heads[i])


@kernel
def _fill_lanes(scores, lengths, group, many, side, values, mirror):
    """Do as `fill_chart` for the sentences of a group."""
    n = lengths[group[0]]
    arcs = side * side  # where they begin in ``values``
    lowest = 0 if many else 1
    for t in range(lowest, n + 1):
        for lane in range(WIDTH):
            values[t * side + t, lane] = 0.0
            mirror[t * side + t, lane] = 0.0
        for s in range(t - 1, lowest - 1, -1):
            right, left = s * side + t, t * side + s
            best_of_runs(
                values, s * side + s, values, t * side + s + 1, t - s, values, arcs + right
            )
            for lane in range(group.shape[0]):
                i = group[lane]
                best, is_inside = values[arcs + right, lane], t <= lengths[i]
                values[arcs + right, lane] = best + scores[i, s, t] if is_inside else -np.inf
                is_inside &= s > 0
                values[arcs + left, lane] = best + scores[i, t, s] if is_inside else -np.inf
            best_of_runs(mirror, s * side + s, values, arcs + left, t - s, values, left)
            best_of_runs(
                values, arcs + s * side + s + 1, mirror, t * side + s + 1, t - s, values, right
            )
            copy_cell(values, left, mirror, right)
            copy_cell(values, right, mirror, left)

"""Marginals of projective trees: the probability of every arc, p(tree) ~ exp(score / temperature).

`tree_marginals` sums in exp space and goes back through the chart in reverse mode. Scores of arcs
are taken relative to those of the best tree, so that the sum of all trees is at least 1. Where
numbers could overflow, or underflow that matter, sums are taken relative to the best part of each
item (`scaled_marginals`). The sibling model, and sentences so long that these overflow too, have
`log_tree_marginals`: there an item is exp(best / temperature + log_sum), with the best from
Eisner's chart, and marginals are products of conditionals p(split | item), as for chains.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference._exp import fast_exp
from maxmargin.inference._inline import inlined
from maxmargin.inference.parse.projective.chart import (
    ARC,
    BETWEEN,
    HALF,
    Chart,
    chart_room,
    decode,
    fill_chart,
    goal_of,
    goal_value,
    item_of,
    split,
    split_range,
    split_score,
    write_tree,
)
from maxmargin.inference.parse.projective.scaled import scaled_marginals

#: No product of weights is above e^gain, and there are fewer than e^(TREES_PER_WORD n) trees. So no
#: sum overflows where gain + TREES_PER_WORD n < WIDEST; and what underflows, below e^-708, is the
#: part of trees that all together weigh less than e^(WIDEST - 708) beside the best one.
TREES_PER_WORD, WIDEST = 2.0, 660.0


class TreeSums(NamedTuple):
    """Workspace of `tree_marginals`, for sentences of up to n words."""

    chart: Chart
    sums: npt.NDArray[np.float64]  # (3, n + 1, n + 1)
    mass: npt.NDArray[np.float64]  # (3, n + 1, n + 1): the probability of an item
    mirror: npt.NDArray[np.float64]  # (n + 1, n + 1)
    weights: npt.NDArray[np.float64]  # (n + 1, n + 1)
    half_slopes: npt.NDArray[np.float64]  # (n + 1, n + 1)
    mirror_slopes: npt.NDArray[np.float64]  # (n + 1, n + 1)
    arc_slopes: npt.NDArray[np.float64]  # (n + 1, n + 1)
    heads: npt.NDArray[np.int32]  # (n,): the best tree


def tree_sums_room(n_words: int) -> TreeSums:
    """Return workspace for sentences of up to ``n_words`` words."""
    size = n_words + 1
    tables = [np.zeros((3, size, size)) for _ in range(2)]
    squares = [np.zeros((size, size)) for _ in range(5)]
    heads = np.zeros(n_words, dtype=np.int32)
    return TreeSums(
        chart_room(n_words), tables[0], tables[1], squares[0], squares[1], squares[2], squares[3],
        squares[4], heads,
    )  # fmt: skip


@kernel
def tree_marginals(scores, siblings, many, temperature, room, arcs, pairs):
    """Fill the marginals of arcs; return log sum over trees of exp(score / temperature).

    Parameters
    ----------
    scores, siblings, many : as for `best_projective`
    temperature : float, positive and finite
    room : TreeSums, overwritten
    arcs : float64 array of shape (>= n + 1, >= n + 1); [h, m] receives p(h -> m)
    pairs : float64 array of the shape of ``siblings``; [h, m, s] receives the probability that s
        and m are neighbouring children of h

    If every tree scores -inf, so does the answer, and the marginals are zeros.
    """
    n = scores.shape[0] - 1
    fill_chart(scores, siblings, many, room.chart)
    best, place = goal_value(scores, siblings, many, room.chart.values[0])
    if best == -np.inf:
        for h in range(n + 1):
            for m in range(n + 1):
                arcs[h, m] = 0.0
        pairs[:] = 0.0
        return best
    if siblings.shape[0] == 0:
        values, stack = room.chart.values, room.chart.stack
        flat, side = values.reshape(-1), values.shape[1]
        write_tree(scores, siblings, many, flat, side, stack, place, room.heads)
        total = _exp_marginals(scores, many, temperature, room, arcs)
        if not total > 0.0:
            total = scaled_marginals(scores, many, temperature, best, room, arcs)
        if total > 0.0:
            return best / temperature + math.log(total)
    return log_tree_marginals(scores, siblings, many, temperature, best, room, arcs, pairs)


@kernel
def _exp_marginals(scores, many, temperature, room, arcs):
    """Return the sum of the trees relative to the best one; 0 if numbers could be lost."""
    n = scores.shape[0] - 1
    # Row by row, as scores lie in memory; slopes are not used yet.
    weights, base, most = room.weights, room.half_slopes[0], room.half_slopes[1]
    for m in range(1, n + 1):
        base[m], most[m] = scores[room.heads[m - 1], m], 0.0
    for h in range(n + 1):
        for m in range(1, n + 1):
            weights[h, m] = (scores[h, m] - base[m]) / temperature
        weights[h, h] = -np.inf
        for m in range(1, n + 1):
            most[m] = weights[h, m] if weights[h, m] > most[m] else most[m]
    gain = 0.0
    for m in range(1, n + 1):
        gain += most[m]
    if not gain + TREES_PER_WORD * n < WIDEST:
        return 0.0
    for h in range(n + 1):
        for m in range(1, n + 1):
            weights[h, m] = fast_exp(weights[h, m])
    total = _inside(many, n, weights, room.sums[0], room.mirror, room.sums[1])
    _outside(many, n, total, room, arcs)
    return total


@kernel(fastmath=True)
def _inside(many, n, weights, halves, mirror, arcs):
    """Do as `fill_chart` with sums of products; return the sum over all trees."""
    lowest = 0 if many else 1
    for t in range(lowest, n + 1):
        halves[t, t] = 1.0
        mirror[t, t] = 1.0
        for s in range(t - 1, lowest - 1, -1):
            total = 0.0
            for r in range(s, t):
                total += halves[s, r] * halves[t, r + 1]
            arcs[s, t] = total * weights[s, t]
            arcs[t, s] = total * weights[t, s] if s > 0 else 0.0
            total = 0.0
            for r in range(s, t):
                total += mirror[s, r] * arcs[t, r]
            halves[t, s] = total
            mirror[s, t] = total
            total = 0.0
            for r in range(s + 1, t + 1):
                total += arcs[s, r] * mirror[t, r]
            halves[s, t] = total
            mirror[t, s] = total
    if many:
        return halves[0, n]
    total = 0.0
    for r in range(1, n + 1):
        total += halves[r, 1] * halves[r, n] * weights[0, r]
    return total


@kernel(fastmath=True)
def _outside(many, n, total, room, result):
    """Fill result: the derivatives of log total, by going through `_inside` backwards."""
    halves, arcs, mirror, weights = room.sums[0], room.sums[1], room.mirror, room.weights
    dhalf, dmirror, darc = room.half_slopes, room.mirror_slopes, room.arc_slopes
    lowest = 0 if many else 1
    for a in range(n + 1):
        for b in range(n + 1):
            dhalf[a, b] = 0.0
            dmirror[a, b] = 0.0
            darc[a, b] = 0.0
            result[a, b] = 0.0
    if many:
        dhalf[0, n] = 1.0 / total
    else:
        for r in range(1, n + 1):
            slope = weights[0, r] / total
            dhalf[r, 1] += slope * halves[r, n]
            dhalf[r, n] += slope * halves[r, 1]
            result[0, r] = slope * halves[r, 1] * halves[r, n]
    for t in range(n, lowest - 1, -1):
        for s in range(lowest, t):
            slope = dhalf[s, t] + dmirror[t, s]
            for r in range(s + 1, t + 1):
                darc[s, r] += slope * mirror[t, r]
                dmirror[t, r] += slope * arcs[s, r]
            slope = dhalf[t, s] + dmirror[s, t]
            for r in range(s, t):
                dmirror[s, r] += slope * arcs[t, r]
                darc[t, r] += slope * mirror[s, r]
            result[s, t] = darc[s, t] * arcs[s, t]
            slope = darc[s, t] * weights[s, t]
            if s > 0:
                result[t, s] = darc[t, s] * arcs[t, s]
                slope += darc[t, s] * weights[t, s]
            for r in range(s, t):
                dhalf[s, r] += slope * halves[t, r + 1]
                dhalf[t, r + 1] += slope * halves[s, r]


@kernel
def log_tree_marginals(scores, siblings, many, temperature, best, room, arcs, pairs):
    """Do as `tree_marginals` after `fill_chart`, whatever the scores and the temperature.

    ``best`` is the score of the best tree, above -inf.
    """
    n = scores.shape[0] - 1
    side = room.chart.values.shape[1]
    second = siblings.shape[0] > 0
    tops, logs, mass = room.chart.values.reshape(-1), room.sums.reshape(-1), room.mass.reshape(-1)
    weights = room.weights[0]
    lowest = 0 if many else 1
    for t in range(lowest, n + 1):
        logs[item_of(side, HALF, t, t)] = 0.0
        for s in range(t - 1, lowest - 1, -1):
            for which in range(5):
                item = _item_at(side, which, s, t, second)
                if item >= 0:
                    logs[item] = _log_sum(
                        scores, siblings, temperature, side, item, tops[item], tops, logs, weights
                    )
    goal = goal_of(side, n, many)
    log_total = logs[goal] if many else _log_sum(
        scores, siblings, temperature, side, goal, best, tops, logs, weights
    )  # fmt: skip
    mass[:] = 0.0
    pairs[:] = 0.0
    for a in range(n + 1):
        for b in range(n + 1):
            arcs[a, b] = 0.0
    if many:
        mass[goal] = 1.0
    # The first turn is for the goal, which is no item of the tables unless roots are many.
    for turn in range(n, lowest - 2, -1):
        t = turn + 1 if not many else turn
        for s in range(lowest, t):
            for which in range(4, -1, -1):
                is_goal = t == n + 1
                item = goal if is_goal else _item_at(side, which, s, t, second)
                if item < 0 or (is_goal and (s > 1 or which > 0)):
                    continue
                own = 1.0 if is_goal else mass[item]
                if own == 0.0:
                    continue
                top, log_sum = (best, log_total) if is_goal else (tops[item], logs[item])
                kind, a, b = decode(side, item)
                if kind == ARC:
                    arcs[a, b] += own
                first, end = split_range(n, kind, a, b, second)
                for r in range(first, end):
                    left, right = split(side, n, kind, a, b, second, r)
                    score = split_score(scores, siblings, kind, a, b, r, tops[left] + tops[right])
                    if score == -np.inf:
                        continue
                    log_weight = (score - top) / temperature + (logs[left] + logs[right])
                    share = own * math.exp(log_weight - log_sum)
                    mass[left] += share
                    mass[right] += share
                    if is_goal:
                        arcs[0, r] += share
                    if second and is_goal:
                        pairs[0, r, 0] += share
                    elif second and kind == ARC:
                        pairs[a, b, r] += share
    return best / temperature + log_total


@inlined
def _item_at(side, which, s, t, second):
    """Return the items over the words s to t in the order in which they are made, -1 for none."""
    if which == 0:
        return item_of(side, BETWEEN, s, t) if second else -1
    if which == 1:
        return item_of(side, ARC, s, t)
    if which == 4:
        return item_of(side, HALF, s, t)
    if s == 0:
        return -1  # the root is nobody's child
    return item_of(side, ARC if which == 2 else HALF, t, s)


@inlined
def _log_sum(scores, siblings, temperature, side, item, top, tops, logs, weights):
    """Return log sum over the derivations of an item of exp((score - top) / temperature)."""
    if top == -np.inf:
        return -np.inf
    n = scores.shape[0] - 1
    second = siblings.shape[0] > 0
    kind, a, b = decode(side, item)
    first, end = split_range(n, kind, a, b, second)
    # A part whose log_sum is large may outweigh the split of the highest score.
    highest = -np.inf
    for r in range(first, end):
        left, right = split(side, n, kind, a, b, second, r)
        score = split_score(scores, siblings, kind, a, b, r, tops[left] + tops[right])
        weights[r] = -np.inf
        if score > -np.inf:
            weights[r] = (score - top) / temperature + (logs[left] + logs[right])
            highest = max(highest, weights[r])
    total = 0.0
    for r in range(first, end):
        total += math.exp(weights[r] - highest)
    return highest + math.log(total)

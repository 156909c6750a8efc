"""Eisner's chart: the best part of a projective tree over every span of words.

Words are 1..n, the root is 0. The score of a tree is the sum of scores[head, word] over the words
and, in the sibling model, of siblings[head, word, before] besides, where ``before`` is the child of
head next to the word, on the same side and nearer to head, or head itself for the first child. In
the model of first order ``siblings`` is empty, of shape (0, 0, 0).

The chart has three tables of items, `values`, which one number names (`item_of`):

- HALF [h, e]: the words from h to e, h above all others, and all arcs that go out of h lead
  towards e;
- ARC [h, m]: the words from h to m, with the arc h -> m; m has no child beyond itself yet;
- BETWEEN [s, t]: the words from s to t > s, as a half of s and a half of t. It is an item of the
  sibling model alone; the model of first order has an arc between s and t in its place.

An item is made of two smaller ones, split at some word r. Derivations of trees are unique, so k
best lists and sums count each tree once. The root is not in the chart unless trees may have
several roots (``many`` = 1): one root costs nothing. A tree with one root is the GOAL: both halves
of the word r that hangs on the root.

No back pointers are kept. The splits of an item are tried again, and the one whose sum equals the
value of the item to the last bit is taken; sums are always added up in the same order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference._inline import inlined

HALF, ARC, BETWEEN, GOAL = 0, 1, 2, 3


class Chart(NamedTuple):
    """Workspace of one sentence of n words; a larger one will do."""

    values: npt.NDArray[np.float64]  # (3, n + 1, n + 1)
    mirror: npt.NDArray[np.float64]  # (n + 1, n + 1): halves, transposed, so that rows are read
    stack: npt.NDArray[np.int64]  # (4 n + 8, 2): items whose splits are still to be found


def chart_room(n_words: int) -> Chart:
    """Return workspace for sentences of up to ``n_words`` words."""
    size = n_words + 1
    return Chart(
        np.zeros((3, size, size)),
        np.zeros((size, size)),
        np.zeros((4 * n_words + 8, 2), dtype=np.int64),
    )


@kernel(fastmath="maxima")
def fill_chart(scores, siblings, many, chart):
    """Fill the chart of the words, and of the root besides if ``many``."""
    n = scores.shape[0] - 1
    halves, arcs, between = chart.values[0], chart.values[1], chart.values[2]
    mirror = chart.mirror
    second = siblings.shape[0] > 0
    lowest = 0 if many else 1
    for t in range(lowest, n + 1):
        halves[t, t] = 0.0
        mirror[t, t] = 0.0
        for s in range(t - 1, lowest - 1, -1):
            best = -np.inf
            for r in range(s, t):
                value = halves[s, r] + halves[t, r + 1]
                best = value if value > best else best
            between[s, t] = best
            if second:
                between[t, s] = best
                right = halves[t, s + 1] + siblings[s, t, s]
                for r in range(s + 1, t):
                    value = (arcs[s, r] + between[t, r]) + siblings[s, t, r]
                    right = value if value > right else right
                arcs[s, t] = right + scores[s, t]
                left = halves[s, t - 1] + siblings[t, s, t]
                for r in range(s + 1, t):
                    value = (arcs[t, r] + between[s, r]) + siblings[t, s, r]
                    left = value if value > left else left
                arcs[t, s] = left + scores[t, s] if s > 0 else -np.inf
            else:
                arcs[s, t] = best + scores[s, t]
                arcs[t, s] = best + scores[t, s] if s > 0 else -np.inf
            best = -np.inf
            for r in range(s, t):
                value = mirror[s, r] + arcs[t, r]
                best = value if value > best else best
            halves[t, s] = best
            mirror[s, t] = best
            best = -np.inf
            for r in range(s + 1, t + 1):
                value = arcs[s, r] + mirror[t, r]
                best = value if value > best else best
            halves[s, t] = best
            mirror[t, s] = best


@inlined
def item_of(side, kind, a, b):
    """Return the number of an item: its place in ``values`` as one row; side = values.shape[1]."""
    return (kind * side + a) * side + b


@inlined
def goal_of(side, n, many):
    """Return the item that whole trees are: a half of the root, or one more than all items."""
    return n if many else GOAL * side * side


@inlined
def decode(side, item):
    """Return kind, a and b of an item."""
    kind = item // (side * side)
    inner = item - kind * side * side
    a = inner // side
    return kind, a, inner - a * side


@inlined
def is_trivial(side, item):
    """Tell whether an item is a half of one word, of score 0."""
    return item < side * side and item % (side + 1) == 0


@inlined
def split_range(n, kind, a, b, second):
    """Return the first r at which an item is split, and one more than the last."""
    if kind == GOAL:
        return 1, n + 1
    if kind == HALF:
        return (b, a) if b < a else (a + 1, b + 1)
    if kind == ARC and second:
        return (a, b) if a < b else (b + 1, a + 1)
    return min(a, b), max(a, b)


@inlined
def split(side, n, kind, a, b, second, r):
    """Return the two items that an item, split at r, is made of."""
    if kind == GOAL:
        return r * side + 1, r * side + n
    if kind == HALF:
        return (ARC * side + a) * side + r, r * side + b
    if kind == ARC and second:
        if r == a:
            return b * side + (a + 1 if a < b else a - 1), a * side + a
        return (ARC * side + a) * side + r, (BETWEEN * side + min(r, b)) * side + max(r, b)
    return min(a, b) * side + r, max(a, b) * side + r + 1


@inlined
def split_score(scores, siblings, kind, a, b, r, below):
    """Return ``below``, the sum of the two items, with what the arcs of this split score."""
    second = siblings.shape[0] > 0
    if kind == GOAL:
        return (below + siblings[0, r, 0]) + scores[0, r] if second else below + scores[0, r]
    if kind != ARC:
        return below
    return (below + siblings[a, b, r]) + scores[a, b] if second else below + scores[a, b]


@inlined
def goal_value(scores, siblings, many, halves):
    """Return the score of the best tree, -inf if there is none, and where the goal is split."""
    n = scores.shape[0] - 1
    if many:
        return halves[0, n], -1
    best, place = -np.inf, 1
    for r in range(1, n + 1):
        below = halves[r, 1] + halves[r, n]
        value = split_score(scores, siblings, GOAL, 0, 0, r, below)
        if value > best:
            best, place = value, r
    return best, place


@inlined
def find_split(scores, siblings, flat, side, kind, a, b, value):
    """Return the least r at which an item has this value; ``flat`` is chart.values as one row."""
    n = scores.shape[0] - 1
    second = siblings.shape[0] > 0
    first, end = split_range(n, kind, a, b, second)
    for r in range(first, end - 1):
        left, right = split(side, n, kind, a, b, second, r)
        if split_score(scores, siblings, kind, a, b, r, flat[left] + flat[right]) == value:
            return r
    return end - 1


@inlined
def write_tree(scores, siblings, many, flat, side, stack, goal_split, heads):
    """Write the best tree: heads[m - 1] receives the head of word m.

    ``flat`` is chart.values as one row, ``side`` their second size, ``stack`` that of the chart.
    """
    n = scores.shape[0] - 1
    second = siblings.shape[0] > 0
    stack[0, 0] = goal_of(side, n, many)
    count = 1
    while count > 0:
        count -= 1
        item = stack[count, 0]
        kind, a, b = decode(side, item)
        if kind == GOAL:
            r = goal_split
            heads[r - 1] = 0
        else:
            r = find_split(scores, siblings, flat, side, kind, a, b, flat[item])
            if kind == ARC:
                heads[b - 1] = a
        left, right = split(side, n, kind, a, b, second, r)
        if not is_trivial(side, left):
            stack[count, 0] = left
            count += 1
        if not is_trivial(side, right):
            stack[count, 0] = right
            count += 1

"""The multilinear score of node marginals, and the rounding that never loses on it.

For node marginals y, with labels drawn independently of each other, the expected score is

    F(y) = sum_v sum_x y_v(x) u_v(x) + sum_f sum_{x_f} T_f(x_f) prod_{v in f} y_v(x_v).

It is linear in the marginals of one node while the others are held. So if the nodes are visited in
turn and each puts all its mass on a label of the largest partial derivative, F never falls, and in
the end it is the score of a labelling: conditional rounding. Forbidden entries count before all
else: a node takes a label for which the forbidden ones have the least mass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.factors import (
    at_least_one,
    at_most_one,
    cardinality,
    exactly_one,
    implies,
    potts,
)
from maxmargin.inference.graph.factors.switch import factor_value
from maxmargin.inference.graph.shape import DENSE, Shape

__all__ = ["MultilinearRoom", "conditional_labels", "multilinear_room", "multilinear_value"]

_EXACTLY_ONE, _AT_MOST_ONE, _AT_LEAST_ONE = exactly_one.KIND, at_most_one.KIND, at_least_one.KIND
_IMPLIES, _CARDINALITY, _POTTS = implies.KIND, cardinality.KIND, potts.KIND

#: Differences of mass up to this are rounding.
_PRECISION = 1e-12


class MultilinearRoom(NamedTuple):
    """Workspace of this module's kernels."""

    # Of the labels of one node: the expected sum of finite terms, and the mass of forbidden ones.
    scores: npt.NDArray[np.float64]
    broken: npt.NDArray[np.float64]
    # The marginals as they are rounded; the distribution of how many members are on.
    mu: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]


def multilinear_room(shape: Shape) -> MultilinearRoom:
    """Return the workspace for graphs of this shape."""
    most = int(shape.n_labels.max(initial=0))
    largest = int(np.diff(shape.member_at).max(initial=0))
    return MultilinearRoom(
        np.empty(most), np.empty(most), np.empty(int(shape.unary_at[-1])), np.empty(largest + 2)
    )


@kernel
def conditional_labels(shape, unary, tables, mu, order, room, labels):
    """Round node marginals `mu` (laid out as `unary`), visiting the nodes as `order` says.

    Fills labels, int32 of shape (n,). Of equally good labels a node takes the lowest.
    """
    for i in range(mu.shape[0]):
        room.mu[i] = mu[i]
    for v in range(labels.shape[0]):
        labels[v] = _mode(shape, mu, v)
    for i in range(order.shape[0]):
        v = order[i]
        label_means(shape, unary, tables, v, labels, room)
        best = 0
        for x in range(1, shape.n_labels[v]):
            less = room.broken[x] - room.broken[best]
            if less < -_PRECISION or (less <= _PRECISION and room.scores[x] > room.scores[best]):
                best = x
        labels[v] = best
        at = shape.unary_at[v]
        for x in range(shape.n_labels[v]):
            room.mu[at + x] = 1.0 if x == best else 0.0


@kernel
def multilinear_value(shape, unary, tables, mu, room, labels):
    """Return F(mu), and the mass of forbidden entries in the place of their -inf.

    `labels` is scratch of shape (n,). Each factor is counted at its first node.
    """
    for i in range(mu.shape[0]):
        room.mu[i] = mu[i]
    for v in range(labels.shape[0]):
        labels[v] = _mode(shape, mu, v)
    value = 0.0
    mass = 0.0
    for v in range(labels.shape[0]):
        at = shape.unary_at[v]
        n_labels = shape.n_labels[v]
        for x in range(n_labels):
            if mu[at + x] > 0.0:
                if unary[at + x] == -np.inf:
                    mass += mu[at + x]
                else:
                    value += mu[at + x] * unary[at + x]
        for i in range(shape.slot_at[v], shape.slot_at[v + 1]):
            slot = shape.slots[i]
            f = shape.factor_of[slot]
            if slot == shape.member_at[f]:
                for x in range(n_labels):
                    room.scores[x] = 0.0
                    room.broken[x] = 0.0
                _add_factor(shape, tables, f, slot, labels, room)
                for x in range(n_labels):
                    value += mu[at + x] * room.scores[x]
                    mass += mu[at + x] * room.broken[x]
    return value, mass


@kernel
def _mode(shape, mu, v):
    """Return the label of most mass, the lowest of equal ones."""
    at = shape.unary_at[v]
    best = 0
    for x in range(1, shape.n_labels[v]):
        if mu[at + x] > mu[at + best]:
            best = x
    return best


@kernel
def label_means(shape, unary, tables, v, labels, room):
    """Fill room.scores and room.broken with what each label of v is expected to score.

    The other nodes have the marginals room.mu. Factors of users have no such mean: they are taken
    at `labels`.
    """
    for x in range(shape.n_labels[v]):
        value = unary[shape.unary_at[v] + x]
        is_broken = value == -np.inf
        room.scores[x] = 0.0 if is_broken else value
        room.broken[x] = 1.0 if is_broken else 0.0
    for i in range(shape.slot_at[v], shape.slot_at[v + 1]):
        slot = shape.slots[i]
        _add_factor(shape, tables, shape.factor_of[slot], slot, labels, room)


@kernel
def _add_factor(shape, tables, factor, slot, labels, room):
    """Add the means of one factor, for the labels of the node of `slot`."""
    kind = shape.kinds[factor]
    first, last = shape.member_at[factor], shape.member_at[factor + 1]
    v = shape.members[slot]
    n_labels = shape.n_labels[v]
    if kind == DENSE and last - first == 2:
        _add_pair(shape, tables, factor, slot, room)
    elif kind == DENSE:
        _add_table(shape, tables, factor, slot, room)
    elif kind == _POTTS:
        different = tables[shape.table_at[factor]]
        for x in range(n_labels):
            share = 1.0
            for s in range(first, last):
                if s != slot:
                    share *= room.mu[shape.unary_at[shape.members[s]] + x]
            _add(x, share, tables[shape.table_at[factor] + 1 + x], room)
            _add(x, 1.0 - share, different, room)
    elif kind == _IMPLIES:
        other = 2 * first + 1 - slot
        on = room.mu[shape.unary_at[shape.members[other]] + shape.on[other]]
        for x in range(n_labels):
            if slot == first and x == shape.on[slot]:
                room.broken[x] += 1.0 - on
            elif slot != first and x != shape.on[slot]:
                room.broken[x] += on
    elif kind in (_EXACTLY_ONE, _AT_MOST_ONE, _AT_LEAST_ONE, _CARDINALITY):
        _count_others(shape, factor, slot, room)
        for x in range(n_labels):
            own = 1 if x == shape.on[slot] else 0
            for c in range(last - first):
                if kind == _CARDINALITY:
                    value = tables[shape.table_at[factor] + c + own]
                else:
                    value = _rule(kind, c + own)
                _add(x, room.counts[c], value, room)
    else:
        own = labels[v]
        for x in range(n_labels):
            labels[v] = x
            _add(x, 1.0, factor_value(shape, tables, factor, labels), room)
        labels[v] = own


@kernel
def _add(x, share, value, room):
    """Add a term that has this share of all cases."""
    if value == -np.inf:
        room.broken[x] += share
    else:
        room.scores[x] += share * value


@kernel
def _rule(kind, count):
    """Return 0 if a rule allows that so many members are on, else -inf."""
    is_kept = (
        (kind == _EXACTLY_ONE and count == 1)
        or (kind == _AT_MOST_ONE and count <= 1)
        or (kind == _AT_LEAST_ONE and count >= 1)
    )
    return 0.0 if is_kept else -np.inf


@kernel
def _count_others(shape, factor, slot, room):
    """Fill room.counts with the probabilities that 0, 1, .. of the other members are on."""
    counts = room.counts
    counts[0] = 1.0
    n_done = 0
    for s in range(shape.member_at[factor], shape.member_at[factor + 1]):
        if s == slot:
            continue
        on = room.mu[shape.unary_at[shape.members[s]] + shape.on[s]]
        n_done += 1
        counts[n_done] = 0.0
        for c in range(n_done, 0, -1):
            counts[c] = counts[c] * (1.0 - on) + counts[c - 1] * on
        counts[0] *= 1.0 - on


@kernel
def _add_pair(shape, tables, factor, slot, room):
    first = shape.member_at[factor]
    other = 2 * first + 1 - slot
    u = shape.members[other]
    at = shape.unary_at[u]
    n_own, n_other = shape.n_labels[shape.members[slot]], shape.n_labels[u]
    own_step, step = (n_other, 1) if slot == first else (1, n_own)
    for y in range(n_other):
        share = room.mu[at + y]
        if share > 0.0:
            cell = shape.table_at[factor] + y * step
            for x in range(n_own):
                _add(x, share, tables[cell + x * own_step], room)


@kernel
def _add_table(shape, tables, factor, slot, room):
    first, last = shape.member_at[factor], shape.member_at[factor + 1]
    n_cells = 1
    for s in range(first, last):
        n_cells *= shape.n_labels[shape.members[s]]
    for cell in range(n_cells):
        share = 1.0
        rest = cell
        x = 0
        for s in range(last - 1, first - 1, -1):
            u = shape.members[s]
            label = rest % shape.n_labels[u]
            rest //= shape.n_labels[u]
            if s == slot:
                x = label
            else:
                share *= room.mu[shape.unary_at[u] + label]
        if share > 0.0:
            _add(x, share, tables[shape.table_at[factor] + cell], room)

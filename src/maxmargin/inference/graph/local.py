"""Local search: each node takes the best label given all others, until none would change.

Also known as iterated conditional modes. It is a polish for labellings that another method found,
and it never makes them worse: a node changes only if that lowers the number of forbidden terms
(those that are -inf), or leaves their number and raises the sum of the others. So it may also make
a forbidden labelling feasible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.factors.switch import factor_value
from maxmargin.inference.graph.score import labelling_score
from maxmargin.inference.graph.shape import DENSE, Shape

__all__ = ["LocalRoom", "local_room", "polish"]

#: A node changes only if it gains more than this share of the numbers that are added: less may be
#: rounding, and then the search might go round in circles.
_PRECISION = 1e-13


class LocalRoom(NamedTuple):
    """Workspace of `polish` and of `node_scores`."""

    # Of the labels of one node: the sum of the finite terms, and the number of those that are -inf.
    scores: npt.NDArray[np.float64]
    n_broken: npt.NDArray[np.int32]
    # Whether a node must be looked at again.
    is_open: npt.NDArray[np.int8]


def local_room(shape: Shape) -> LocalRoom:
    """Return the workspace of `polish` for this graph."""
    most = int(shape.n_labels.max(initial=0))
    return LocalRoom(
        np.empty(most), np.empty(most, dtype=np.int32), np.empty(len(shape.n_labels), dtype=np.int8)
    )


@kernel
def polish(shape, unary, tables, room, labels):
    """Improve `labels`, int32 of shape (n,), by changes of one node; return the score reached.

    Nodes are visited in order, again and again, but only those that have a neighbour which changed.
    Of equally good labels a node takes the lowest, and it keeps its own if that is among them.
    """
    n_nodes = shape.n_labels.shape[0]
    for v in range(n_nodes):
        room.is_open[v] = 1
    changed = True
    while changed:
        changed = False
        for v in range(n_nodes):
            if room.is_open[v] == 0:
                continue
            room.is_open[v] = 0
            size = node_scores(shape, unary, tables, v, labels, room)
            best = better_label(shape.n_labels[v], labels[v], size, room)
            if best != labels[v]:
                labels[v] = best
                changed = True
                _open_neighbours(shape, v, room)
    return labelling_score(shape, unary, tables, labels)


@kernel
def better_label(n_labels, own, size, room):
    """Return the best label by room.scores and room.n_broken, or `own` if none is better."""
    best = own
    for x in range(n_labels):
        gain = room.scores[x] - room.scores[best]
        # Against its own label a gain must be more than rounding; among others it need not.
        least = _PRECISION * size if best == own else 0.0
        fewer = room.n_broken[x] < room.n_broken[best]
        if fewer or (room.n_broken[x] == room.n_broken[best] and gain > least):
            best = x
    return best


@kernel
def node_scores(shape, unary, tables, v, labels, room):
    """Fill room.scores and room.n_broken with what each label of v scores, others held.

    Only v's own score and its factors count. Returns the largest sum of sizes of finite terms.
    """
    scores, n_broken = room.scores, room.n_broken
    n_labels = shape.n_labels[v]
    own = labels[v]
    size = 0.0
    for x in range(n_labels):
        value = unary[shape.unary_at[v] + x]
        is_broken = value == -np.inf
        scores[x] = 0.0 if is_broken else value
        n_broken[x] = is_broken
        size = max(size, abs(scores[x]))
    for i in range(shape.slot_at[v], shape.slot_at[v + 1]):
        slot = shape.slots[i]
        factor = shape.factor_of[slot]
        is_dense = shape.kinds[factor] == DENSE
        cell, step = 0, 0
        if is_dense:
            cell, step = _line(shape, factor, slot, labels)
        largest = 0.0
        for x in range(n_labels):
            if is_dense:
                value = tables[cell + x * step]
            else:
                labels[v] = x
                value = factor_value(shape, tables, factor, labels)
            if value == -np.inf:
                n_broken[x] += 1
            else:
                scores[x] += value
                largest = max(largest, abs(value))
        labels[v] = own
        size += largest
    return size


@kernel
def _line(shape, factor, slot, labels):
    """Return where the line of a dense table along the axis of `slot` begins, and its step."""
    cell = 0
    step = 1
    own_step = 1
    first = shape.member_at[factor]
    for s in range(shape.member_at[factor + 1] - 1, first - 1, -1):
        if s == slot:
            own_step = step
        else:
            cell += step * labels[shape.members[s]]
        step *= shape.n_labels[shape.members[s]]
    return shape.table_at[factor] + cell, own_step


@kernel
def _open_neighbours(shape, v, room):
    """Mark all nodes that share a factor with v."""
    for i in range(shape.slot_at[v], shape.slot_at[v + 1]):
        factor = shape.factor_of[shape.slots[i]]
        for s in range(shape.member_at[factor], shape.member_at[factor + 1]):
            if shape.members[s] != v:
                room.is_open[shape.members[s]] = 1

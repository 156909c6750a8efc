"""The best labelling of a forest, and the best with each label of each node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.shape import Shape

__all__ = ["ForestRoom", "best_forest", "forest_max_marginals", "forest_room"]


class ForestRoom(NamedTuple):
    """Workspace of the kernels of forests; arrays may be longer than a graph needs.

    Attributes
    ----------
    belief : float64 array of length >= unary_at[n]
        The best score of the subtree of a node, for each of its labels.
    message : float64 array of length >= message_at[S]
        At the slot of the parent: the best score of the subtree of the child, with the edge, for
        each label of the parent.
    """

    belief: npt.NDArray[np.float64]
    message: npt.NDArray[np.float64]


def forest_room(shape: Shape) -> ForestRoom:
    """Return the workspace for graphs of this shape."""
    return ForestRoom(np.empty(shape.unary_at[-1]), np.empty(shape.message_at[-1]))


@kernel
def best_forest(shape, unary, tables, forest, room, labels):
    """Write a best labelling into labels; return its score, -inf if all are forbidden.

    Parameters
    ----------
    shape : Shape
    unary, tables : float64 arrays, flat
    forest : ForestOrder
    room : ForestRoom
    labels : int32 array of length >= n

    Ties go to the lowest label, parents first. If all labellings are forbidden, the labels mean
    nothing.
    """
    score = _collect(shape, unary, tables, forest, room)
    for i in range(forest.order.shape[0]):
        v = forest.order[i]
        at, n_labels = shape.unary_at[v], shape.n_labels[v]
        above = forest.parent[v]
        first, step = 0, 0
        if above >= 0:
            first, _, step = edge_layout(shape, forest.edge[v], v)
            first += labels[above] * edge_row(shape, forest.edge[v], v)
        best = -np.inf
        labels[v] = 0
        for x in range(n_labels):
            value = room.belief[at + x] + (tables[first + x * step] if above >= 0 else 0.0)
            if value > best:
                best = value
                labels[v] = x
    return score


@kernel
def edge_layout(shape, edge, child):
    """Return where the table of an edge begins, the slot of the parent, the step of the child."""
    first = shape.member_at[edge]
    if shape.members[first] == child:
        return shape.table_at[edge], first + 1, shape.n_labels[shape.members[first + 1]]
    return shape.table_at[edge], first, 1


@kernel
def edge_row(shape, edge, child):
    """Return the step of the parent's label in the table of an edge."""
    return 1 if shape.members[shape.member_at[edge]] == child else shape.n_labels[child]


@kernel
def own_scores(shape, unary, tables, belief):
    """Fill belief with the unary scores, and what tables over one node add to them."""
    for i in range(shape.unary_at[shape.n_labels.shape[0]]):
        belief[i] = unary[i]
    for f in range(shape.kinds.shape[0]):
        if shape.member_at[f + 1] - shape.member_at[f] == 1:
            v = shape.members[shape.member_at[f]]
            for x in range(shape.n_labels[v]):
                belief[shape.unary_at[v] + x] += tables[shape.table_at[f] + x]


@kernel
def _collect(shape, unary, tables, forest, room):
    """Pass messages from the leaves to the roots; return the best score."""
    belief, message = room.belief, room.message
    own_scores(shape, unary, tables, belief)
    score = 0.0
    for i in range(forest.order.shape[0] - 1, -1, -1):
        v = forest.order[i]
        at, n_labels = shape.unary_at[v], shape.n_labels[v]
        above = forest.parent[v]
        if above < 0:
            best = -np.inf
            for x in range(n_labels):
                best = max(best, belief[at + x])
            score += best
            continue
        table, slot, step = edge_layout(shape, forest.edge[v], v)
        out = shape.message_at[slot]
        n_above, to = shape.n_labels[above], shape.unary_at[above]
        if step == 1:
            for y in range(n_above):
                row = table + y * n_labels
                best = -np.inf
                for x in range(n_labels):
                    value = tables[row + x] + belief[at + x]
                    best = value if value > best else best
                message[out + y] = best
                belief[to + y] += best
        else:
            for y in range(n_above):
                message[out + y] = -np.inf
            for x in range(n_labels):
                row = table + x * n_above
                own = belief[at + x]
                for y in range(n_above):
                    value = tables[row + y] + own
                    message[out + y] = value if value > message[out + y] else message[out + y]
            for y in range(n_above):
                belief[to + y] += message[out + y]
    return score


@kernel
def forest_max_marginals(shape, unary, tables, forest, room, result):
    """Fill result with the best score of a labelling with each label of each node.

    Parameters are those of `best_forest`, and

    result : float64 array of length >= unary_at[n], laid out as `unary`; -inf where every labelling
        with this label is forbidden

    Returns the best score of all.
    """
    belief, message = room.belief, room.message
    score = _collect(shape, unary, tables, forest, room)
    for i in range(forest.order.shape[0]):
        v = forest.order[i]
        at, n_labels = shape.unary_at[v], shape.n_labels[v]
        above = forest.parent[v]
        if score == -np.inf:
            for x in range(n_labels):
                result[at + x] = -np.inf
            continue
        if above < 0:
            # The other trees add their best scores.
            best = -np.inf
            for x in range(n_labels):
                best = max(best, belief[at + x])
            for x in range(n_labels):
                result[at + x] = belief[at + x] + (score - best)
            continue
        table, slot, step = edge_layout(shape, forest.edge[v], v)
        row = edge_row(shape, forest.edge[v], v)
        out, to = shape.message_at[slot], shape.unary_at[above]
        for x in range(n_labels):
            result[at + x] = -np.inf
        for y in range(shape.n_labels[above]):
            # Where this is -inf, so is every sum below: never subtract -inf from -inf.
            if result[to + y] == -np.inf:
                continue
            rest = result[to + y] - message[out + y]
            for x in range(n_labels):
                value = tables[table + y * row + x * step] + belief[at + x] + rest
                result[at + x] = value if value > result[at + x] else result[at + x]
    return score

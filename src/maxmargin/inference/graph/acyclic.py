"""Factor graphs without a cycle: factors of any kind and order, by their messages alone.

The graph meant has a vertex per node and one per factor, and an edge where a factor joins a node.
If it has no cycle, two passes of messages are exact. In the first, factors are visited from the
leaves to the roots, and each tells the member that leads to the root how good the part beyond it
can be. In the second each factor finds the labels of its other members, one after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.factors.switch import factor_message
from maxmargin.inference.graph.per_shape import per_shape
from maxmargin.inference.graph.shape import Shape

__all__ = [
    "AcyclicOrder",
    "AcyclicRoom",
    "acyclic_max_marginals",
    "acyclic_room",
    "best_acyclic",
    "find_acyclic",
]


class AcyclicOrder(NamedTuple):
    """In which order factors are visited.

    Attributes
    ----------
    order : int64 array of shape (F,)
        All factors; the one that leads to the root comes first.
    up : int64 array of shape (F,)
        The slot of each factor, by its number, whose node leads to the root.
    roots : int32 array
        One node per component.
    """

    order: npt.NDArray[np.int64]
    up: npt.NDArray[np.int64]
    roots: npt.NDArray[np.int32]


@per_shape
def find_acyclic(shape: Shape) -> AcyclicOrder | None:
    """Return the order of a graph without a cycle; None for other graphs.

    Examples
    --------
    >>> from maxmargin.inference.graph.acyclic import find_acyclic
    >>> from maxmargin.inference.graph.shape import graph_shape
    >>> find_acyclic(graph_shape([2] * 5, [0, 1, 2, 2, 3, 4], [3, 3], [0, 8])).roots
    array([4], dtype=int32)
    >>> find_acyclic(graph_shape([2] * 3, [0, 1, 1, 2, 2, 0], [2, 2, 2], [0, 4, 8])) is None
    True
    """
    n_nodes, n_factors, n_slots = len(shape.n_labels), len(shape.kinds), len(shape.members)
    if n_slots > 0 and n_slots >= n_nodes + n_factors:
        return None
    # The type that other callers of factor_message have: it is compiled once for all.
    order, up = np.empty((2, n_factors), dtype=np.int64)
    roots, queue = np.empty((2, n_nodes), dtype=np.int32)
    n_roots = _visit(shape, order, up, roots, queue)
    return AcyclicOrder(order, up, roots[:n_roots]) if n_roots >= 0 else None


@kernel
def _visit(shape, order, up, roots, queue):
    """Fill the arrays of an AcyclicOrder; return the number of roots, or -1 if there is a cycle."""
    n_nodes, n_factors = shape.n_labels.shape[0], shape.kinds.shape[0]
    is_seen = np.zeros(n_nodes, dtype=np.bool_)
    for f in range(n_factors):
        up[f] = -1
    n_roots = n_seen = n_done = n_visited = 0
    for root in range(n_nodes - 1, -1, -1):
        if is_seen[root]:
            continue
        is_seen[root] = True
        roots[n_roots] = root
        n_roots += 1
        queue[n_seen] = root
        n_seen += 1
        while n_done < n_seen:
            v = queue[n_done]
            n_done += 1
            for i in range(shape.slot_at[v], shape.slot_at[v + 1]):
                slot = shape.slots[i]
                f = shape.factor_of[slot]
                if up[f] >= 0:
                    continue
                up[f] = slot
                order[n_visited] = f
                n_visited += 1
                for s in range(shape.member_at[f], shape.member_at[f + 1]):
                    if s == slot:
                        continue
                    if is_seen[shape.members[s]]:
                        return -1
                    is_seen[shape.members[s]] = True
                    queue[n_seen] = shape.members[s]
                    n_seen += 1
    return n_roots


class AcyclicRoom(NamedTuple):
    """Workspace of the kernels of graphs without a cycle.

    Attributes
    ----------
    belief : float64 array laid out as `unary`
        The best score of what lies beyond a node, away from the root, for each of its labels.
    incoming, reply : float64 arrays with one message per slot
        What a factor hears, and what it tells the slot that leads to the root.
    out : float64 array, one entry per label
    """

    belief: npt.NDArray[np.float64]
    incoming: npt.NDArray[np.float64]
    reply: npt.NDArray[np.float64]
    out: npt.NDArray[np.float64]


def acyclic_room(shape: Shape) -> AcyclicRoom:
    """Return the workspace for graphs of this shape."""
    n_messages = int(shape.message_at[-1])
    return AcyclicRoom(
        np.empty(shape.unary_at[-1]),
        np.empty(n_messages),
        np.empty(n_messages),
        np.empty(shape.n_labels.max(initial=0)),
    )


@kernel
def best_acyclic(shape, unary, tables, order, room, labels):
    """Write a best labelling into labels; return its score, -inf if all are forbidden.

    Parameters
    ----------
    shape : Shape
    unary, tables : float64 arrays, flat
    order : AcyclicOrder
    room : AcyclicRoom
    labels : int32 array of length >= n

    If all labellings are forbidden, the labels mean nothing.
    """
    belief, incoming, out = room.belief, room.incoming, room.out
    score = _collect(shape, unary, tables, order, room)
    for i in range(order.roots.shape[0]):
        v = order.roots[i]
        for x in range(shape.n_labels[v]):
            out[x] = 0.0
        labels[v] = _best_label(shape, belief, out, v)
    for i in range(order.order.shape[0]):
        f = order.order[i]
        up = order.up[f]
        _hold(shape, incoming, up, labels[shape.members[up]])
        for s in range(shape.member_at[f], shape.member_at[f + 1]):
            if s != up:
                v = shape.members[s]
                factor_message(shape, tables, f, s, incoming, out)
                labels[v] = _best_label(shape, belief, out, v)
                _hold(shape, incoming, s, labels[v])
    return score


@kernel
def _best_label(shape, belief, out, v):
    """Return the lowest label of the highest sum of belief and message."""
    best, label = -np.inf, 0
    for x in range(shape.n_labels[v]):
        value = belief[shape.unary_at[v] + x] + out[x]
        if value > best:
            best, label = value, x
    return label


@kernel
def _hold(shape, incoming, slot, label):
    """Let a factor hear that the node of a slot has this label."""
    for i in range(shape.message_at[slot], shape.message_at[slot + 1]):
        incoming[i] = -np.inf
    incoming[shape.message_at[slot] + label] = 0.0


@kernel
def _collect(shape, unary, tables, order, room):
    """Pass messages from the leaves to the roots; return the best score."""
    belief, incoming, reply, out = room
    for i in range(shape.unary_at[shape.n_labels.shape[0]]):
        belief[i] = unary[i]
    for i in range(order.order.shape[0] - 1, -1, -1):
        f = order.order[i]
        up = order.up[f]
        for s in range(shape.member_at[f], shape.member_at[f + 1]):
            at = shape.unary_at[shape.members[s]]
            for x in range(shape.message_at[s + 1] - shape.message_at[s]):
                incoming[shape.message_at[s] + x] = belief[at + x] if s != up else 0.0
        factor_message(shape, tables, f, up, incoming, out)
        at = shape.unary_at[shape.members[up]]
        for x in range(shape.message_at[up + 1] - shape.message_at[up]):
            reply[shape.message_at[up] + x] = out[x]
            belief[at + x] += out[x]
    score = 0.0
    for i in range(order.roots.shape[0]):
        score += _highest(shape, belief, order.roots[i])
    return score


@kernel
def _highest(shape, belief, v):
    """Return the highest belief of a node."""
    best = -np.inf
    for x in range(shape.unary_at[v], shape.unary_at[v + 1]):
        best = max(best, belief[x])
    return best


@kernel
def acyclic_max_marginals(shape, unary, tables, order, room, result):
    """Fill result with the best score of a labelling with each label of each node.

    Parameters are those of `best_acyclic`, and

    result : float64 array of length >= unary_at[n], laid out as `unary`; -inf where every labelling
        with this label is forbidden

    Returns the best score of all.
    """
    belief, incoming, reply, out = room
    score = _collect(shape, unary, tables, order, room)
    for i in range(shape.unary_at[shape.n_labels.shape[0]]):
        result[i] = -np.inf
    if score == -np.inf:
        return score
    for i in range(order.roots.shape[0]):
        v = order.roots[i]
        # The other components add their best scores.
        rest = score - _highest(shape, belief, v)
        for x in range(shape.unary_at[v], shape.unary_at[v + 1]):
            result[x] = belief[x] + rest
    for i in range(order.order.shape[0]):
        f = order.order[i]
        up = order.up[f]
        at = shape.unary_at[shape.members[up]]
        for x in range(shape.message_at[up + 1] - shape.message_at[up]):
            # Never subtract -inf from -inf: the label is impossible.
            there = shape.message_at[up] + x
            is_possible = result[at + x] > -np.inf
            incoming[there] = result[at + x] - reply[there] if is_possible else -np.inf
        for s in range(shape.member_at[f], shape.member_at[f + 1]):
            if s != up:
                v = shape.members[s]
                factor_message(shape, tables, f, s, incoming, out)
                for x in range(shape.n_labels[v]):
                    result[shape.unary_at[v] + x] = belief[shape.unary_at[v] + x] + out[x]
    return score

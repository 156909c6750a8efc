"""Branch and bound on SRMP: the best labelling, or a better bound where time ends the search.

A node of the search is a graph in which some labels are forbidden. The one of largest bound comes
next: the graph's node whose two best labels are closest is chosen, and the search node gets two
children, one where that node has the label that was decoded, one where it has not. Each child
starts from the messages of its parent and makes a few iterations of SRMP. Its bound is the least of
its own and of its parent's. Nodes whose bound is no better than the best labelling are dropped.

A search node is stored as its last decision and its parent. Messages are kept for as many open
nodes as there is memory for; the others start from those of the root, which is valid as well.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import jitable, kernel
from maxmargin.core.sealed import addresses, sealed
from maxmargin.inference.graph.shape import Shape
from maxmargin.inference.graph.srmp import (
    BOUND_AND_SCORE,
    SRMP,
    SrmpRoom,
    srmp_example,
    srmp_room,
)

__all__ = ["BRANCH", "BranchRoom", "branch_and_bound", "branch_room"]

#: Message passing by its address: it takes seconds to compile, and stands here twice.
call_srmp = SRMP.call

# Places in `counts`: search nodes made, open nodes, rows of `kept` that were ever used, free rows.
N_MADE, N_OPEN, N_ROWS, N_FREE = 0, 1, 2, 3
# Places in `values`: the best score, and the largest bound of what was dropped.
BEST, DROPPED = 0, 1


class BranchRoom(NamedTuple):
    """A search, and its scratch, for at most as many search nodes as `bound` is long.

    Attributes
    ----------
    counts : int64 array, values : float64 array
        Where the search stands.
    bound : float64 array of shape (N,)
    parent, node, label : int32 arrays of shape (N,)
        The decision of each search node: `node` has `label`, or it has not.
    is_fixed : bool array of shape (N,)
    next_node, next_label : int32 arrays of shape (N,)
        The decision of its children.
    row : int32 array of shape (N,)
        Its messages in `kept`; -1 if they were not kept.
    heap : int32 array of shape (N,)
        Open nodes, the one of largest bound first.
    kept : float64 array of shape (P, 2 * length of messages)
        Messages, and then `rest` of `SrmpRoom`.
    free : int32 array of shape (P,)
    unary, messages : float64 arrays
    labels : int32 array of shape (n,)
    srmp : SrmpRoom
    entries : int64 array
        It begins with the address of `srmp`.
    """

    counts: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    bound: npt.NDArray[np.float64]
    parent: npt.NDArray[np.int32]
    node: npt.NDArray[np.int32]
    label: npt.NDArray[np.int32]
    is_fixed: npt.NDArray[np.bool_]
    next_node: npt.NDArray[np.int32]
    next_label: npt.NDArray[np.int32]
    row: npt.NDArray[np.int32]
    heap: npt.NDArray[np.int32]
    kept: npt.NDArray[np.float64]
    free: npt.NDArray[np.int32]
    unary: npt.NDArray[np.float64]
    messages: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int32]
    srmp: SrmpRoom
    entries: npt.NDArray[np.int64]


def branch_room(shape: Shape, most_nodes: int, most_bytes: int = 200_000_000) -> BranchRoom:
    """Return the workspace for searches of at most most_nodes nodes.

    At most ``most_bytes`` are spent on messages of open nodes.
    """
    n_messages = int(shape.message_at[-1])
    # A search opens one node per two that it makes.
    n_rows = max(1, min(most_nodes // 2 + 2, most_bytes // (16 * max(1, n_messages))))
    size = max(most_nodes, 1) + 2

    def ints() -> npt.NDArray[np.int32]:
        return np.zeros(size, dtype=np.int32)

    return BranchRoom(
        np.zeros(4, dtype=np.int64),
        np.zeros(2),
        np.zeros(size),
        ints(),
        ints(),
        ints(),
        np.zeros(size, dtype=np.bool_),
        ints(),
        ints(),
        ints(),
        ints(),
        np.zeros((n_rows, 2 * n_messages)),
        np.zeros(n_rows, dtype=np.int32),
        np.zeros(int(shape.unary_at[-1])),
        np.zeros(n_messages),
        np.zeros(len(shape.n_labels), dtype=np.int32),
        srmp_room(shape),
        addresses(SRMP),
    )


@kernel
def branch_and_bound(
    shape, unary, tables, messages, most_nodes, n_first, n_iterations, tolerance, is_new, known,
    room, labels,
):  # fmt: skip
    """Search with at most most_nodes search nodes; return (bound, score, search nodes made).

    Parameters
    ----------
    messages : float64 array
        Where SRMP starts at the root, as `srmp` takes them; left for the next search.
    most_nodes : int
        At most as many as the room was made for.
    n_first, n_iterations : int
        The most iterations of SRMP at the root, and at each other node.
    tolerance : float
        Stop when bound - score <= tolerance * (1 + |score|): the labelling is optimal.
    is_new : bool
        False: go on with the search in the room; all other arguments but most_nodes are as before.
    known : float
        The score of a labelling that the caller has, -inf if it has none. What cannot be better is
        not searched; if nothing is better, it is returned as the score, and `labels` is worse.
    room : BranchRoom
    labels : int32 array of shape (n,)
        Receives the best labelling; if `score` is -inf, it is none that is feasible.
    """
    if is_new:
        _start(shape, unary, tables, messages, n_first, tolerance, known, room, labels)
    room.srmp.keeps[0] = True
    counts, values = room.counts, room.values
    while counts[N_OPEN] > 0 and counts[N_MADE] + 2 <= most_nodes:
        parent = room.heap[0]
        if _is_closed(room.bound[parent], values[BEST], tolerance):
            break  # and so are all others
        _take_first(room)
        v, label, row = room.next_node[parent], room.next_label[parent], room.row[parent]
        for is_fixed in (True, False):
            child = counts[N_MADE]
            counts[N_MADE] += 1
            room.parent[child] = parent
            room.node[child], room.label[child], room.is_fixed[child] = v, label, is_fixed
            _restrict(shape, unary, child, room)
            n = messages.shape[0]
            for i in range(n):
                room.messages[i] = messages[i] if row < 0 else room.kept[row, i]
            if row >= 0:
                for i in range(n):
                    room.srmp.rest[i] = room.kept[row, n + i]
            room.srmp.keeps[1] = row >= 0
            room.srmp.floor[0] = values[BEST]
            bound, score, _ = call_srmp(
                room.entries, shape, room.unary, tables, room.messages, n_iterations, tolerance,
                room.srmp, room.labels,
            )  # fmt: skip
            if score > values[BEST]:
                values[BEST] = score
                _copy(room.labels, labels)
            if not is_fixed and row >= 0:
                room.free[counts[N_FREE]] = row
                counts[N_FREE] += 1
            _open(shape, child, min(bound, room.bound[parent]), tolerance, room)
    bound = max(values[BEST], values[DROPPED])
    if counts[N_OPEN] > 0:
        bound = max(bound, room.bound[room.heap[0]])
    return bound, values[BEST], counts[N_MADE]


@jitable
def _start(shape, unary, tables, messages, n_iterations, tolerance, known, room, labels):
    """Run SRMP at the root, and open it."""
    room.counts[:] = 0
    room.values[:] = -np.inf
    room.srmp.keeps[0] = False
    room.srmp.floor[0] = known
    bound, score, _ = call_srmp(
        room.entries, shape, unary, tables, messages, n_iterations, tolerance, room.srmp, labels
    )
    room.values[BEST] = max(score, known)
    _copy(unary, room.unary)
    _copy(messages, room.messages)
    _copy(labels, room.labels)
    room.parent[0] = -1
    room.counts[N_MADE] = 1
    _open(shape, 0, bound, tolerance, room)


@jitable
def _copy(source, target):
    for i in range(source.shape[0]):
        target[i] = source[i]


@jitable
def _is_closed(bound, best, tolerance):
    if best == -np.inf:
        return bound == -np.inf
    return bound - best <= tolerance * (1.0 + abs(best))


@jitable
def _open(shape, child, bound, tolerance, room):
    """Put a search node that SRMP has just seen among the open ones, or drop it."""
    counts, values = room.counts, room.values
    room.bound[child] = bound
    v = -1 if _is_closed(bound, values[BEST], tolerance) else _closest(shape, room)
    if v < 0:
        values[DROPPED] = max(values[DROPPED], bound)
        return
    room.next_node[child] = v
    room.next_label[child] = _label_of(shape, v, room)
    row = -1
    if counts[N_FREE] > 0:
        counts[N_FREE] -= 1
        row = room.free[counts[N_FREE]]
    elif counts[N_ROWS] < room.kept.shape[0]:
        row = counts[N_ROWS]
        counts[N_ROWS] += 1
    room.row[child] = row
    if row >= 0:
        for i in range(room.messages.shape[0]):
            room.kept[row, i] = room.messages[i]
            room.kept[row, room.messages.shape[0] + i] = room.srmp.rest[i]
    # Into the heap.
    heap = room.heap
    i = counts[N_OPEN]
    counts[N_OPEN] += 1
    while i > 0 and room.bound[heap[(i - 1) // 2]] < bound:
        heap[i] = heap[(i - 1) // 2]
        i = (i - 1) // 2
    heap[i] = child


@jitable
def _take_first(room):
    """Take the open node of largest bound out of the heap."""
    counts, heap, bound = room.counts, room.heap, room.bound
    counts[N_OPEN] -= 1
    n = counts[N_OPEN]
    moved = heap[n]
    i = 0
    while True:
        below = 2 * i + 1
        if below >= n:
            break
        if below + 1 < n and bound[heap[below + 1]] > bound[heap[below]]:
            below += 1
        if bound[heap[below]] <= bound[moved]:
            break
        heap[i] = heap[below]
        i = below
    heap[i] = moved


@jitable
def _closest(shape, room):
    """Return the node with at least two possible labels whose best two are closest; -1 if none.

    Nodes with many factors come a little earlier.
    """
    closest, least = -1, np.inf
    for v in range(shape.n_labels.shape[0]):
        first, last = shape.unary_at[v], shape.unary_at[v + 1]
        n_possible = 0
        for i in range(first, last):
            if room.unary[i] > -np.inf:
                n_possible += 1
        if n_possible < 2:
            continue
        margin = room.srmp.margin[v]
        if margin == np.inf and closest >= 0:
            continue  # decided, although not by unary potentials alone
        margin -= 1e-3 * (shape.slot_at[v + 1] - shape.slot_at[v])
        if closest < 0 or margin < least:
            closest, least = v, margin
    return closest


@jitable
def _label_of(shape, v, room):
    """Return the label by which to branch on node v: what was decoded, if that is possible."""
    label = room.labels[v]
    if room.unary[shape.unary_at[v] + label] > -np.inf:
        return label
    for x in range(shape.n_labels[v]):
        if room.unary[shape.unary_at[v] + x] > -np.inf:
            return x
    return label


@jitable
def _restrict(shape, unary, child, room):
    """Fill room.unary with the potentials of a search node: -inf at all that it forbids."""
    _copy(unary, room.unary)
    while room.parent[child] >= 0:
        v, label = room.node[child], room.label[child]
        first = shape.unary_at[v]
        if room.is_fixed[child]:
            for x in range(shape.n_labels[v]):
                if x != label:
                    room.unary[first + x] = -np.inf
        else:
            room.unary[first + label] = -np.inf
        child = room.parent[child]


def _example() -> tuple[Any, ...]:
    """Return arguments of `branch_and_bound`, of the types that all callers have."""
    shape, unary, tables, messages, _, _, _, labels = srmp_example()
    room = branch_room(shape, 1)
    return shape, unary, tables, messages, 1, 1, 1, 0.0, True, 0.0, room, labels


#: It takes seconds to compile, so all callers share one code.
BRANCH = sealed(branch_and_bound, 1, BOUND_AND_SCORE, _example)

"""The k best labellings by bucket elimination: a list of scores per cell of each separator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.junction.row import go_on, go_to, go_to_first
from maxmargin.inference.graph.junction.tree import FACTOR, MESSAGE, JunctionTree
from maxmargin.inference.graph.shape import Shape
from maxmargin.inference.merge import merge_lists, merge_sums

__all__ = ["KBestJunctionRoom", "best_k_junction", "kbest_cells", "kbest_junction_room"]


class KBestJunctionRoom(NamedTuple):
    """Workspace of `best_k_junction`.

    Attributes
    ----------
    best : float64 array of shape (message_at[n] + 1, k)
        The k best scores of what lies below each cell of a separator; the last row joins the
        buckets that pass nothing on.
    back_at : int64 array of shape (n + 1,)
        Where the back pointers of a bucket begin: for each cell and rank the label of its node and
        the rank in the list of each of its messages.
    back : int32 array
    joined : int32 array of shape (n, 3, k)
        Where the ranks of the last row came from, for each bucket that passes nothing on.
    lists : float64 array of shape (most labels, k)
    merged : int32 array of shape (most labels, most messages of a bucket, 3, k)
    own, part, message : float64 arrays
    head, ranks : int32 arrays of shape (3, max(k, most labels))
    at : int32 array of shape (n,)
    base : int64 array, one entry per source of a bucket
    digit : int32 array, one entry per node of a separator
    """

    best: npt.NDArray[np.float64]
    back_at: npt.NDArray[np.int64]
    back: npt.NDArray[np.int32]
    joined: npt.NDArray[np.int32]
    lists: npt.NDArray[np.float64]
    merged: npt.NDArray[np.int32]
    own: npt.NDArray[np.float64]
    part: npt.NDArray[np.float64]
    message: npt.NDArray[np.float64]
    head: npt.NDArray[np.int32]
    ranks: npt.NDArray[np.int32]
    at: npt.NDArray[np.int32]
    base: npt.NDArray[np.int64]
    digit: npt.NDArray[np.int32]


def kbest_cells(tree: JunctionTree, k: int) -> float:
    """Return how many numbers the k best labellings need, as a float."""
    return float(k) * float((np.diff(tree.message_at) * (2.0 + _n_messages(tree))).sum())


def kbest_junction_room(shape: Shape, tree: JunctionTree, k: int) -> KBestJunctionRoom:
    """Return the workspace for the k best labellings of graphs of this shape."""
    n_nodes, most = len(shape.n_labels), int(shape.n_labels.max(initial=0))
    n_messages = _n_messages(tree)
    back_at = np.zeros(n_nodes + 1, dtype=np.int64)
    np.cumsum(np.diff(tree.message_at) * (1 + n_messages) * k, out=back_at[1:])
    ranks = np.zeros((3, max(k, most)), dtype=np.int32)
    ranks[2] = np.arange(max(k, most))
    return KBestJunctionRoom(
        np.empty((tree.message_at[-1] + 1, k)),
        back_at,
        np.empty(back_at[-1], dtype=np.int32),
        np.empty((n_nodes, 3, k), dtype=np.int32),
        np.empty((most, k)),
        np.empty((most, max(1, n_messages.max(initial=0)), 3, k), dtype=np.int32),
        np.zeros(most),
        np.empty(k),
        np.empty(k),
        np.empty((3, max(k, most)), dtype=np.int32),
        ranks,
        np.empty(n_nodes, dtype=np.int32),
        np.empty(np.diff(tree.source_at).max(initial=0), dtype=np.int64),
        np.empty(np.diff(tree.scope_at).max(initial=0), dtype=np.int32),
    )


def _n_messages(tree: JunctionTree) -> npt.NDArray[np.int64]:
    """Return how many messages each bucket takes."""
    bucket = np.repeat(np.arange(len(tree.order)), np.diff(tree.source_at))
    return np.bincount(bucket[tree.source_kind == MESSAGE], minlength=len(tree.order))


@kernel
def best_k_junction(shape, unary, tables, tree, k, room, labels, scores):
    """Find the k best labellings, best first; return how many there are.

    Parameters
    ----------
    shape, unary, tables, tree : as for `best_junction`
    k : int, at least 1
    room : KBestJunctionRoom
    labels : int32 array of shape (>= k, >= n); rows [0:count] receive the labellings
    scores : float64 array of length >= k; [0:count] receives their scores, from the highest down

    Labellings that score -inf are never returned, so there may be fewer than k.
    """
    best = room.best
    n_nodes = tree.order.shape[0]
    last = tree.message_at[n_nodes]
    best[last, 0] = 0.0
    for rank in range(1, k):
        best[last, rank] = -np.inf
    for bucket in range(n_nodes):
        n_axes = tree.scope_at[bucket + 1] - tree.scope_at[bucket]
        go_to_first(shape, tree, bucket, room)
        for cell in range(tree.message_at[bucket], tree.message_at[bucket + 1]):
            _fill_cell(shape, unary, tables, tree, bucket, cell, k, room)
            go_on(shape, tree, bucket, n_axes, room)
        if tree.above[bucket] < 0:
            cell = tree.message_at[bucket]
            merge_sums(best[last], best[cell], k, room.part, room.ranks, room.joined[bucket])
    count = 0
    while count < k and best[last, count] > -np.inf:
        scores[count] = best[last, count]
        rank = count
        for bucket in range(n_nodes - 1, -1, -1):
            if tree.above[bucket] < 0:
                room.at[bucket] = room.joined[bucket, 2, rank]
                rank = room.joined[bucket, 0, rank]
            _read_back(shape, tree, bucket, k, room, labels[count])
        count += 1
    return count


@kernel
def _fill_cell(shape, unary, tables, tree, bucket, cell, k, room):
    """Find the k best of one cell of a separator, and where they came from."""
    v = tree.order[bucket]
    n_labels = shape.n_labels[v]
    first, end = tree.source_at[bucket], tree.source_at[bucket + 1]
    n_messages = 0
    for x in range(n_labels):
        value = unary[shape.unary_at[v] + x]
        for q in range(first, end):
            if tree.source_kind[q] == FACTOR:
                value += tables[room.base[q - first] + x * tree.stride[tree.stride_at[q + 1] - 1]]
        room.lists[x, 0] = value
        for rank in range(1, k):
            room.lists[x, rank] = -np.inf
        n_messages = 0
        for q in range(first, end):
            if tree.source_kind[q] != FACTOR:
                below = room.base[q - first] + x * tree.stride[tree.stride_at[q + 1] - 1]
                merge_sums(
                    room.lists[x],
                    room.best[below],
                    k,
                    room.part,
                    room.ranks,
                    room.merged[x, n_messages],
                )
                n_messages += 1
    merge_lists(room.lists, 0, n_labels, room.own, k, room.message, room.head)
    back = room.back_at[bucket] + (cell - tree.message_at[bucket]) * k * (1 + n_messages)
    for rank in range(k):
        room.best[cell, rank] = room.message[rank]
        if room.message[rank] == -np.inf:
            continue
        x, there = room.head[1, rank], room.head[2, rank]
        room.back[back + rank * (1 + n_messages)] = x
        for m in range(n_messages - 1, -1, -1):
            room.back[back + rank * (1 + n_messages) + 1 + m] = room.merged[x, m, 2, there]
            there = room.merged[x, m, 0, there]


@kernel
def _read_back(shape, tree, bucket, k, room, labels):
    """Set the label of the node of a bucket, and the ranks in the lists of its messages."""
    cell = go_to(shape, tree, bucket, labels, room)
    n_messages = 0
    for q in range(tree.source_at[bucket], tree.source_at[bucket + 1]):
        n_messages += tree.source_kind[q] != FACTOR
    back = room.back_at[bucket] + (cell * k + room.at[bucket]) * (1 + n_messages)
    labels[tree.order[bucket]] = room.back[back]
    m = 1
    for q in range(tree.source_at[bucket], tree.source_at[bucket + 1]):
        if tree.source_kind[q] != FACTOR:
            room.at[tree.source[q]] = room.back[back + m]
            m += 1

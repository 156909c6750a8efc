"""The k best labellings of a forest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.forest.best import edge_layout, edge_row, own_scores
from maxmargin.inference.graph.shape import Shape
from maxmargin.inference.merge import merge_lists, merge_sums

__all__ = ["KBestRoom", "best_k_forest", "kbest_room"]


class KBestRoom(NamedTuple):
    """Workspace of `best_k_forest`; arrays may be longer than a graph needs.

    Attributes
    ----------
    best : float64 array of shape (>= unary_at[n] + 1, >= k)
        The k best scores of the subtree of a node, for each of its labels; the row after those of
        all nodes joins the trees.
    chosen : int32 array of shape (>= message_at[S] + n, 3, >= k)
        Entry r of the list of a parent, after a child was merged into it, came from: the rank in
        the list of the parent before, the label of the child, the rank in the list of the child.
        The row is that of the message to the parent's label; message_at[S] + v for a root v.
    own, message : float64 arrays of length >= max(k, most labels) and >= k
    head : int32 array of shape (3, >= max(k, most labels))
    at : int32 array of length >= n + 1
    """

    best: npt.NDArray[np.float64]
    chosen: npt.NDArray[np.int32]
    own: npt.NDArray[np.float64]
    message: npt.NDArray[np.float64]
    head: npt.NDArray[np.int32]
    at: npt.NDArray[np.int32]


def kbest_room(shape: Shape, k: int) -> KBestRoom:
    """Return the workspace for the k best labellings of graphs of this shape."""
    n_nodes, most = len(shape.n_labels), max(k, int(shape.n_labels.max(initial=0)))
    return KBestRoom(
        np.empty((shape.unary_at[-1] + 1, k)),
        np.empty((shape.message_at[-1] + n_nodes, 3, k), dtype=np.int32),
        np.empty(most),
        np.empty(k),
        np.empty((3, most), dtype=np.int32),
        np.empty(n_nodes + 1, dtype=np.int32),
    )


@kernel
def best_k_forest(shape, unary, tables, forest, k, room, labels, scores):
    """Find the k best labellings, best first; return how many there are.

    Parameters
    ----------
    shape, unary, tables, forest : as for `best_forest`
    k : int, at least 1
    room : KBestRoom
    labels : int32 array of shape (>= k, >= n); rows [0:count] receive the labellings
    scores : float64 array of length >= k; [0:count] receives their scores, from the highest down

    Labellings that score -inf are never returned, so there may be fewer than k. Takes O(n K^2 k)
    for the lists of labels and O(n K k^2) for the sums.
    """
    best, chosen, own, message, head, at = room
    n_nodes = shape.n_labels.shape[0]
    n_cells = shape.unary_at[n_nodes]
    own_scores(shape, unary, tables, best[:, 0])
    best[n_cells, 0] = 0.0
    for cell in range(n_cells + 1):
        for rank in range(1, k):
            best[cell, rank] = -np.inf
    for i in range(n_nodes - 1, -1, -1):
        v = forest.order[i]
        first, n_labels = shape.unary_at[v], shape.n_labels[v]
        above = forest.parent[v]
        if above < 0:
            for x in range(n_labels):
                own[x] = 0.0
            merge_lists(best, first, n_labels, own, k, message, head)
            merge_sums(best[n_cells], message, k, own, head, chosen[_row(shape, forest, v)])
            continue
        table, slot, step = edge_layout(shape, forest.edge[v], v)
        stride = edge_row(shape, forest.edge[v], v)
        for y in range(shape.n_labels[above]):
            for x in range(n_labels):
                own[x] = tables[table + y * stride + x * step]
            merge_lists(best, first, n_labels, own, k, message, head)
            into = best[shape.unary_at[above] + y]
            merge_sums(into, message, k, own, head, chosen[shape.message_at[slot] + y])
    count = 0
    while count < k and best[n_cells, count] > -np.inf:
        scores[count] = best[n_cells, count]
        at[n_nodes] = count
        for i in range(n_nodes):
            v = forest.order[i]
            above = forest.parent[v]
            row = _row(shape, forest, v)
            into = n_nodes
            if above >= 0:
                into = above
                row += labels[count, above]
            rank = at[into]
            at[into] = chosen[row, 0, rank]
            labels[count, v] = chosen[row, 1, rank]
            at[v] = chosen[row, 2, rank]
        count += 1
    return count


@kernel
def _row(shape, forest, v):
    """Return the row of `chosen` of node v and label 0 of its parent."""
    if forest.parent[v] < 0:
        return shape.message_at[shape.members.shape[0]] + v
    _, slot, _ = edge_layout(shape, forest.edge[v], v)
    return shape.message_at[slot]

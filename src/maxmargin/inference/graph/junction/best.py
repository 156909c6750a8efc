"""The best labelling by bucket elimination, and the best with each label of each node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.junction.row import (
    BLOCK,
    go_on,
    go_to,
    open_bucket,
    sum_block,
    sum_row,
)
from maxmargin.inference.graph.junction.tree import FACTOR, JunctionTree
from maxmargin.inference.graph.shape import Shape

__all__ = ["JunctionRoom", "best_junction", "junction_max_marginals", "junction_room"]


class JunctionRoom(NamedTuple):
    """Workspace of the kernels of junction trees.

    Attributes
    ----------
    message : float64 array of length >= message_at[n]
        What each bucket passes on, one entry per cell of its separator.
    second, third : float64 arrays of the same length, or of length 0 if only the best is wanted
    row : float64 array, one entry per cell of a block
    offset : int64 array, one entry per cell of a block and source of a bucket
    base : int64 array, one entry per source of a bucket
    digit : int32 array, one entry per node of a separator
    """

    message: npt.NDArray[np.float64]
    second: npt.NDArray[np.float64]
    third: npt.NDArray[np.float64]
    row: npt.NDArray[np.float64]
    offset: npt.NDArray[np.int64]
    base: npt.NDArray[np.int64]
    digit: npt.NDArray[np.int32]


def junction_room(shape: Shape, tree: JunctionTree, n_messages: int = 1) -> JunctionRoom:
    """Return a workspace: 1 array of messages for the best, 2 for max-marginals, 3 for sums."""
    n_cells = int(tree.message_at[-1])
    width = max(BLOCK, int(shape.n_labels.max(initial=0)))
    n_sources = int(np.diff(tree.source_at).max(initial=0))
    return JunctionRoom(
        np.empty(n_cells),
        np.empty(n_cells if n_messages > 1 else 0),
        np.empty(n_cells if n_messages > 2 else 0),
        np.empty(width),
        np.empty(n_sources * width, dtype=np.int64),
        np.empty(n_sources, dtype=np.int64),
        np.empty(np.diff(tree.scope_at).max(initial=0), dtype=np.int32),
    )


@kernel
def best_junction(shape, unary, tables, tree, room, labels):
    """Write a best labelling into labels; return its score, -inf if all are forbidden.

    Parameters
    ----------
    shape : Shape, of dense tables alone
    unary, tables : float64 arrays, flat
    tree : JunctionTree
    room : JunctionRoom
    labels : int32 array of length >= n

    Ties go to the lowest label, the node that is eliminated last first. If all labellings are
    forbidden, the labels mean nothing.
    """
    score = _eliminate(shape, unary, tables, tree, room)
    for bucket in range(tree.order.shape[0] - 1, -1, -1):
        v = tree.order[bucket]
        go_to(shape, tree, bucket, labels, room)
        sum_row(shape, unary, tables, room.message, tree, bucket, room)
        best = -np.inf
        labels[v] = 0
        for x in range(shape.n_labels[v]):
            if room.row[x] > best:
                best = room.row[x]
                labels[v] = x
    return score


@kernel
def _eliminate(shape, unary, tables, tree, room):
    """Fill the messages of all buckets; return the best score."""
    message, row = room.message, room.row
    score = 0.0
    for bucket in range(tree.order.shape[0]):
        n_labels = shape.n_labels[tree.order[bucket]]
        n_outer, n_rows = open_bucket(shape, tree, bucket, room)
        for block in range(tree.message_at[bucket], tree.message_at[bucket + 1], n_rows):
            sum_block(shape, unary, tables, message, tree, bucket, n_rows, room)
            for j in range(n_rows):
                best = -np.inf
                for c in range(j * n_labels, (j + 1) * n_labels):
                    best = row[c] if row[c] > best else best
                message[block + j] = best
            go_on(shape, tree, bucket, n_outer, room)
        if tree.above[bucket] < 0:
            score += message[tree.message_at[bucket]]
    return score


@kernel
def junction_max_marginals(shape, unary, tables, tree, room, result):
    """Fill result with the best score of a labelling with each label of each node.

    Parameters are those of `best_junction`, but room has two arrays of messages, and

    result : float64 array of length >= unary_at[n], laid out as `unary`; -inf where every labelling
        with this label is forbidden

    Returns the best score of all.
    """
    message, full, row = room.message, room.second, room.row
    score = _eliminate(shape, unary, tables, tree, room)
    for i in range(shape.unary_at[shape.n_labels.shape[0]]):
        result[i] = -np.inf
    if score == -np.inf:
        return score
    for cell in range(tree.message_at[tree.order.shape[0]]):
        full[cell] = -np.inf
    for bucket in range(tree.order.shape[0] - 1, -1, -1):
        v = tree.order[bucket]
        n_labels, at = shape.n_labels[v], shape.unary_at[v]
        if tree.above[bucket] < 0:
            full[tree.message_at[bucket]] = score
        first = tree.source_at[bucket]
        n_outer, n_rows = open_bucket(shape, tree, bucket, room)
        for block in range(tree.message_at[bucket], tree.message_at[bucket + 1], n_rows):
            sum_block(shape, unary, tables, message, tree, bucket, n_rows, room)
            for j in range(n_rows):
                # Where full is -inf, so is the whole row: never subtract -inf from -inf.
                rest = full[block + j]
                if rest > -np.inf:
                    rest -= message[block + j]
                for x in range(n_labels):
                    row[j * n_labels + x] += rest
                    result[at + x] = max(result[at + x], row[j * n_labels + x])
            for q in range(first, tree.source_at[bucket + 1]):
                if tree.source_kind[q] != FACTOR:
                    base, read = room.base[q - first], (q - first) * row.shape[0]
                    for c in range(n_rows * n_labels):
                        below = base + room.offset[read + c]
                        full[below] = max(full[below], row[c])
            go_on(shape, tree, bucket, n_outer, room)
    return score

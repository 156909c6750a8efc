"""The table of a bucket: what its sources add up to, a block of cells after the other.

A row is what belongs to one cell of the separator: one number per label of the bucket's node. A
block is as many rows as fit into BLOCK cells, those of the last nodes of the separator. Where each
cell of a block is read, in each source, is computed once per bucket.
"""

from __future__ import annotations

from typing import Any

from maxmargin.inference._inline import inlined
from maxmargin.inference.graph.junction.tree import FACTOR

__all__ = ["BLOCK", "go_on", "go_to", "go_to_first", "open_bucket", "sum_block", "sum_row"]

#: The most cells of a block, if one row has fewer.
BLOCK = 256


@inlined
def go_to_first(shape: Any, tree: Any, bucket: int, room: Any) -> None:
    """Go to the first cell of the separator of a bucket."""
    for axis in range(tree.scope_at[bucket + 1] - tree.scope_at[bucket]):
        room.digit[axis] = 0
    first = tree.source_at[bucket]
    for q in range(first, tree.source_at[bucket + 1]):
        number = tree.source[q]
        if tree.source_kind[q] == FACTOR:
            room.base[q - first] = shape.table_at[number]
        else:
            room.base[q - first] = tree.message_at[number]


@inlined
def go_on(shape: Any, tree: Any, bucket: int, n_axes: int, room: Any) -> None:
    """Go to the next labels of the first n_axes nodes of the separator, the last one fastest."""
    first, last = tree.source_at[bucket], tree.source_at[bucket + 1]
    axis = n_axes - 1
    while axis >= 0:
        size = shape.n_labels[tree.scope[tree.scope_at[bucket] + axis]]
        room.digit[axis] += 1
        if room.digit[axis] < size:
            for q in range(first, last):
                room.base[q - first] += tree.stride[tree.stride_at[q] + axis]
            return
        room.digit[axis] = 0
        for q in range(first, last):
            room.base[q - first] -= tree.stride[tree.stride_at[q] + axis] * (size - 1)
        axis -= 1


@inlined
def go_to(shape: Any, tree: Any, bucket: int, labels: Any, room: Any) -> int:
    """Go to the cell of the separator at these labels of all nodes; return its number."""
    go_to_first(shape, tree, bucket, room)
    first, last = tree.source_at[bucket], tree.source_at[bucket + 1]
    cell = 0
    for axis in range(tree.scope_at[bucket + 1] - tree.scope_at[bucket]):
        v = tree.scope[tree.scope_at[bucket] + axis]
        cell = cell * shape.n_labels[v] + labels[v]
        for q in range(first, last):
            room.base[q - first] += tree.stride[tree.stride_at[q] + axis] * labels[v]
    return cell


@inlined
def sum_row(
    shape: Any, unary: Any, tables: Any, message: Any, tree: Any, bucket: int, room: Any
) -> None:
    """Fill room.row with the table of a bucket at this cell, one entry per label of its node."""
    v = tree.order[bucket]
    n_labels, at = shape.n_labels[v], shape.unary_at[v]
    row = room.row
    for x in range(n_labels):
        row[x] = unary[at + x]
    first = tree.source_at[bucket]
    for q in range(first, tree.source_at[bucket + 1]):
        base = room.base[q - first]
        step = tree.stride[tree.stride_at[q + 1] - 1]
        if tree.source_kind[q] == FACTOR:
            for x in range(n_labels):
                row[x] += tables[base + x * step]
        else:
            for x in range(n_labels):
                row[x] += message[base + x * step]


@inlined
def open_bucket(shape: Any, tree: Any, bucket: int, room: Any) -> tuple[int, int]:
    """Go to the first block of a bucket; return the nodes outside blocks and the rows of a block.

    room.offset receives where each cell of a block is read: of source number q of the bucket at
    q * len(room.row).
    """
    go_to_first(shape, tree, bucket, room)
    start = tree.scope_at[bucket]
    n_axes = tree.scope_at[bucket + 1] - start
    n_own = shape.n_labels[tree.order[bucket]]
    n_outer, n_rows = n_axes, 1
    while n_outer > 0 and n_rows * n_own * shape.n_labels[tree.scope[start + n_outer - 1]] <= BLOCK:
        n_outer -= 1
        n_rows *= shape.n_labels[tree.scope[start + n_outer]]
    width = room.row.shape[0]
    first = tree.source_at[bucket]
    for q in range(first, tree.source_at[bucket + 1]):
        at, steps = (q - first) * width, tree.stride_at[q]
        for x in range(n_own):
            room.offset[at + x] = x * tree.stride[steps + n_axes]
        n_cells = n_own
        for axis in range(n_axes - 1, n_outer - 1, -1):
            size = shape.n_labels[tree.scope[start + axis]]
            for c in range(n_cells, n_cells * size):
                room.offset[at + c] = room.offset[at + c - n_cells] + tree.stride[steps + axis]
            n_cells *= size
    return n_outer, n_rows


@inlined
def sum_block(
    shape: Any,
    unary: Any,
    tables: Any,
    message: Any,
    tree: Any,
    bucket: int,
    n_rows: int,
    room: Any,
) -> None:
    """Fill room.row with the table of a bucket at this block, one row after the other."""
    v = tree.order[bucket]
    n_own, at = shape.n_labels[v], shape.unary_at[v]
    row, offset = room.row, room.offset
    n_cells = n_rows * n_own
    for j in range(n_rows):
        for x in range(n_own):
            row[j * n_own + x] = unary[at + x]
    first = tree.source_at[bucket]
    for q in range(first, tree.source_at[bucket + 1]):
        base, read = room.base[q - first], (q - first) * row.shape[0]
        if tree.source_kind[q] == FACTOR:
            for c in range(n_cells):
                row[c] += tables[base + offset[read + c]]
        else:
            for c in range(n_cells):
                row[c] += message[base + offset[read + c]]

"""The rows of a bucket: what its sources add up to, one cell of the separator after the other."""

from __future__ import annotations

from typing import Any

from maxmargin.inference._inline import inlined
from maxmargin.inference.graph.junction.tree import FACTOR

__all__ = ["go_on", "go_to", "go_to_first", "sum_row"]


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
def go_on(shape: Any, tree: Any, bucket: int, room: Any) -> None:
    """Go to the next cell of the separator, the last node changing fastest."""
    first, last = tree.source_at[bucket], tree.source_at[bucket + 1]
    axis = tree.scope_at[bucket + 1] - tree.scope_at[bucket] - 1
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

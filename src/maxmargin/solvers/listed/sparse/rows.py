"""Weights of features and nodes in rows that grow: sparse, and dense for frequent features.

Row f has the weights of feature f at all nodes. A sparse row is a list of (node, value) in an
arena, in no order. A row that is full moves to the end of the arena, with more room; one that holds
more than 1 / DENSE of all nodes becomes dense. Compiled code cannot enlarge arrays: `has_room` asks
before a change, and `SparseWeights.grow` makes room between two calls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin.core.compile import jitable, kernel

#: A row with more than 1 / DENSE of all nodes is dense: it takes less memory then, 8 bytes per node
#: where an entry has 12 and as much again in reserve.
DENSE = 4


class Rows(NamedTuple):
    """The rows of F features over M nodes."""

    at: Any  # (F,) int64: where the entries of a sparse row begin
    count: Any  # (F,) int64: how many entries it has
    room: Any  # (F,) int64: how many it may have there
    node: Any  # (n_cells,) int32
    value: Any  # (n_cells,) float64
    dense_at: Any  # (F,) int64: the place of a dense row in ``dense``, or -1
    dense: Any  # (n_dense, M) float64
    used: Any  # (2,) int64: cells of the arena, and rows of ``dense``, that are in use


class Touched(NamedTuple):
    """The nodes that a visit changes; arrays have one cell per node of the hierarchy."""

    nodes: Any  # int32: the first few
    change: Any  # what is added to the weights of nodes[t], per unit of the feature
    slot: Any  # int32: t for the node nodes[t], -1 for nodes that are not touched
    hit: Any  # int64: the last mark of a row that had nodes[t] already


@jitable
def has_room(rows: Any, indices: Any, first: int, last: int, n_more: int, lacking: Any) -> bool:
    """Tell whether n_more entries can be added to each of the rows indices[first:last].

    If not, ``lacking`` receives how many cells, and how many dense rows, may be needed.
    """
    limit = rows.dense.shape[1] // DENSE
    cells = n_dense = 0
    for entry in range(first, last):
        f = indices[entry]
        if rows.dense_at[f] < 0:
            cells += 2 * (rows.count[f] + n_more)
            if rows.count[f] + n_more > limit:
                n_dense += 1
    lacking[0], lacking[1] = cells, n_dense
    is_wide = rows.used[0] + cells <= rows.node.shape[0]
    return is_wide and rows.used[1] + n_dense <= rows.dense.shape[0]


@jitable
def add_to_row(rows: Any, f: int, x: float, touched: Any, n_nodes: int, mark: int) -> None:
    """Add x * touched.change[t] at the nodes touched.nodes[t], t < n_nodes, to row f.

    ``mark`` is a new number for each call.
    """
    nodes, change, slot, hit = touched
    place = rows.dense_at[f]
    if place >= 0:
        for t in range(n_nodes):
            rows.dense[place, nodes[t]] += x * change[t]
        return
    at, count = rows.at[f], rows.count[f]
    n_found = 0
    for cell in range(at, at + count):
        t = slot[rows.node[cell]]
        if t >= 0:
            rows.value[cell] += x * change[t]
            hit[t] = mark
            n_found += 1
    total = count + n_nodes - n_found
    if total > rows.dense.shape[1] // DENSE:
        _make_dense(rows, f)
        place = rows.dense_at[f]
        for t in range(n_nodes):
            if hit[t] != mark:
                rows.dense[place, nodes[t]] = x * change[t]
        return
    if total > rows.room[f]:
        _move(rows, f, max(total, rows.room[f] + rows.room[f] // 2))
        at = rows.at[f]
    for t in range(n_nodes):
        if hit[t] != mark:
            rows.node[at + count] = nodes[t]
            rows.value[at + count] = x * change[t]
            count += 1
    rows.count[f] = count


@jitable
def _move(rows: Any, f: int, room: int) -> None:
    """Move a row to the end of the arena, with more room."""
    old, new = rows.at[f], rows.used[0]
    for k in range(rows.count[f]):
        rows.node[new + k] = rows.node[old + k]
        rows.value[new + k] = rows.value[old + k]
    rows.at[f], rows.room[f] = new, room
    rows.used[0] += room


@jitable
def _make_dense(rows: Any, f: int) -> None:
    """Turn a sparse row into a dense one."""
    place = rows.used[1]
    for n in range(rows.dense.shape[1]):
        rows.dense[place, n] = 0.0
    for cell in range(rows.at[f], rows.at[f] + rows.count[f]):
        rows.dense[place, rows.node[cell]] = rows.value[cell]
    rows.dense_at[f] = place
    rows.count[f] = rows.room[f] = 0
    rows.used[1] += 1


@kernel
def pack(rows: Any, at: Any, node: Any, value: Any) -> None:
    """Copy the entries of all sparse rows to other arrays, those of row f from at[f] on."""
    for f in range(rows.at.shape[0]):
        for k in range(rows.count[f]):
            node[at[f] + k] = rows.node[rows.at[f] + k]
            value[at[f] + k] = rows.value[rows.at[f] + k]


@kernel
def squared_length(rows: Any, alpha: Any) -> float:
    """Return the sum of value^2 / alpha over all entries; nodes of alpha 0 have none."""
    total = 0.0
    for f in range(rows.at.shape[0]):
        place = rows.dense_at[f]
        if place >= 0:
            for n in range(rows.dense.shape[1]):
                if rows.dense[place, n] != 0.0:
                    total += rows.dense[place, n] ** 2 / alpha[n]
        else:
            for cell in range(rows.at[f], rows.at[f] + rows.count[f]):
                if rows.value[cell] != 0.0:
                    total += rows.value[cell] ** 2 / alpha[rows.node[cell]]
    return total

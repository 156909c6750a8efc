"""The best labelling of a forest at every level of a cost that is counted in steps.

Label x of node v costs step[unary_at[v] + x] steps: 0 for the true label and 1 for the others makes
the level the number of wrong nodes; all 0 where the truth is unknown. Cells of the tables of edges
may cost steps as well. To merge a child into its parent takes as many sums as the product of their
numbers of levels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.forest.best import edge_layout, edge_row, own_scores
from maxmargin.inference.graph.forest.order import ForestOrder
from maxmargin.inference.graph.shape import Shape

__all__ = ["ProfileRoom", "forest_profile", "profile_room", "write_forest_level"]


class ProfileRoom(NamedTuple):
    """Workspace of `forest_profile`; arrays may be longer than a graph needs.

    Node n stands for the root that joins all trees; it has one label.

    Attributes
    ----------
    most : int64 array of length >= n + 1
        The highest level of the subtree of a node.
    up : int64 array of length >= n + 1
        The same with the edge to the parent.
    table_at : int64 array of length >= n + 1
        table[table_at[v] + x * (most[v] + 1) + d] is the best score of the subtree of v with label
        x of v and d steps.
    reached : int64 array of length >= n + 1
        The highest level of what was merged into a node so far.
    before_at, before_most : int64 arrays of length >= n
        Where `before` has the table of the parent before v was merged into it, and its levels.
    left : int64 array of length >= n + 1
    own : float64 array of length >= unary_at[n]
    message : float64 array, one entry per level
    table, before : float64 arrays
    """

    most: npt.NDArray[np.int64]
    up: npt.NDArray[np.int64]
    table_at: npt.NDArray[np.int64]
    reached: npt.NDArray[np.int64]
    before_at: npt.NDArray[np.int64]
    before_most: npt.NDArray[np.int64]
    left: npt.NDArray[np.int64]
    own: npt.NDArray[np.float64]
    message: npt.NDArray[np.float64]
    table: npt.NDArray[np.float64]
    before: npt.NDArray[np.float64]


def profile_room(
    shape: Shape,
    forest: ForestOrder,
    step: npt.NDArray[np.int32],
    cell_step: npt.NDArray[np.int32],
    limit: int,
) -> ProfileRoom:
    """Return the workspace of `forest_profile` for this shape, these steps and this limit."""
    n_nodes = len(shape.n_labels)
    most, up, table_at, reached, before_at, before_most, left = np.empty(
        (7, n_nodes + 1), dtype=np.int64
    )
    own, none = np.empty(shape.unary_at[-1]), np.empty(0)
    room = ProfileRoom(
        most, up, table_at, reached, before_at, before_most, left, own, none, none, none
    )
    n_table, n_before = _lay_out(shape, forest, step, cell_step, limit, room)
    return room._replace(
        message=np.empty(room.most[n_nodes] + 1),
        table=np.empty(n_table),
        before=np.empty(n_before),
    )


@kernel
def _largest_step(shape, forest, cell_step, v):
    """Return the largest number of steps of the edge from v to its parent."""
    if cell_step.shape[0] == 0 or forest.parent[v] < 0:
        return 0
    first = edge_layout(shape, forest.edge[v], v)[0]
    n_cells = shape.n_labels[v] * shape.n_labels[forest.parent[v]]
    largest = 0
    for cell in range(first, first + n_cells):
        largest = max(largest, cell_step[cell])
    return largest


@kernel
def _lay_out(shape, forest, step, cell_step, limit, room):
    """Set how many levels there are and where they stand; return the sizes of table and before."""
    most, table_at, reached = room.most, room.table_at, room.reached
    n_nodes = shape.n_labels.shape[0]
    most[n_nodes] = 0
    reached[n_nodes] = 0
    for v in range(n_nodes):
        most[v] = 0
        for i in range(shape.unary_at[v], shape.unary_at[v + 1]):
            most[v] = max(most[v], step[i])
        most[v] = min(most[v], limit)
        reached[v] = most[v]
    n_before = 0
    for i in range(n_nodes - 1, -1, -1):
        v = forest.order[i]
        above = forest.parent[v]
        into = above if above >= 0 else n_nodes
        room.before_at[v] = n_before
        room.before_most[v] = most[into]
        n_before += (most[into] + 1) * (shape.n_labels[above] if above >= 0 else 1)
        room.up[v] = min(most[v] + _largest_step(shape, forest, cell_step, v), limit)
        most[into] = min(most[into] + room.up[v], limit)
    n_table = 0
    for v in range(n_nodes + 1):
        table_at[v] = n_table
        n_table += (most[v] + 1) * (shape.n_labels[v] if v < n_nodes else 1)
    return n_table, n_before


@kernel
def forest_profile(shape, unary, tables, forest, step, cell_step, limit, room, scores):
    """Fill scores[d] with the best score at d steps, -inf where there is none.

    Parameters
    ----------
    shape, unary, tables, forest : as for `best_forest`
    step : int32 array laid out as `unary`, >= 0
    cell_step : int32 array laid out as `tables`, >= 0; or of length 0, where edges cost nothing
    limit : int, >= 0
        The highest level wanted. Labellings above it are left out, which saves their work.
    room : ProfileRoom
        Keeps what `write_forest_level` needs.
    scores : float64 array with one entry per level

    Returns the number of levels: the largest number of steps, or the limit, plus 1.
    """
    _lay_out(shape, forest, step, cell_step, limit, room)
    has_steps = cell_step.shape[0] > 0
    most, table_at, reached, message = room.most, room.table_at, room.reached, room.message
    table = room.table
    n_nodes = shape.n_labels.shape[0]
    own_scores(shape, unary, tables, room.own)
    for v in range(n_nodes):
        for x in range(shape.n_labels[v]):
            row = table_at[v] + x * (most[v] + 1)
            for d in range(reached[v] + 1):
                table[row + d] = -np.inf
            steps = step[shape.unary_at[v] + x]
            if steps <= limit:
                table[row + steps] = room.own[shape.unary_at[v] + x]
    table[table_at[n_nodes]] = 0.0
    for i in range(n_nodes - 1, -1, -1):
        v = forest.order[i]
        above = forest.parent[v]
        n_labels, n_levels = shape.n_labels[v], most[v] + 1
        if above < 0:
            for d in range(n_levels):
                message[d] = -np.inf
            for x in range(n_labels):
                _take_in(table, table_at[v] + x * n_levels, 0.0, n_levels, message)
            _merge(room, v, n_nodes, 0, limit)
            reached[n_nodes] = min(reached[n_nodes] + room.up[v], limit)
            continue
        first, _, along = edge_layout(shape, forest.edge[v], v)
        stride = edge_row(shape, forest.edge[v], v)
        for y in range(shape.n_labels[above]):
            for d in range(room.up[v] + 1):
                message[d] = -np.inf
            for x in range(n_labels):
                cell = first + y * stride + x * along
                steps = cell_step[cell] if has_steps else 0
                n_taken = min(n_levels, limit + 1 - steps)
                row = table_at[v] + x * n_levels
                _take_in(table, row, tables[cell], n_taken, message[steps:])
            _merge(room, v, above, y, limit)
        reached[above] = min(reached[above] + room.up[v], limit)
    for d in range(most[n_nodes] + 1):
        scores[d] = table[table_at[n_nodes] + d]
    return most[n_nodes] + 1


@kernel
def _take_in(table, row, added, n_levels, message):
    """Raise message to the levels of one row of the table, plus a number."""
    for d in range(n_levels):
        value = table[row + d] + added
        message[d] = value if value > message[d] else message[d]


@kernel
def _merge(room, child, into, label, limit):
    """Merge the message of a child into the levels of its parent at one label."""
    table, before, message = room.table, room.before, room.message
    row = room.table_at[into] + label * (room.most[into] + 1)
    n_before = room.before_most[child] + 1
    old = room.before_at[child] + label * n_before
    for c in range(n_before):
        before[old + c] = table[row + c]
    n_after = min(n_before + room.up[child], limit + 1)
    for c in range(n_after):
        table[row + c] = -np.inf
    for c in range(n_before):
        base = before[old + c]
        if base == -np.inf:
            continue
        for d in range(min(room.up[child] + 1, n_after - c)):
            value = base + message[d]
            if value > table[row + c + d]:
                table[row + c + d] = value


@kernel
def write_forest_level(shape, tables, forest, cell_step, level, room, labels):
    """Write a best labelling of this level into labels, after `forest_profile`.

    Parameters
    ----------
    shape, tables, forest, cell_step, room : as `forest_profile` had and left them
    level : int, below the number of levels
    labels : int32 array of length >= n; all -1 if no labelling has this level
    """
    most, table_at, left = room.most, room.table_at, room.left
    has_steps = cell_step.shape[0] > 0
    n_nodes = shape.n_labels.shape[0]
    if room.table[table_at[n_nodes] + level] == -np.inf:
        for v in range(n_nodes):
            labels[v] = -1
        return
    left[n_nodes] = level
    for i in range(n_nodes):
        v = forest.order[i]
        above = forest.parent[v]
        into = above if above >= 0 else n_nodes
        y = labels[above] if above >= 0 else 0
        first, along = 0, 0
        if above >= 0:
            first, _, along = edge_layout(shape, forest.edge[v], v)
            first += y * edge_row(shape, forest.edge[v], v)
        total = left[into]
        old = room.before_at[v] + y * (room.before_most[v] + 1)
        top = -np.inf
        taken = 0
        labels[v] = 0
        own_steps = 0
        for d in range(max(0, total - room.before_most[v]), min(room.up[v], total) + 1):
            base = room.before[old + total - d]
            for x in range(shape.n_labels[v]):
                steps = cell_step[first + x * along] if above >= 0 and has_steps else 0
                if d < steps or d - steps > most[v]:
                    continue
                own = room.table[table_at[v] + x * (most[v] + 1) + d - steps]
                value = base + (own + (tables[first + x * along] if above >= 0 else 0.0))
                if value > top:
                    top = value
                    taken, own_steps = d, steps
                    labels[v] = x
        left[v] = taken - own_steps
        left[into] = total - taken

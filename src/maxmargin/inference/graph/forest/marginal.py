"""Marginals of the labellings of a forest, at a temperature.

As on chains, a sum over labellings is stored as exp(top / temperature + log_sum), and marginals are
products of conditionals p(label | label of the parent). So they lie in [0, 1] and agree with one
another, whatever the rounding. `room` is kept as small as that of the best labelling: conditionals
are computed once more on the way down.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.forest.best import edge_layout, edge_row, own_scores
from maxmargin.inference.graph.shape import Shape

__all__ = ["MarginalRoom", "forest_marginals", "marginal_room"]


class MarginalRoom(NamedTuple):
    """Workspace of `forest_marginals`; arrays may be longer than a graph needs.

    top and log_sum have one entry per label of each node, row one per label of one node.
    """

    top: npt.NDArray[np.float64]
    log_sum: npt.NDArray[np.float64]
    row: npt.NDArray[np.float64]


def marginal_room(shape: Shape) -> MarginalRoom:
    """Return the workspace for graphs of this shape."""
    n_cells = int(shape.unary_at[-1])
    return MarginalRoom(
        np.empty(n_cells), np.empty(n_cells), np.empty(shape.n_labels.max(initial=0))
    )


@kernel
def forest_marginals(shape, unary, tables, forest, temperature, room, node, pair):
    """Fill marginals of p(x) ~ exp(score(x) / temperature); return log Z.

    Parameters
    ----------
    shape, unary, tables, forest : as for `best_forest`
    temperature : float, positive and finite
    room : MarginalRoom
    node : float64 array laid out as `unary`: p(x_v = k)
    pair : float64 array laid out as `tables`: p(x_a = k, x_b = l) in the place of the table of the
        factor (a, b). Where factors share a table it receives the sum of theirs, the expected
        number of times that a cell is used

    If every labelling is forbidden the marginals are zeros and log Z is -inf.
    """
    top, log_sum, row = room.top, room.log_sum, room.row
    _clear(shape, node, pair)
    own_scores(shape, unary, tables, top)
    for i in range(shape.unary_at[shape.n_labels.shape[0]]):
        log_sum[i] = 0.0
    best = 0.0
    rest = 0.0
    for i in range(forest.order.shape[0] - 1, -1, -1):
        v = forest.order[i]
        at, n_labels = shape.unary_at[v], shape.n_labels[v]
        above = forest.parent[v]
        if above < 0:
            highest, log_total = _sum_up(tables, 0, 0, top, log_sum, at, n_labels, temperature, row)
            best += highest
            rest += log_total
            continue
        table, _, step = edge_layout(shape, forest.edge[v], v)
        stride = edge_row(shape, forest.edge[v], v)
        to = shape.unary_at[above]
        for y in range(shape.n_labels[above]):
            highest, log_total = _sum_up(
                tables, table + y * stride, step, top, log_sum, at, n_labels, temperature, row
            )
            top[to + y] += highest
            log_sum[to + y] += log_total
    if best == -np.inf:
        return -np.inf
    for i in range(forest.order.shape[0]):
        v = forest.order[i]
        at, n_labels = shape.unary_at[v], shape.n_labels[v]
        above = forest.parent[v]
        if above < 0:
            _sum_up(tables, 0, 0, top, log_sum, at, n_labels, temperature, row)
            for x in range(n_labels):
                node[at + x] = row[x]
            continue
        table, _, step = edge_layout(shape, forest.edge[v], v)
        stride = edge_row(shape, forest.edge[v], v)
        to = shape.unary_at[above]
        for y in range(shape.n_labels[above]):
            weight = node[to + y]
            if weight == 0.0:
                continue
            first = table + y * stride
            _sum_up(tables, first, step, top, log_sum, at, n_labels, temperature, row)
            for x in range(n_labels):
                p = weight * row[x]
                node[at + x] += p
                pair[first + x * step] += p
    for f in range(shape.kinds.shape[0]):
        if shape.member_at[f + 1] - shape.member_at[f] == 1:
            v = shape.members[shape.member_at[f]]
            for x in range(shape.n_labels[v]):
                pair[shape.table_at[f] + x] += node[shape.unary_at[v] + x]
    return best / temperature + rest


@kernel
def _clear(shape, node, pair):
    """Set the marginals to 0, in the places that the shape uses."""
    for i in range(shape.unary_at[shape.n_labels.shape[0]]):
        node[i] = 0.0
    for f in range(shape.kinds.shape[0]):
        n_cells = 1
        for s in range(shape.member_at[f], shape.member_at[f + 1]):
            n_cells *= shape.n_labels[shape.members[s]]
        for cell in range(n_cells):
            pair[shape.table_at[f] + cell] = 0.0


@kernel
def _sum_up(tables, first, step, top, log_sum, at, n_labels, temperature, row):
    """Sum over the labels of a node, for one label of its parent.

    Returns (top, log_sum) of the sum, and leaves the probabilities of the labels in row. The table
    is read at first + x * step; step = 0 means that there is none. A sum of nothing but -inf is
    (-inf, 0), and its probabilities are zeros.
    """
    best = -np.inf
    for x in range(n_labels):
        row[x] = top[at + x] if step == 0 else tables[first + x * step] + top[at + x]
        best = max(best, row[x])
    if best == -np.inf:
        for x in range(n_labels):
            row[x] = 0.0
        return best, 0.0
    highest = -np.inf
    for x in range(n_labels):
        row[x] = (row[x] - best) / temperature + log_sum[at + x]
        highest = max(highest, row[x])
    total = 0.0
    for x in range(n_labels):
        row[x] = math.exp(row[x] - highest)
        total += row[x]
    for x in range(n_labels):
        row[x] /= total
    return best, highest + math.log(total)

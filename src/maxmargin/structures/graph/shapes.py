"""The shapes of many graphs in stacked arrays, and the shape of one of them as views.

All nodes have the same number of labels, so some of the arrays of a `Shape` are the beginnings of
one array that all graphs share. The others are stacked; their numbers count within one graph.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import Links
from maxmargin.features.rows import frozen
from maxmargin.inference.graph.shape import DENSE, Shape


class Shapes(NamedTuple):
    """The shapes of n graphs with N nodes, F factors and S slots in all; see `Shape`."""

    node_at: Any  # (n + 1,) int64: where the nodes of each graph begin
    factor_at: Any  # (n + 1,) int64
    slot_from: Any  # (n + 1,) int64
    n_cells: Any  # (n,) int64: how many cells the tables of each graph have
    # Shared: of a graph with fewer nodes and factors, the beginning.
    n_labels: Any  # (most nodes,) int32
    unary_at: Any  # (most nodes + 1,) int64
    on: Any  # (most slots,) int32
    kinds: Any  # (most factors,) int32
    message_at: Any  # (most slots + 1,) int64
    # Stacked; those with one entry more than parts have one more per graph.
    member_at: Any  # (F + n,) int64
    members: Any  # (S,) int32
    table_at: Any  # (F,) int64
    slot_at: Any  # (N + n,) int64
    slots: Any  # (S,) int32
    factor_of: Any  # (S,) int32


def stacked_shapes(
    n_labels: int, node_at: Any, factor_at: Any, members: np.ndarray, orders: np.ndarray
) -> Shapes:
    """Return the shapes of graphs whose factors are dense tables, one after the other.

    Parameters
    ----------
    n_labels : int
    node_at, factor_at : int arrays of shape (n + 1,)
        Where the nodes and the factors of each graph begin.
    members : int array of shape (S,)
        The nodes of all factors, counted within their graph.
    orders : int array of shape (F,)
        How many nodes each factor has.

    Examples
    --------
    Two graphs: the edges (0, 1) and (2, 1), and one node without edges.

    >>> shapes = stacked_shapes(2, [0, 3, 4], [0, 2, 2], np.array([0, 1, 2, 1]), np.array([2, 2]))
    >>> shapes.slots.tolist(), shapes.slot_at.tolist(), shapes.table_at.tolist()
    ([0, 1, 3, 2], [0, 1, 3, 4, 0, 0], [0, 4])
    """
    nodes, factors = np.asarray(node_at, dtype=np.int64), np.asarray(factor_at, dtype=np.int64)
    n_graphs = len(nodes) - 1
    ends = np.concatenate([[0], np.cumsum(orders, dtype=np.int64)])
    slot_from = ends[factors]
    graph_of_slot = np.repeat(np.arange(n_graphs), np.diff(slot_from))
    graph_of_factor = np.repeat(np.arange(n_graphs), np.diff(factors))
    whole = nodes[graph_of_slot] + members
    cells = np.concatenate([[0], np.cumsum(float(n_labels) ** np.asarray(orders))])
    if cells[-1] >= 2.0**53:
        raise ValueError(f"the tables of the graphs would have {cells[-1]:.3g} cells.")
    begins = cells.astype(np.int64)
    n_cells = begins[factors[1:]] - begins[factors[:-1]]
    slots = np.argsort(whole, kind="stable")
    degrees = np.bincount(whole, minlength=int(nodes[-1]))
    most = [int(np.diff(array).max(initial=0)) for array in (nodes, factors, slot_from)]
    return Shapes(
        frozen(nodes, np.int64),
        frozen(factors, np.int64),
        frozen(slot_from, np.int64),
        frozen(n_cells, np.int64),
        frozen(np.full(most[0], n_labels), np.int32),
        frozen(np.arange(most[0] + 1) * n_labels, np.int64),
        frozen(np.zeros(most[2]), np.int32),
        frozen(np.full(most[1], DENSE), np.int32),
        frozen(np.arange(most[2] + 1) * n_labels, np.int64),
        frozen(_local_ends(orders, factors), np.int64),
        frozen(members, np.int32),
        frozen(begins[:-1] - begins[factors[:-1]][graph_of_factor], np.int64),
        frozen(_local_ends(degrees, nodes), np.int64),
        frozen(slots - slot_from[graph_of_slot[slots]], np.int32),
        frozen(np.repeat(np.arange(len(orders)), orders) - factors[graph_of_slot], np.int32),
    )


def _local_ends(sizes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return for each graph 0, and the running sums of its own sizes."""
    ends = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    graph = np.repeat(np.arange(len(at) - 1), np.diff(at) + 1)
    own = np.arange(len(graph)) - graph  # the first entry of a graph repeats the last end before
    return np.asarray(ends[own] - ends[at[graph]])


def links_of(shapes: Shapes) -> Links:
    """Return the factors of all graphs as links between nodes that are counted through all graphs.

    Examples
    --------
    >>> shapes = stacked_shapes(2, [0, 2, 4], [0, 1, 2], np.array([0, 1, 1, 0]), np.array([2, 2]))
    >>> links_of(shapes).members.tolist()
    [0, 1, 3, 2]
    """
    graph = np.repeat(np.arange(len(shapes.n_cells)), np.diff(shapes.slot_from))
    # member_at counts within a graph and has one end more per graph.
    n_factors = np.diff(shapes.factor_at)
    first = np.repeat(shapes.slot_from[:-1], n_factors)
    own = np.arange(shapes.factor_at[-1]) + np.repeat(np.arange(len(n_factors)), n_factors)
    return Links(
        np.ones(shapes.node_at[-1], dtype=bool),
        shapes.node_at,
        shapes.factor_at,
        np.append(first + shapes.member_at[own], shapes.slot_from[-1]),
        shapes.node_at[graph] + shapes.members,
    )


@jitable
def graph_of(shapes, i):
    """Return the shape of graph i, made of views."""
    first, n = shapes.node_at[i], shapes.node_at[i + 1] - shapes.node_at[i]
    factor, n_factors = shapes.factor_at[i], shapes.factor_at[i + 1] - shapes.factor_at[i]
    slot, n_slots = shapes.slot_from[i], shapes.slot_from[i + 1] - shapes.slot_from[i]
    return Shape(
        shapes.n_labels[:n],
        shapes.unary_at[: n + 1],
        shapes.member_at[factor + i : factor + i + n_factors + 1],
        shapes.members[slot : slot + n_slots],
        shapes.on[:n_slots],
        shapes.kinds[:n_factors],
        shapes.table_at[factor : factor + n_factors],
        shapes.message_at[: n_slots + 1],
        shapes.slot_at[first + i : first + i + n + 1],
        shapes.slots[slot : slot + n_slots],
        shapes.factor_of[slot : slot + n_slots],
    )

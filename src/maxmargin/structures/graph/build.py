"""Graphs made from stacked arrays, checked: compiled code looks nothing up twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.features.rows import as_features, check_labels, frozen
from maxmargin.structures.graph.data import Graphs
from maxmargin.structures.graph.layout import (
    CellTable,
    graph_layout,
    n_columns_of,
    pair_table,
)
from maxmargin.structures.graph.shapes import stacked_shapes

#: The most cells of the table of one hyperedge.
MOST_CELLS = 100_000


@dataclass(frozen=True)
class StackedGraphs:
    """Graphs one below the other; the nodes of edges count within their graph.

    Attributes
    ----------
    nodes : dense or CSR matrix of shape (N, n_columns), features of nodes
    node_at : int64 array of shape (n + 1,), where the nodes of each graph begin
    edges : int array of shape (E, 2)
    edge_at : int64 array of shape (n + 1,)
    edge_features : dense or CSR matrix of shape (E, n_edge_columns), or None
    node_types, edge_types : int arrays of shape (N,) and (E,), or None if there is one type
    hyper_members : int array, the nodes of all hyperedges, one hyperedge after the other
    hyper_types : int array of shape (H,); all hyperedges of a type have the same number of nodes
    hyper_at : int64 array of shape (n + 1,), or None if there are no hyperedges
    hyper_features : dense or CSR matrix of shape (H, n_hyper_columns), or None
    hyper_orders : int array of shape (H,), how many nodes each hyperedge has, or None if its type
        alone says so
    """

    nodes: Any
    node_at: np.ndarray
    edges: np.ndarray
    edge_at: np.ndarray
    edge_features: Any = None
    node_types: np.ndarray | None = None
    edge_types: np.ndarray | None = None
    hyper_members: np.ndarray | None = None
    hyper_types: np.ndarray | None = None
    hyper_at: np.ndarray | None = None
    hyper_features: Any = None
    hyper_orders: np.ndarray | None = None

    @property
    def n_graphs(self) -> int:
        """Return the number of graphs."""
        return len(self.node_at) - 1


def stacked_graphs(
    stack: StackedGraphs,
    labels: Any,
    n_labels: int,
    *,
    pairs: str = "full",
    n_node_types: int = 1,
    n_edge_types: int = 1,
    hyper_orders: Sequence[int] = (),
    hyper_pairs: str = "full",
    bias: bool = True,
    edge_bias: bool = True,
    barrier: Any = None,
    edge_barrier: Any = None,
) -> Graphs:
    """Return graphs with their true labels, as compiled code reads them.

    Parameters
    ----------
    stack : StackedGraphs
    labels : int array of shape (N,)
        The true labels, 0 .. n_labels - 1.
    n_labels : int
    pairs : as for `pair_table`
    n_node_types, n_edge_types : int
    hyper_orders : sequence of int
        How many nodes the hyperedges of each type join.
    hyper_pairs : {"full", "potts"}
        What the tables of hyperedges are.
    bias, edge_bias : as for `graph_layout`
    barrier : array of shape (N, n_labels), or None
        0 or -inf for every label at every node. None: all are allowed.
    edge_barrier : array of shape (n_labels, n_labels), or None
        0 or -inf for every pair of labels of an edge, the same for all edges. No true pair may be
        forbidden. None: all are allowed.
    """
    n_nodes, n_edges = stack.nodes.shape[0], len(stack.edges)
    hyper_at = np.zeros(stack.n_graphs + 1) if stack.hyper_at is None else stack.hyper_at
    n_hyper = int(hyper_at[-1])
    types = {
        "node_types": (stack.node_types, n_nodes, n_node_types),
        "edge_types": (stack.edge_types, n_edges, n_edge_types),
        "hyper_types": (stack.hyper_types, n_hyper, len(hyper_orders)),
    }
    node_type, edge_type, hyper_type = (_types(name, *each) for name, each in types.items())
    check_labels(labels, n_nodes, n_labels)
    for name, at, size in (
        ("node_at", stack.node_at, n_nodes),
        ("edge_at", stack.edge_at, n_edges),
        ("hyper_at", hyper_at, n_hyper),
    ):
        if len(at) != stack.n_graphs + 1 or at[0] or at[-1] != size or (np.diff(at) < 0).any():
            raise ValueError(
                f"{name} must rise from 0 to {size}, one number per graph and the end."
            )
    orders = np.asarray(hyper_orders, dtype=np.int64)[hyper_type]
    hyper_members = np.zeros(0, np.int64) if stack.hyper_members is None else stack.hyper_members
    members, all_orders, factor_at = _factors(stack, hyper_members, hyper_at, orders)
    _check_members(members, all_orders, factor_at, stack.node_at)
    pair = pair_table(pairs, n_labels)
    tables = [_hyper_table(hyper_pairs, n_labels, order) for order in hyper_orders]
    sizes = [n_columns_of(table) for table in tables]
    edge_matrix = _matrix("edge_features", stack.edge_features, n_edges)
    hyper_matrix = _matrix("hyper_features", stack.hyper_features, n_hyper)
    layout = graph_layout(
        n_labels,
        stack.nodes.shape[1],
        pair=pair,
        n_edge_columns=edge_matrix.shape[1],
        n_hyper_columns=hyper_matrix.shape[1],
        n_node_types=n_node_types,
        n_edge_types=n_edge_types,
        hyper_sizes=sizes,
        bias=bias,
        edge_bias=edge_bias,
    )
    rows = layout.n_hyper_columns + layout.has_hyper_bias
    wide = np.zeros((0, n_labels)) if barrier is None else barrier
    if np.shape(wide) != (len(wide) and n_nodes, n_labels):
        raise ValueError(f"barrier must have the shape {(n_nodes, n_labels)}, got {wide.shape}.")
    wall = np.zeros(0) if edge_barrier is None else np.asarray(edge_barrier, dtype=np.float64)
    if edge_barrier is not None:
        _check_edge_barrier(wall, stack, np.asarray(labels), n_labels)
    return Graphs(
        as_features(stack.nodes),
        as_features(edge_matrix),
        as_features(hyper_matrix),
        frozen(labels, np.int32),
        frozen(wide, np.float64),
        frozen(wall.reshape(-1), np.float64),
        node_type,
        edge_type,
        hyper_type,
        frozen(stack.edge_at, np.int64),
        frozen(hyper_at, np.int64),
        frozen(layout.hyper_first + rows * _ends(sizes), np.int64),
        pair,
        CellTable(
            frozen(np.concatenate([np.zeros(0), *(t.column for t in tables)]), np.int32),
            frozen(np.concatenate([np.zeros(0), *(t.sign for t in tables)]), np.float64),
        ),
        frozen(_ends([len(t.column) for t in tables]), np.int64),
        layout,
        stacked_shapes(n_labels, stack.node_at, factor_at, members, all_orders),
    )


def _check_edge_barrier(
    wall: np.ndarray, stack: StackedGraphs, labels: np.ndarray, n_labels: int
) -> None:
    if wall.shape != (n_labels, n_labels) or not ((wall == 0.0) | np.isneginf(wall)).all():
        raise ValueError(
            f"edge_barrier must hold 0 or -inf and have the shape {(n_labels, n_labels)}, got "
            f"{wall.tolist()}."
        )
    graph = np.repeat(np.arange(stack.n_graphs), np.diff(stack.edge_at))
    ends = labels[np.asarray(stack.node_at)[graph][:, None] + stack.edges].astype(np.int64)
    bad = np.flatnonzero(np.isneginf(wall[ends[:, 0], ends[:, 1]]))
    if len(bad):
        a, b = stack.edges[bad[0]].tolist()
        raise ValueError(
            f"graph {graph[bad[0]]} has the true labels {ends[bad[0]].tolist()} at its edge "
            f"({a}, {b}), which edge_barrier forbids."
        )


def _ends(sizes: Any) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


def _types(name: str, types: Any, length: int, n_types: int) -> np.ndarray:
    given = np.zeros(length, dtype=np.int64) if types is None else np.asarray(types)
    if given.shape != (length,) or ((given < 0) | (given >= n_types)).any():
        raise ValueError(f"{name} must be {length} numbers from 0 to {n_types - 1}.")
    return frozen(given, np.int32)


def _matrix(name: str, matrix: Any, n_rows: int) -> Any:
    if matrix is None:
        return np.zeros((n_rows, 0))
    if matrix.shape[0] != n_rows:
        raise ValueError(f"{name} has {matrix.shape[0]} rows; expected {n_rows}.")
    return matrix


def _hyper_table(pairs: str, n_labels: int, order: int) -> CellTable:
    """Return what the table of a hyperedge is made of: a weight per cell, or one if all agree."""
    n_cells = n_labels**order
    if order < 2:
        raise ValueError(f"a hyperedge joins {order} nodes; expected 2 or more.")
    if n_cells > MOST_CELLS:
        most = next((k for k in range(order, 1, -1) if n_labels**k <= MOST_CELLS), 1)
        raise ValueError(
            f"a hyperedge of {order} nodes with {n_labels} labels has a table of {n_cells} cells, "
            f"also with hyper_pairs='potts'; expected at most {MOST_CELLS} cells, which is {most} "
            "nodes with these labels. Join the nodes by several hyperedges of so many, or by edges "
            "with pairs='potts'. Potts over any number of nodes, with given scores, is a factor of "
            "`constraints=` at prediction."
        )
    if pairs == "potts":
        sign = np.zeros(n_cells)
        sign[:: sum(n_labels**k for k in range(order))] = 1.0
        return CellTable(np.zeros(n_cells, dtype=np.int32), sign)
    if pairs != "full":
        raise ValueError(f"the tables of hyperedges are 'full' or 'potts', got {pairs!r}.")
    return CellTable(np.arange(n_cells, dtype=np.int32), np.ones(n_cells))


def _factors(
    stack: StackedGraphs, hyper_members: np.ndarray, hyper_at: np.ndarray, orders: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the members and orders of all factors, edges before hyperedges in every graph."""
    edge_at = np.asarray(stack.edge_at, dtype=np.int64)
    factor_at = edge_at + np.asarray(hyper_at, dtype=np.int64)
    n_edges, n_hyper = np.diff(edge_at), np.diff(hyper_at).astype(np.int64)
    graph = np.concatenate(
        [np.repeat(np.arange(len(n_edges)), n_edges), np.repeat(np.arange(len(n_edges)), n_hyper)]
    )
    place = np.argsort(graph, kind="stable")  # edges of a graph stay before its hyperedges
    all_orders = np.concatenate([np.full(len(stack.edges), 2, dtype=np.int64), orders])
    flat = np.concatenate([np.reshape(stack.edges, -1), hyper_members]).astype(np.int64)
    if len(flat) != all_orders.sum():
        raise ValueError(
            f"hyperedges have {all_orders[len(stack.edges) :].sum()} nodes in all, got "
            f"{len(hyper_members)}."
        )
    starts = _ends(all_orders)
    sorted_orders = all_orders[place]
    ends = _ends(sorted_orders)
    within = np.arange(ends[-1]) - np.repeat(ends[:-1], sorted_orders)
    return flat[np.repeat(starts[:-1][place], sorted_orders) + within], sorted_orders, factor_at


def _check_members(
    members: np.ndarray, orders: np.ndarray, factor_at: np.ndarray, node_at: np.ndarray
) -> None:
    """Refuse nodes that are not there, and a node that comes twice in a factor."""
    factor = np.repeat(np.arange(len(orders)), orders)
    graph = np.searchsorted(factor_at, factor, side="right") - 1
    size = np.diff(node_at)[graph]
    bad = np.flatnonzero((members < 0) | (members >= size))
    if len(bad):
        raise ValueError(
            f"graph {graph[bad[0]]} has {size[bad[0]]} nodes, but a factor of it names node "
            f"{members[bad[0]]}."
        )
    key = np.lexsort((members, factor))
    twice = np.flatnonzero((np.diff(factor[key]) == 0) & (np.diff(members[key]) == 0))
    if len(twice):
        slot = key[twice[0]]
        raise ValueError(f"graph {graph[slot]} has a factor that names node {members[slot]} twice.")

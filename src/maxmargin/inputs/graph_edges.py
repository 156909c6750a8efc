"""Edges and hyperedges of graphs: checked, stacked, and repeated edges merged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from maxmargin.inference._checks import whole_number
from maxmargin.inputs.graphs import Graph
from maxmargin.inputs.sequences import offsets_of
from maxmargin.structures import StackedGraphs
from maxmargin.structures.graph.cycles import cycle_of


def read_edges(graphs: list[Graph], sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of all graphs, and where those of each begin.

    Refuses nodes that are not there, and loops.
    """
    found = []
    for i, graph in enumerate(graphs):
        pairs = np.asarray(graph.edges)
        if pairs.size == 0:
            found.append(np.zeros((0, 2), dtype=np.int64))
            continue
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"X[{i}]: edges must have the shape (n_edges, 2), got {pairs.shape}.")
        if pairs.dtype.kind not in "iu":
            raise TypeError(f"X[{i}]: edges must hold whole numbers, got dtype {pairs.dtype}.")
        found.append(pairs.astype(np.int64))
    edges, at = np.concatenate(found), offsets_of([len(each) for each in found])
    graph_of = np.repeat(np.arange(len(found)), np.diff(at))
    size = sizes[graph_of]
    is_bad = np.any((edges < 0) | (edges >= size[:, None]), axis=1)
    is_loop = edges[:, 0] == edges[:, 1]
    if (is_bad | is_loop).any():
        e = int(np.argmax(is_bad | is_loop))
        i = int(graph_of[e])
        # As given: an unsigned number may be too large for `edges`, and is negative there.
        a, b = np.asarray(graphs[i].edges)[e - at[i]].tolist()
        told = f"is ({a}, {b}); expected nodes from 0 to {size[e] - 1}"
        if not is_bad[e]:
            told = f"joins node {a} to itself; expected two different nodes"
        raise ValueError(f"X[{i}]: edges[{e - at[i]}] {told}.")
    return edges, at


def read_hyperedges(
    graphs: list[Graph], sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nodes of all hyperedges, how many each has, and where each graph begins."""
    members: list[int] = []
    orders: list[int] = []
    counts = []
    for i, graph in enumerate(graphs):
        own = () if graph.hyperedges is None else graph.hyperedges
        if not hasattr(own, "__len__"):
            raise TypeError(f"X[{i}]: hyperedges must be a list of hyperedges, got {own!r}.")
        counts.append(len(own))
        for h, given in enumerate(own):
            where = f"X[{i}]: hyperedges[{h}]"
            try:
                nodes = [whole_number(v) for v in given]
            except TypeError:
                raise TypeError(
                    f"{where} must hold whole numbers, its nodes, got {given!r}."
                ) from None
            if len(nodes) < 3:
                raise ValueError(f"{where} joins {len(nodes)} nodes; expected three or more.")
            if len(set(nodes)) < len(nodes):
                raise ValueError(f"{where} is {nodes}, which names a node twice.")
            if min(nodes) < 0 or max(nodes) >= sizes[i]:
                raise ValueError(f"{where} is {nodes}; expected nodes from 0 to {sizes[i] - 1}.")
            members.extend(nodes)
            orders.append(len(nodes))
    return (
        np.array(members, dtype=np.int64),
        np.array(orders, dtype=np.int64),
        offsets_of(counts),
    )


def check_forests(stack: StackedGraphs) -> None:
    """Refuse graphs with a cycle, whose nodes the error names, and graphs with hyperedges."""
    if stack.hyper_at is not None and stack.hyper_at[-1] > 0:
        i = int(np.argmax(np.diff(stack.hyper_at) > 0))
        raise ValueError(
            f"X[{i}] has hyperedges; a forest has edges of two nodes only. GraphSVM takes all."
        )
    n_nodes, at = int(stack.node_at[-1]), stack.edge_at
    graph = np.repeat(np.arange(stack.n_graphs), np.diff(at))
    ends = (stack.node_at[graph][:, None] + stack.edges).T
    links = sp.coo_matrix((np.ones(len(graph)), ends), shape=(n_nodes, n_nodes))
    part = connected_components(links, directed=False)[1]
    # Every component of a forest has one node more than edges.
    n_parts = np.bincount(part)
    n_edges = np.bincount(part[ends[0]], minlength=len(n_parts))
    bad = np.flatnonzero(n_edges >= n_parts)
    if len(bad):
        first = int(np.argmax(part == bad[0]))
        i = int(np.searchsorted(stack.node_at, first, side="right")) - 1
        cycle = cycle_of(int(np.diff(stack.node_at)[i]), stack.edges[at[i] : at[i + 1]])
        if len(cycle) == 3:
            raise ValueError(_parallel(stack, i, cycle[:2]))
        raise ValueError(
            f"X[{i}] has a cycle: the nodes {' - '.join(map(str, cycle))}. TreeSVM takes graphs "
            "without cycles, GraphSVM takes all."
        )


def _parallel(stack: StackedGraphs, i: int, pair: list[int]) -> str:
    """Say that two edges of graph i join the same nodes and have tables of their own."""
    own = slice(stack.edge_at[i], stack.edge_at[i + 1])
    joining = np.isin(stack.edges[own], pair).all(axis=1)
    types = None if stack.edge_types is None else stack.edge_types[own][joining]
    if types is not None and len(np.unique(types)) > 1:
        why = "of different types"
        way_out = "Make them one edge, say with a feature for each of its types"
    else:
        why = "one in each direction, whose tables are not the same where pairs='full'"
        way_out = "Name each pair once, or take pairs='symmetric', 'antisymmetric' or 'potts'"
    return (
        f"X[{i}]: {joining.sum()} edges join the nodes {pair[0]} and {pair[1]}, {why}: that is a "
        f"cycle. {way_out}; GraphSVM takes all."
    )


def merged_edges(stack: StackedGraphs, symmetric: int) -> StackedGraphs:
    """Return the graphs with edges that are given twice made one; their features are added up.

    Edges of different types are not merged, and neither are both directions unless tables are
    ``symmetric`` (1) or antisymmetric (-1: then one of the features is subtracted).

    Examples
    --------
    >>> edges = np.array([[0, 1], [1, 0], [0, 1]])
    >>> stack = StackedGraphs(np.eye(2), np.array([0, 2]), edges, np.array([0, 3]), np.eye(3))
    >>> merged_edges(stack, 0).edge_features.tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    >>> merged_edges(stack, 1).edges.tolist()
    [[0, 1]]
    """
    n_edges = len(stack.edges)
    if n_edges == 0:
        return stack
    graph = np.repeat(np.arange(stack.n_graphs), np.diff(stack.edge_at))
    kind = np.zeros(n_edges, dtype=np.int64) if stack.edge_types is None else stack.edge_types
    flip = (stack.edges[:, 0] > stack.edges[:, 1]) & (symmetric != 0)
    ends = np.where(flip[:, None], stack.edges[:, ::-1], stack.edges)
    keys = np.column_stack([graph, kind, ends])
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    if len(first) == n_edges:
        return stack
    group = group.reshape(-1)
    order = np.argsort(first)  # groups in the order in which their first edges come
    rank = np.argsort(order)[group]
    kept = first[order]
    # The kept edge has the direction of the first of its group; the others are turned to it.
    turned = flip != flip[kept][rank]
    sign = np.where(turned & (symmetric < 0), -1.0, 1.0)
    features = stack.edge_features
    if features is not None:
        cells = (sign, (rank, np.arange(n_edges)))
        features = _times(sp.csr_matrix(cells, shape=(len(kept), n_edges)), features)
    is_kept = np.zeros(n_edges, dtype=np.int64)
    is_kept[kept] = 1
    return replace(
        stack,
        edges=stack.edges[kept],
        edge_at=np.concatenate([[0], np.cumsum(is_kept)])[stack.edge_at],
        edge_features=features,
        edge_types=None if stack.edge_types is None else stack.edge_types[kept],
    )


def merged_hyperedges(stack: StackedGraphs, symmetric: bool) -> StackedGraphs:
    """Return the graphs with hyperedges that are given twice made one; their features are added up.

    Hyperedges of different types are not merged, and neither are those that name their nodes in
    different orders unless tables are ``symmetric``.

    Examples
    --------
    >>> stack = StackedGraphs(
    ...     np.eye(3), np.array([0, 3]), np.zeros((0, 2), int), np.array([0, 0]),
    ...     hyper_members=np.array([0, 1, 2, 2, 1, 0]), hyper_types=np.zeros(2, int),
    ...     hyper_at=np.array([0, 2]), hyper_orders=np.array([3, 3]),
    ... )
    >>> merged_hyperedges(stack, False) is stack
    True
    >>> merged_hyperedges(stack, True).hyper_members.tolist()
    [0, 1, 2]
    """
    at, members, types, orders = (
        stack.hyper_at,
        stack.hyper_members,
        stack.hyper_types,
        stack.hyper_orders,
    )
    if at is None or members is None or types is None or orders is None:
        return stack
    starts = offsets_of(orders.tolist())
    place: dict[tuple[int, ...], int] = {}
    group = np.empty(len(orders), dtype=np.int64)
    graph = np.repeat(np.arange(stack.n_graphs), np.diff(at))
    for h in range(len(orders)):
        nodes = members[starts[h] : starts[h + 1]].tolist()
        key = graph[h], types[h], *(sorted(nodes) if symmetric else nodes)
        group[h] = place.setdefault(key, len(place))
    if len(place) == len(orders):
        return stack
    is_kept = np.zeros(len(orders), dtype=bool)
    is_kept[np.unique(group, return_index=True)[1]] = True
    features = stack.hyper_features
    if features is not None:
        cells = (np.ones(len(orders)), (group, np.arange(len(orders))))
        features = _times(sp.csr_matrix(cells, shape=(len(place), len(orders))), features)
    return replace(
        stack,
        hyper_members=members[np.repeat(is_kept, orders)],
        hyper_types=types[is_kept],
        hyper_orders=orders[is_kept],
        hyper_at=np.concatenate([[0], np.cumsum(is_kept)])[at],
        hyper_features=features,
    )


def _times(sums: Any, features: Any) -> Any:
    found = sums @ features
    return sp.csr_matrix(found) if sp.issparse(found) else np.asarray(found, features.dtype)

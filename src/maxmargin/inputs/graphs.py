"""Graphs as users give them: nodes with features, edges, and perhaps more.

One element of X is one graph: a pair ``(node_features, edges)``, a triple ``(node_features, edges,
edge_features)``, a graph of networkx, or a `Graph`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

#: What the attributes of nodes and edges of a networkx graph are called.
FEATURES, TYPE, WEIGHT = "features", "type", "weight"


@dataclass(frozen=True, eq=False)
class Graph:
    """One graph to label: the features of its nodes, its edges, and perhaps more.

    Parameters
    ----------
    nodes : array or CSR matrix of shape (n_nodes, n_features)
        Under a kernel of strings, a list of strings; under kernel="precomputed", the products of
        these nodes with all training nodes, graph after graph.
    edges : array of int of shape (n_edges, 2), default=()
        Pairs of different nodes. The order within a pair matters where weights are not symmetric.
        A pair that comes twice is one edge, and its features are added up.
    edge_features : array or CSR matrix of shape (n_edges, n_edge_features), or None
        None: all edges are alike.
    node_types, edge_types : sequences of hashable values, or None
        Nodes (edges) of one type share weights; those of different types have their own.
    node_weights : array of shape (n_nodes,), or None
        What a wrong label costs at each node, such as the size of a superpixel; >= 0. None: 1.
    hyperedges : sequence of sequences of int, or None, default=()
        Each joins three different nodes or more. Like edges, those that come twice are one.
    hyperedge_features : array or CSR matrix with one row per hyperedge, or None
    hyperedge_types : sequence of hashable values, or None
        None: hyperedges with the same number of nodes are of one type.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import Graph
    >>> Graph(np.eye(3), [(0, 1), (1, 2)], hyperedges=[(0, 1, 2)])
    Graph(3 nodes, 2 edges, 1 hyperedges)
    """

    nodes: Any
    edges: Any = ()
    edge_features: Any = None
    node_types: Sequence[Any] | None = None
    edge_types: Sequence[Any] | None = None
    node_weights: Any = None
    hyperedges: Sequence[Sequence[int]] | None = ()
    hyperedge_features: Any = None
    hyperedge_types: Sequence[Any] | None = None

    def __repr__(self) -> str:
        counts = f"{np.shape(self.nodes)[0]} nodes, {len(self.edges)} edges"
        n_hyper = 0 if self.hyperedges is None else len(self.hyperedges)
        more = f", {n_hyper} hyperedges" if n_hyper else ""
        return f"Graph({counts}{more})"


def as_graphs(X: Any, name: str = "X") -> list[Graph]:
    """Return the elements of X as graphs; what they hold is checked by `read_graphs`."""
    is_list = hasattr(X, "__len__") and hasattr(X, "__iter__")
    is_one = sp.issparse(X) or isinstance(X, (str, bytes, dict, Graph)) or _is_networkx(X)
    if is_one or not is_list or (isinstance(X, np.ndarray) and X.dtype != object):
        raise TypeError(
            f"{name} must be a list of graphs, got {type(X).__name__}; one element is one graph: "
            "(node_features, edges), (node_features, edges, edge_features), a networkx graph or a "
            "maxmargin.Graph. Wrap a single one in a list."
        )
    if len(X) == 0:
        raise ValueError(f"{name} holds no graph.")
    return [_as_graph(f"{name}[{i}]", each) for i, each in enumerate(X)]


def _as_graph(where: str, given: Any) -> Graph:
    if isinstance(given, Graph):
        return given
    if _is_networkx(given):
        return from_networkx(given, where)
    if isinstance(given, (tuple, list)) and 2 <= len(given) <= 3:
        return Graph(*given)
    what = f"{type(given).__name__}" + (
        f" of {len(given)}" if isinstance(given, (tuple, list)) else ""
    )
    raise TypeError(
        f"{where} is a {what}; expected (node_features, edges), (node_features, edges, "
        "edge_features), a networkx graph or a maxmargin.Graph."
    )


def _is_networkx(given: Any) -> bool:
    return all(callable(getattr(given, name, None)) for name in ("is_directed", "number_of_nodes"))


def from_networkx(graph: Any, where: str = "graph") -> Graph:
    """Return a networkx graph as a `Graph`, its nodes in the order in which it lists them.

    Parameters
    ----------
    graph : networkx graph
        Every node has the attribute ``features``, a vector or a sparse row (CSR). Edges may have
        it, if all have. The ends of an edge without direction stand in the order in which it lists
        them, which is mostly that of its nodes. The attributes ``type`` of nodes and edges and
        ``weight`` of nodes are optional.
    where : str
        What errors call the graph.
    """
    place = {node: v for v, node in enumerate(graph.nodes)}
    if not place:
        raise ValueError(f"{where} has no nodes.")
    edges = list(graph.edges(data=True))
    nodes = _attribute(graph.nodes(data=True), FEATURES, where, "node")
    if nodes is None:
        raise ValueError(f"{where}: its nodes have no attribute {FEATURES!r}.")
    own = [((a, b), values) for a, b, values in edges]
    return Graph(
        _vectors(nodes, f"{where}: the attribute {FEATURES!r} of nodes"),
        [(place[a], place[b]) for a, b, _ in edges],
        _vectors(_attribute(own, FEATURES, where, "edge"), f"{where}: {FEATURES!r} of edges"),
        _attribute(graph.nodes(data=True), TYPE, where, "node"),
        _attribute(own, TYPE, where, "edge"),
        _attribute(graph.nodes(data=True), WEIGHT, where, "node"),
    )


def _attribute(items: Any, name: str, where: str, kind: str) -> list[Any] | None:
    """Return an attribute of all nodes or edges; None where none has it."""
    pairs = list(items)
    having = [name in values for _, values in pairs]
    if not any(having):
        return None
    if not all(having):
        missing = pairs[having.index(False)][0]
        raise ValueError(f"{where}: {kind} {missing!r} has no attribute {name!r}, but others have.")
    return [values[name] for _, values in pairs]


def _vectors(rows: list[Any] | None, what: str) -> Any:
    if rows is None:
        return None
    if any(sp.issparse(row) for row in rows):
        return _sparse_rows(rows, what)
    if all(isinstance(row, str) for row in rows):
        return rows  # what a kernel of strings compares
    try:
        return np.array([np.atleast_1d(row) for row in rows], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} are not vectors of one length: {error}") from None


def _sparse_rows(rows: list[Any], what: str) -> sp.csr_matrix:
    """Return sparse rows as one CSR matrix."""
    for k, row in enumerate(rows):
        if not sp.issparse(row):
            raise ValueError(
                f"{what} are sparse rows and others: number {k} is a {type(row).__name__}. Make "
                "all of them sparse, or none."
            )
        if row.ndim == 2 and row.shape[0] != 1:
            raise ValueError(f"{what}: number {k} has shape {row.shape}; expected one row.")
        if row.shape[-1] != rows[0].shape[-1]:
            raise ValueError(
                f"{what} are not vectors of one length: number {k} has {row.shape[-1]} entries, "
                f"number 0 has {rows[0].shape[-1]}."
            )
    flat = [row if row.ndim == 2 else row.reshape((1, -1)) for row in rows]
    return sp.csr_matrix(sp.vstack(flat, format="csr", dtype=np.float64))

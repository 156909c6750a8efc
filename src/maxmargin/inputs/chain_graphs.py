"""Sequences as graphs: chains whose transitions have features, or reach back further than one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.inputs.checks import check_number
from maxmargin.inputs.graphs import Graph


def chain_graph(
    x: Any, *, order: int = 1, edge_features: Any = None, node_weights: Any = None
) -> Graph:
    """Return a sequence as a graph, for `TreeSVM` (order 1) and `GraphSVM`.

    Neighbours are joined by edges (t, t + 1). A chain of order k also has hyperedges over each k +
    1 neighbours, so that the score of a label depends on the k labels before it.

    Parameters
    ----------
    x : array or CSR matrix of shape (L, n_features)
        The features of the positions.
    order : int >= 1
    edge_features : array or CSR matrix of shape (L - 1, n_edge_features), "ends" or None
        Features of the transition from position t to t + 1, so that transitions depend on x.
        "ends": those of both positions, one after the other. None: all transitions are alike.
    node_weights : array of shape (L,), or None
        What a wrong label costs at each position; None: 1.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import chain_graph
    >>> chain_graph(np.eye(4), order=2)
    Graph(4 nodes, 3 edges, 2 hyperedges)
    >>> chain_graph(np.eye(4), edge_features="ends").edge_features.shape
    (3, 8)
    """
    order = check_number("order", order, integer=True)
    is_matrix = sp.issparse(x) or (isinstance(x, np.ndarray) and x.ndim == 2)
    nodes: Any = x if is_matrix else np.asarray(x)
    if nodes.ndim != 2:
        raise ValueError(
            f"x must have one row of features per position, shape (L, n_features), got an array of "
            f"shape {np.shape(nodes)}."
        )
    length = nodes.shape[0]
    first = np.arange(max(length - 1, 0))
    edges = np.stack([first, first + 1], axis=1)
    if isinstance(edge_features, str):
        if edge_features != "ends":
            raise ValueError(
                f"edge_features={edge_features!r} is not known. There are: 'ends', an array and "
                "None."
            )
        rows = nodes.tocsr() if sp.issparse(nodes) else nodes
        ends = [rows[:-1], rows[1:]]
        edge_features = sp.csr_matrix(sp.hstack(ends)) if sp.issparse(nodes) else np.hstack(ends)
    elif edge_features is not None and np.shape(edge_features)[0] != len(edges):
        raise ValueError(
            f"edge_features has {np.shape(edge_features)[0]} rows, but a chain of {length} "
            f"positions has {len(edges)} transitions."
        )
    hyperedges = []
    if order > 1:
        hyperedges = [tuple(range(t, t + order + 1)) for t in range(length - order)]
    return Graph(nodes, edges, edge_features, node_weights=node_weights, hyperedges=hyperedges)

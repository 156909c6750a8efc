"""Labelled graphs to learn from, in npz files: features of nodes and edges, and labels.

Keys: ``X`` (the rows of all nodes under one another), ``n_nodes`` (of each graph), ``edges`` (of
all graphs, as pairs of nodes that count from 0 in each), ``n_edges``, and perhaps ``E`` (a row per
edge) and ``y`` (a label per node, -1 where it is not known). Sparse features, types, node weights
and hyperedges have no place in such a file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin.io.arrays import read_arrays
from maxmargin.io.files import Source, source_name
from maxmargin.io.graphs.npz import save_arrays
from maxmargin.io.npz import cut, stack

__all__ = ["read_graphs", "write_graphs"]

#: What a `maxmargin.Graph` may have besides, which files do not hold.
_BESIDE = (
    "node_types",
    "edge_types",
    "node_weights",
    "hyperedges",
    "hyperedge_features",
    "hyperedge_types",
)

_KINDS = {"X": "biuf", "n_nodes": "iu", "edges": "iu", "n_edges": "iu", "E": "biuf", "y": "biuUS"}


def read_graphs(source: Source) -> tuple[list[tuple[NDArray[Any], ...]], list[NDArray[Any]] | None]:
    """Graphs and labels of an npz file.

    Parameters
    ----------
    source : path or file open for reading bytes
        With the keys ``X``, ``n_nodes``, ``edges``, ``n_edges``, perhaps ``E`` and ``y``.

    Returns
    -------
    X : list of (node_features, edges) or (node_features, edges, edge_features)
        Arrays of shape (n, d), (m, 2) and (m, e).
    y : list of arrays of shape (n,), or None
        -1 where a label is not known.

    Raises
    ------
    ValueError
        Naming the file and what does not fit.

    Examples
    --------
    >>> import os, tempfile
    >>> graphs = [(np.eye(3), [(0, 1), (1, 2)]), (np.ones((2, 3)), [(0, 1)])]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "graphs.npz")
    ...     write_graphs(path, graphs, [[0, 1, -1], [1, 1]])
    ...     X, y = read_graphs(path)
    >>> [features.shape for features, edges in X], y[0]
    ([(3, 3), (2, 3)], array([ 0,  1, -1]))
    """
    name = source_name(source)
    arrays = read_arrays(source, _KINDS)
    _check(name, arrays)
    node_ends, edge_ends = (_ends(arrays[key]) for key in ("n_nodes", "n_edges"))
    edges = cut(arrays["edges"].astype(np.int64), edge_ends)
    _check_edges(name, edges, arrays["n_nodes"].tolist())
    parts = [cut(arrays["X"], node_ends), edges]
    if "E" in arrays:
        parts.append(cut(arrays["E"], edge_ends))
    y = arrays.get("y")
    return list(zip(*parts, strict=True)), None if y is None else cut(y, node_ends)


def _ends(counts: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)


def _check(name: str, arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse arrays that do not fit together."""
    for key in ("X", "n_nodes", "edges", "n_edges"):
        if key not in arrays:
            raise ValueError(f"{name} has no key {key!r}; its graphs cannot be told apart.")
    axes = {"X": 2, "n_nodes": 1, "edges": 2, "n_edges": 1, "E": 2, "y": 1}
    for key, array in arrays.items():
        if array.ndim != axes[key]:
            raise ValueError(f"{name}: {key} has shape {array.shape}; expected {axes[key]} axes.")
    if arrays["edges"].shape[1] != 2:
        raise ValueError(
            f"{name}: edges has shape {arrays['edges'].shape}; expected (number of edges, 2)."
        )
    if len(arrays["n_nodes"]) != len(arrays["n_edges"]):
        raise ValueError(
            f"{name}: n_nodes is of {len(arrays['n_nodes'])} graphs and n_edges of "
            f"{len(arrays['n_edges'])}."
        )
    for counts, keys in (("n_nodes", ("X", "y")), ("n_edges", ("edges", "E"))):
        numbers = arrays[counts].tolist()  # Python's numbers do not overflow
        for key in keys:
            if key in arrays and (min(numbers, default=0) < 0 or sum(numbers) != len(arrays[key])):
                raise ValueError(
                    f"{name}: {counts} sums to {sum(numbers)}, but {key} has {len(arrays[key])} "
                    "rows."
                )


def _check_edges(name: str, edges: list[NDArray[Any]], n_nodes: list[int]) -> None:
    """Refuse edges to nodes that are not there."""
    for i, (pairs, n) in enumerate(zip(edges, n_nodes, strict=True)):
        if len(pairs) and not 0 <= pairs.min() <= pairs.max() < n:
            bad = int(np.flatnonzero((pairs < 0).any(axis=1) | (pairs >= n).any(axis=1))[0])
            raise ValueError(
                f"{name}: edge {bad} of graph {i} joins {pairs[bad, 0]} and {pairs[bad, 1]}; "
                f"expected nodes from 0 to {n - 1}."
            )


def write_graphs(
    path: str | os.PathLike[str], X: Sequence[Any], y: Sequence[Any] | None = None
) -> None:
    """Write graphs and their labels; the file is replaced in one step.

    Parameters
    ----------
    path : path
    X : sequence of (node_features, edges) or (node_features, edges, edge_features)
        Dense features; all graphs have edge features, or none. A `maxmargin.Graph` that has no more
        than these is taken too.
    y : sequence of sequences of labels, or None
        Whole numbers, -1 where not known, or strings.

    Examples
    --------
    See :func:`read_graphs`.
    """
    graphs = [_as_tuple(f"X[{i}]", graph) for i, graph in enumerate(X)]
    if not graphs:
        raise ValueError("X holds no graph.")
    sizes = {len(graph) for graph in graphs}
    if len(sizes) != 1 or not sizes <= {2, 3}:
        raise ValueError(
            "X must hold tuples (node_features, edges), or tuples (node_features, edges, "
            f"edge_features), and not both; got tuples of lengths {sorted(sizes)}."
        )
    arrays: dict[str, NDArray[Any]] = {}
    arrays["X"], node_ends = stack([graph[0] for graph in graphs])
    pairs = [np.asarray(graph[1]) for graph in graphs]
    pairs = [p.astype(np.int64) if p.size == 0 else p for p in pairs]
    arrays["edges"], edge_ends = stack([p.reshape(-1, 2) for p in pairs], "edges of X")
    arrays["n_nodes"], arrays["n_edges"] = np.diff(node_ends), np.diff(edge_ends)
    if sizes == {3}:
        arrays["E"], ends = stack([graph[2] for graph in graphs], "edge features of X")
        if not np.array_equal(ends, edge_ends):
            i = int(np.flatnonzero(np.diff(ends) != np.diff(edge_ends))[0])
            raise ValueError(
                f"X[{i}] has {np.diff(edge_ends)[i]} edges and {np.diff(ends)[i]} rows of edge "
                "features."
            )
    if y is not None:
        arrays["y"], ends = stack(y, "y")
        if not np.array_equal(ends, node_ends):
            raise ValueError("y does not have a label for every node of X, graph by graph.")
    for key, array in arrays.items():
        if array.dtype.kind not in _KINDS[key]:
            raise TypeError(f"{key} holds {array.dtype}, which `read_graphs` would not read.")
    _check("write_graphs", arrays)
    _check_edges("write_graphs", cut(arrays["edges"], edge_ends), arrays["n_nodes"].tolist())
    save_arrays(path, arrays)


def _as_tuple(where: str, graph: Any) -> tuple[Any, ...]:
    """Return what a file holds of a graph; refuse a graph that has more, and what is none."""
    if all(hasattr(graph, name) for name in _BESIDE):  # a Graph: readers know nothing of its class
        values = {name: getattr(graph, name) for name in _BESIDE}
        more = [
            name
            for name, value in values.items()
            if value is not None and (value.shape[0] if hasattr(value, "shape") else len(value))
        ]
        if more:
            raise ValueError(
                f"{where} has {', '.join(more)}, which files of graphs do not hold; they have "
                "node_features, edges and edge_features. Keep such graphs by pickle."
            )
        has_own = graph.edge_features is not None
        graph = (graph.nodes, graph.edges, *([graph.edge_features] if has_own else []))
    if not isinstance(graph, (tuple, list)):
        raise TypeError(
            f"{where} is a {type(graph).__name__}; expected a tuple (node_features, edges) or "
            "(node_features, edges, edge_features) of arrays."
        )
    if len(graph) == 3 and graph[2] is None:
        graph = graph[:2]
    if len(graph) > 1 and graph[1] is None:
        raise TypeError(f"{where}: edges is None; an empty list stands for no edges.")
    for name, part in zip(("node_features", "edges", "edge_features"), graph, strict=False):
        if sparse.issparse(part):
            raise TypeError(
                f"{where}: {name} is a sparse {type(part).__name__}; files of graphs hold dense "
                "arrays. .toarray() makes one."
            )
    return tuple(graph)

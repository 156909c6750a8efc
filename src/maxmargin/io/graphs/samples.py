"""Labelled graphs to learn from, in npz files: features of nodes and edges, and labels.

Keys: ``X`` (the rows of all nodes under one another), ``n_nodes`` (of each graph), ``edges`` (of
all graphs, as pairs of nodes that count from 0 in each), ``n_edges``, and perhaps ``E`` (a row per
edge) and ``y`` (a label per node, -1 where it is not known).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.arrays import read_arrays
from maxmargin.io.files import Source, source_name
from maxmargin.io.graphs.npz import save_arrays
from maxmargin.io.npz import cut, stack

__all__ = ["read_graphs", "write_graphs"]

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
    for i, (pairs, n) in enumerate(zip(edges, arrays["n_nodes"].tolist(), strict=True)):
        if len(pairs) and not 0 <= pairs.min() <= pairs.max() < n:
            bad = int(np.flatnonzero((pairs < 0).any(axis=1) | (pairs >= n).any(axis=1))[0])
            raise ValueError(
                f"{name}: edge {bad} of graph {i} joins {pairs[bad, 0]} and {pairs[bad, 1]}; "
                f"expected nodes from 0 to {n - 1}."
            )
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


def write_graphs(
    path: str | os.PathLike[str], X: Sequence[Any], y: Sequence[Any] | None = None
) -> None:
    """Write graphs and their labels; the file is replaced in one step.

    Parameters
    ----------
    path : path
    X : sequence of (node_features, edges) or (node_features, edges, edge_features)
        Dense features; all graphs have edge features, or none.
    y : sequence of sequences of labels, or None
        Whole numbers, -1 where not known, or strings.

    Examples
    --------
    See :func:`read_graphs`.
    """
    sizes = {len(graph) for graph in X}
    if len(sizes) != 1 or not sizes <= {2, 3}:
        raise ValueError(
            "X must hold tuples (node_features, edges), or tuples (node_features, edges, "
            f"edge_features), and not both; got tuples of lengths {sorted(sizes)}."
        )
    arrays: dict[str, NDArray[Any]] = {}
    arrays["X"], node_ends = stack([graph[0] for graph in X])
    pairs = [np.asarray(graph[1]) for graph in X]
    pairs = [p.astype(np.int64) if p.size == 0 else p for p in pairs]
    arrays["edges"], edge_ends = stack([p.reshape(-1, 2) for p in pairs], "edges of X")
    arrays["n_nodes"], arrays["n_edges"] = np.diff(node_ends), np.diff(edge_ends)
    if sizes == {3}:
        arrays["E"], ends = stack([graph[2] for graph in X], "edge features of X")
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
    save_arrays(path, arrays)

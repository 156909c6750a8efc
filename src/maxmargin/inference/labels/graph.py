"""The graph of a label set: which pairs of labels have a weight of their own.

All kernels over label sets maximise ``sum_j unary[j] y_j + sum_e pair[e] y_a y_b`` over y in
{0, 1}^m, where e = (a, b) runs over the edges. The graph is made once; weights come with each call.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["LabelGraph", "label_graph"]


class LabelGraph(NamedTuple):
    """Edges between labels, and the edges at each label.

    Attributes
    ----------
    edges : int32 array of shape (E, 2)
        As given: edge e joins edges[e, 0] and edges[e, 1].
    start : int64 array of shape (m + 1,)
        The entries of label j in `neighbour` and `edge_of` are start[j]..start[j + 1] - 1.
    neighbour : int32 array of shape (2 E,)
        The neighbours of each label, ascending.
    edge_of : int32 array of shape (2 E,)
        The edge that joins the label to this neighbour, as a row of `edges`.
    """

    edges: npt.NDArray[np.int32]
    start: npt.NDArray[np.int64]
    neighbour: npt.NDArray[np.int32]
    edge_of: npt.NDArray[np.int32]


def label_graph(n_labels: int, edges: npt.ArrayLike) -> LabelGraph:
    """Return the graph with these edges over the labels 0 to n_labels - 1.

    Parameters
    ----------
    n_labels : int
        At least 0.
    edges : array-like of int of shape (E, 2)
        Pairs of different labels, each pair once, in either direction. Empty: no edges.

    Examples
    --------
    >>> from maxmargin.inference.labels.graph import label_graph
    >>> graph = label_graph(3, [(0, 2), (1, 0)])
    >>> graph.start
    array([0, 2, 3, 4])
    >>> graph.neighbour
    array([1, 2, 0, 0], dtype=int32)
    >>> graph.edge_of
    array([1, 0, 1, 0], dtype=int32)
    """
    n = _check_n_labels(n_labels)
    pairs = _check_edges(n, edges)
    n_edges = len(pairs)
    # ends and others list each edge twice: first as seen from its first end, then from its second.
    ends = pairs.T.ravel()
    others = pairs[:, ::-1].T.ravel()
    order = np.lexsort((others, ends))
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=n), out=start[1:])
    numbers = np.concatenate([np.arange(n_edges), np.arange(n_edges)])
    return LabelGraph(
        np.ascontiguousarray(pairs, dtype=np.int32),
        start,
        others[order].astype(np.int32),
        numbers[order].astype(np.int32),
    )


def _check_n_labels(value: Any) -> int:
    try:
        n_labels = operator.index(value)
    except TypeError:
        raise TypeError(f"n_labels must be a whole number, got {value!r}.") from None
    if not 0 <= n_labels < 2**31:
        raise ValueError(f"n_labels must be from 0 to 2**31 - 1, got {n_labels}.")
    return n_labels


def _check_edges(n_labels: int, value: Any) -> npt.NDArray[np.int64]:
    """Return the edges as int64; refuse unknown labels, loops and edges that come twice."""
    try:
        given = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"edges is not an array of pairs of labels: {error}") from None
    if given.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != 2:
        raise ValueError(f"edges must have shape (n_edges, 2), got {given.shape}.")
    if given.dtype.kind not in "iu":
        raise TypeError(f"edges must hold integer labels, got dtype {given.dtype}.")
    bad = ((given < 0) | (given >= n_labels)).any(axis=1)
    if bad.any():
        e = int(np.argmax(bad))
        raise ValueError(f"edges[{e}] is {_spell(given[e])}; {_expected(n_labels)}.")
    pairs = given.astype(np.int64)
    loops = pairs[:, 0] == pairs[:, 1]
    if loops.any():
        e = int(np.argmax(loops))
        raise ValueError(f"edges[{e}] is {_spell(pairs[e])}; expected two different labels.")
    codes = pairs.min(axis=1) * n_labels + pairs.max(axis=1)
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    again = first[which] != np.arange(len(pairs))
    if again.any():
        e = int(np.argmax(again))
        raise ValueError(
            f"edges[{e}] is {_spell(pairs[e])}, which joins the same labels as "
            f"edges[{first[which[e]]}]; expected each pair once, in one direction."
        )
    return pairs


def _spell(edge: npt.NDArray[Any]) -> str:
    return f"({int(edge[0])}, {int(edge[1])})"


def _expected(n_labels: int) -> str:
    if n_labels == 0:
        return "expected no edge, as there are no labels"
    return f"expected labels from 0 to {n_labels - 1}"

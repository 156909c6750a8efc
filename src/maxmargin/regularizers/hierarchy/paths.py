"""The paths of labels in a hierarchy, as a matrix, without the nodes that weights do not concern.

A(k), the path of label k, is its node and all nodes above. Of a tree it is a path in the plain
sense; of a directed acyclic graph it is all that lies above.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from maxmargin.inference.hierarchy.shape import HierarchyShape

__all__ = ["HierarchyPaths", "hierarchy_paths", "path_matrix"]


class HierarchyPaths(NamedTuple):
    """Paths of the lowest labels over the columns that weights are computed for.

    A column stands for one node, or for several that are on the same paths if these are merged.
    Columns on more paths come first.
    """

    matrix: sp.csr_matrix  # (n_paths, n_columns): 1 where the column is on the path
    columns: npt.NDArray[np.int64]  # (M,): the column of each node; -1 if its weight is 0
    sizes: npt.NDArray[np.int64]  # (n_columns,): how many nodes each column stands for
    labels: npt.NDArray[np.int64]  # nodes of all labels
    #: (n_columns,): the column above, -1 if there is none; None if some column has several, which
    #: have no order among them. (Paths without such columns are those of a tree or forest.)
    above: npt.NDArray[np.int64] | None

    def of_nodes(self, weights: np.ndarray) -> np.ndarray:
        """Return weights of nodes, given those of columns: duplicated nodes share theirs."""
        share = np.append(weights / self.sizes, 0.0)
        return share[self.columns]

    def sums_of(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of numbers over the nodes of each column."""
        kept = self.columns >= 0
        return np.bincount(self.columns[kept], weights=values[kept], minlength=len(self.sizes))


def path_matrix(shape: HierarchyShape, labels: npt.ArrayLike) -> sp.csr_matrix:
    """Return the matrix of paths: row k has ones at A(labels[k]).

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> from maxmargin.regularizers.hierarchy import path_matrix
    >>> shape = hierarchy_shape(4, child=[1, 2, 3], parent=[0, 0, 1])
    >>> path_matrix(shape, [2, 3]).toarray().astype(int).tolist()
    [[1, 0, 1, 0], [1, 1, 0, 1]]
    """
    n_nodes = len(shape.parent_at) - 1
    nodes = _checked_labels(n_nodes, labels)
    nothing = np.zeros(0, dtype=np.int64)
    paths: list[np.ndarray] = []
    for v in range(n_nodes):  # parents first
        above = [paths[p] for p in shape.parents[shape.parent_at[v] : shape.parent_at[v + 1]]]
        higher = above[0] if len(above) == 1 else np.unique(np.concatenate([nothing, *above]))
        paths.append(np.append(higher, v))
    starts = np.cumsum([0, *(len(paths[v]) for v in nodes)])
    cells = np.concatenate([paths[v] for v in nodes])
    return sp.csr_matrix((np.ones(len(cells)), cells, starts), shape=(len(nodes), n_nodes))


def hierarchy_paths(
    shape: HierarchyShape,
    labels: npt.ArrayLike,
    *,
    keep_common: bool = False,
    merge: bool = False,
) -> HierarchyPaths:
    """Return the paths of labels over the nodes that weights are computed for.

    A node on no path, or on the paths of all labels, has weight 0: the scores of the latter are in
    the scores of all labels, and cancel. ``keep_common`` keeps these, which is right where an
    output may be empty. A label above another label has no row: its path is a part of the other's.
    ``merge`` makes one column of nodes that are on the same paths.
    """
    paths = path_matrix(shape, labels)
    nodes = np.asarray(labels, dtype=np.int64)
    counts = np.bincount(paths.indices, minlength=paths.shape[1])
    kept = counts > 0
    if not keep_common and len(nodes) > 1:
        kept &= counts < len(nodes)
    is_end = counts[nodes] == 1
    matrix = paths[is_end].tocsc()
    order = np.flatnonzero(kept)
    order = order[np.argsort(-np.diff(matrix.indptr)[order], kind="stable")]
    groups: dict[tuple[int, bytes], int] = {}
    columns = np.full(paths.shape[1], -1, dtype=np.int64)
    chosen = []
    for v in order:
        rows = matrix.indices[matrix.indptr[v] : matrix.indptr[v + 1]]
        key = (-1, rows.tobytes()) if merge else (int(v), b"")
        if key not in groups:
            groups[key] = len(groups)
            chosen.append(v)
        columns[v] = groups[key]
    sizes = np.bincount(columns[columns >= 0], minlength=len(groups))
    reduced = sp.csr_matrix(matrix[:, chosen])
    reduced.sort_indices()
    return HierarchyPaths(reduced, columns, sizes, nodes, _columns_above(reduced))


def _columns_above(matrix: sp.csr_matrix) -> npt.NDArray[np.int64] | None:
    """Return the column before each column in the rows that have it; None if rows disagree."""
    n_columns = matrix.shape[1]
    before = np.empty(matrix.nnz, dtype=np.int64)
    before[1:] = matrix.indices[:-1]
    before[matrix.indptr[:-1][np.diff(matrix.indptr) > 0]] = -1
    lowest = np.full(n_columns, n_columns, dtype=np.int64)
    highest = np.full(n_columns, -2, dtype=np.int64)
    np.minimum.at(lowest, matrix.indices, before)
    np.maximum.at(highest, matrix.indices, before)
    return lowest if np.array_equal(lowest, highest) else None


def _checked_labels(n_nodes: int, labels: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the nodes of labels; refuse none, repeated ones, and what is no node."""
    nodes = np.asarray(labels)
    if nodes.ndim != 1 or len(nodes) == 0 or nodes.dtype.kind not in "iu":
        raise ValueError(f"labels must be a list of at least one number of a node, got {labels!r}.")
    outside = (nodes < 0) | (nodes >= n_nodes)
    if outside.any():
        k = int(np.flatnonzero(outside)[0])
        raise ValueError(f"labels[{k}] is {nodes[k]}, but there are {n_nodes} nodes.")
    values, counts = np.unique(nodes, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"node {values[counts > 1][0]} is in labels more than once.")
    return nodes.astype(np.int64)

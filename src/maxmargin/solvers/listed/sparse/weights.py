"""Weights that are never a dense vector: what a run without one keeps, reports and saves."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.solvers.listed.sparse.rows import DENSE, Rows, pack, squared_length
from maxmargin.solvers.restore.checked import Arrays

__all__ = ["SparseWeights"]

#: When arrays grow, each row gets 1 / RESERVE of its entries in reserve, and so does the arena.
RESERVE = 3


class SparseWeights:
    """The weights w of F features at M nodes, as a vector of F * M numbers of which few are stored.

    Parameters
    ----------
    rows : Rows

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.listed.sparse.weights import SparseWeights
    >>> w = SparseWeights.of_matrix(np.array([[0.0, 2.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]]))
    >>> w.shape, w.n_stored, np.asarray(w).tolist()
    ((8,), 4, [0.0, 2.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0])
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    @classmethod
    def zeros(cls, n_features: int, n_nodes: int) -> SparseWeights:
        """Return weights that are all 0."""
        at, count, room = np.zeros((3, n_features), dtype=np.int64)
        return cls(
            Rows(
                at, count, room,
                np.zeros(0, dtype=np.int32), np.zeros(0),
                np.full(n_features, -1, dtype=np.int64), np.zeros((0, n_nodes)),
                np.zeros(2, dtype=np.int64),
            )
        )  # fmt: skip

    @classmethod
    def of_matrix(cls, matrix: Any) -> SparseWeights:
        """Return weights from a matrix of shape (F, M); rows with many entries are dense."""
        csr = sp.csr_matrix(matrix, dtype=np.float64)
        csr.sum_duplicates()
        n_features, n_nodes = csr.shape
        count = np.diff(csr.indptr).astype(np.int64)
        is_dense = count > n_nodes // DENSE
        found = cls.zeros(n_features, n_nodes)
        dense_at = np.where(is_dense, np.cumsum(is_dense) - 1, -1)
        kept = np.repeat(~is_dense, count)
        own = np.where(is_dense, 0, count)
        at = np.concatenate([[0], np.cumsum(own)[:-1]])
        node, value = csr.indices[kept].astype(np.int32), csr.data[kept]
        dense = csr[is_dense].toarray()
        used = np.array([len(node), len(dense)], dtype=np.int64)
        found.rows = Rows(at, own, own.copy(), node, value, dense_at, dense, used)
        return found

    # -- what a vector has -----------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int]:
        """The shape of the vector."""
        return (len(self.rows.at) * self.rows.dense.shape[1],)

    @property
    def n_stored(self) -> int:
        """How many numbers are stored for which none need be 0."""
        rows = self.rows
        return int(rows.count.sum()) + int(np.count_nonzero(rows.dense[: rows.used[1]]))

    @property
    def n_bytes(self) -> int:
        """The memory of all arrays, with what they hold in reserve."""
        return int(sum(array.nbytes for array in self.rows))

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the dense vector, for small ones: it takes 8 bytes per feature and node."""
        return np.asarray(self.matrix().toarray().ravel(), dtype=dtype)

    def __matmul__(self, other: Any) -> float:
        if other is not self:
            return NotImplemented
        return float(squared_length(self.rows, np.ones(self.rows.dense.shape[1])))

    def copy(self) -> SparseWeights:
        """Return a copy without the reserve."""
        count = self.rows.count.copy()
        return SparseWeights(self._packed(count, count.copy(), 0, int(self.rows.used[1])))

    def _packed(self, count: np.ndarray, room: np.ndarray, n_free: int, n_dense: int) -> Rows:
        """Return the rows in new arrays, each with its room, and free cells and dense rows."""
        rows = self.rows
        ends = np.cumsum(room)
        used = np.array([room.sum(), rows.used[1]], dtype=np.int64)
        node, value = np.zeros(used[0] + n_free, dtype=np.int32), np.zeros(used[0] + n_free)
        pack(rows, ends - room, node, value)
        dense = rows.dense
        if n_dense != len(dense) or n_free == 0:
            dense = np.zeros((n_dense, rows.dense.shape[1]))
            dense[: used[1]] = rows.dense[: used[1]]
        return Rows(ends - room, count, room, node, value, rows.dense_at.copy(), dense, used)

    def matrix(self) -> sp.csr_matrix:
        """Return the weights as a sparse matrix of shape (F, M)."""
        rows = self.rows
        n_features, n_nodes = len(rows.at), rows.dense.shape[1]
        ends = np.concatenate([[0], np.cumsum(rows.count)])
        node, value = np.zeros(ends[-1], dtype=np.int32), np.zeros(ends[-1])
        pack(rows, ends[:-1], node, value)
        thin = sp.csr_matrix((value, node, ends), shape=(n_features, n_nodes))
        features = np.flatnonzero(rows.dense_at >= 0)
        dense = sp.csr_matrix(rows.dense[rows.dense_at[features]])
        up = sp.csr_matrix(
            (np.ones(len(features)), (features, np.arange(len(features)))),
            shape=(n_features, len(features)),
        )
        found = sp.csr_matrix(thin + up @ dense)
        found.eliminate_zeros()
        found.sort_indices()
        return found

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the weights as arrays for a model file, without zeros."""
        matrix = self.matrix()
        ends = matrix.indptr.astype(np.int64)
        return {"w.ends": ends, "w.nodes": matrix.indices.astype(np.int32), "w": matrix.data}

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_features: int, n_nodes: int) -> SparseWeights:
        """Return what `arrays` wrote; refuse what it cannot have written."""
        ends = arrays.take("w.ends", (n_features + 1,), np.int64, 0)
        nodes = arrays.take("w.nodes", (None,), np.int32, 0, n_nodes)
        values = arrays.take("w", (len(nodes),))
        if ends[0] != 0 or ends[-1] != len(nodes) or (np.diff(ends) < 0).any():
            raise ValueError("array 'w.ends' must rise from 0 to the number of weights")
        found = sp.csr_matrix((values, nodes, ends), shape=(n_features, n_nodes))
        found.sort_indices()
        twice = np.flatnonzero(np.diff(found.indices) == 0)
        if np.isin(twice + 1, ends, invert=True).any():
            raise ValueError("array 'w.nodes' has a node twice in a row")
        return cls.of_matrix(found)

    # -- growing ---------------------------------------------------------------------------------

    def grow(self, n_cells: int, n_dense: int) -> None:
        """Make room for so many more cells and dense rows, and some for each row in reserve."""
        rows = self.rows
        room = rows.count + rows.count // RESERVE + np.minimum(rows.count, 4)
        n_free = n_cells + int(room.sum()) // RESERVE
        n_used = int(rows.used[1])
        height = len(rows.dense)
        if n_used + n_dense > height:
            height = n_used + n_dense + n_used // 8
        self.rows = self._packed(rows.count, room, n_free, height)

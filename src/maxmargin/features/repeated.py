"""Rows of a matrix that many parts share: each part names its row, and no row is copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    add_combination,
    add_outer,
    add_row,
    add_scores,
    as_matrix,
    clear_row,
    implements,
    row_product,
    row_sizes,
    score_few,
    score_rows,
    squared_norms,
)
from maxmargin.features.rows import as_features, frozen


@dataclass(frozen=True)
class RepeatedRows:
    """A matrix whose row t is row ``of[t]`` of another one, dense or CSR.

    Examples
    --------
    >>> RepeatedRows(np.eye(2), [0, 0, 1]).shape
    (3, 2)
    """

    matrix: Any
    of: Any

    def __post_init__(self) -> None:
        rows = np.asarray(self.of)
        n = self.matrix.shape[0]
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise ValueError("RepeatedRows: of must be a sequence of numbers of rows.")
        if len(rows) and not (rows.min() >= 0 and rows.max() < n):
            raise ValueError(f"RepeatedRows: of must name rows from 0 to {n - 1}.")
        if isinstance(self.matrix, RepeatedRows):  # name the rows of the matrix behind it
            rows = self.matrix.of[rows]
            object.__setattr__(self, "matrix", self.matrix.matrix)
        object.__setattr__(self, "of", frozen(rows, np.int64))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, each counted as often as it is named, and of columns."""
        return len(self.of), self.matrix.shape[1]

    @property
    def dtype(self) -> Any:
        """Type of the numbers."""
        return self.matrix.dtype

    def __len__(self) -> int:
        return len(self.of)

    def toarray(self) -> np.ndarray:
        """Return all rows as a dense matrix."""
        rows = self.matrix[self.of]
        return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.toarray(), dtype=dtype)


class Repeated(NamedTuple):
    """Row t is row row_of[t] of other features."""

    rows: Any  # Dense or Csr
    row_of: Any  # (n_rows,) int64

    @classmethod
    def takes(cls, X: Any) -> bool:
        """Tell whether X is such a matrix."""
        return isinstance(X, RepeatedRows)

    @classmethod
    def of(cls, X: RepeatedRows) -> Repeated:
        """Return its rows, without a copy."""
        return cls(as_features(X.matrix), X.of)


@implements(add_scores, Repeated)
def _add_scores_repeated(features, first, n_rows, scale, W, out):
    for t in range(n_rows):
        add_scores(features.rows, features.row_of[first + t], 1, scale, W, out[t : t + 1])


@implements(add_row, Repeated)
def _add_row_repeated(features, row, label, scale, W):
    add_row(features.rows, features.row_of[row], label, scale, W)


@implements(clear_row, Repeated)
def _clear_row_repeated(features, row, label, W):
    clear_row(features.rows, features.row_of[row], label, W)


@implements(add_outer, Repeated)
def _add_outer_repeated(features, row, mass, scale, W):
    add_outer(features.rows, features.row_of[row], mass, scale, W)


@implements(score_few, Repeated)
def _score_few_repeated(features, row, labels, place, n_few, W, out):
    score_few(features.rows, features.row_of[row], labels, place, n_few, W, out)


@implements(score_rows, Repeated)
def _score_rows_repeated(features, first, n_rows, scale, w, out):
    for t in range(n_rows):
        score_rows(features.rows, features.row_of[first + t], 1, scale, w, out[t : t + 1])


@implements(add_combination, Repeated)
def _add_combination_repeated(features, first, weights, w):
    for t in range(weights.shape[0]):
        add_combination(features.rows, features.row_of[first + t], weights[t : t + 1], w)


@implements(row_product, Repeated)
def _row_product_repeated(features, row, other):
    return row_product(features.rows, features.row_of[row], features.row_of[other])


@implements(as_matrix, Repeated)
def _as_matrix_repeated(features, n_columns):
    return as_matrix(features.rows, n_columns)[features.row_of]


@implements(squared_norms, Repeated)
def _squared_norms_repeated(features):
    return squared_norms(features.rows)[features.row_of]


@implements(row_sizes, Repeated)
def _row_sizes_repeated(features):
    return row_sizes(features.rows)[features.row_of]

"""Rows of a sparse matrix in CSR form, never copied, never written to.

Values may be float32, but all arithmetic is in double precision. Each product converts its values
to float64 explicitly: in plain Python a number times a numpy float32 is a float32, although
compiled code makes it a float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.core.contract import (
    add_columns,
    add_combination,
    add_outer,
    add_row,
    add_scores,
    as_matrix,
    clear_row,
    implements,
    row_product,
    row_sizes,
    scaled_columns,
    score_few,
    score_rows,
    squared_norms,
)
from maxmargin.features.rows import float_type, frozen


class Csr(NamedTuple):
    """A sparse matrix in CSR form; the indices of a row are sorted and distinct."""

    values: Any  # (n_stored,) float64 or float32
    indices: Any  # (n_stored,) int32
    indptr: Any  # (n_rows + 1,) int64

    @classmethod
    def takes(cls, X: Any) -> bool:
        """Tell whether X is a sparse matrix."""
        return bool(sp.issparse(X))

    @classmethod
    def of(cls, X: Any) -> Csr:
        """Return the rows of a CSR matrix, without a copy where its types allow it."""
        indices, indptr = frozen(X.indices, np.int32), frozen(X.indptr, np.int64)
        return cls(frozen(X.data, float_type(X)), indices, indptr)


@implements(add_scores, Csr)
def _add_scores_csr(features, first, n_rows, scale, W, out):
    values, indices = features.values, features.indices
    for t in range(n_rows):
        entry, end = features.indptr[first + t], features.indptr[first + t + 1]
        while entry + 4 <= end:
            x0, x1 = scale * np.float64(values[entry]), scale * np.float64(values[entry + 1])
            x2, x3 = scale * np.float64(values[entry + 2]), scale * np.float64(values[entry + 3])
            f0, f1 = indices[entry], indices[entry + 1]
            f2, f3 = indices[entry + 2], indices[entry + 3]
            for k in range(out.shape[1]):
                out[t, k] += (x0 * W[f0, k] + x1 * W[f1, k]) + (x2 * W[f2, k] + x3 * W[f3, k])
            entry += 4
        while entry < end:
            x0 = scale * np.float64(values[entry])
            f0 = indices[entry]
            for k in range(out.shape[1]):
                out[t, k] += x0 * W[f0, k]
            entry += 1


@implements(add_row, Csr)
def _add_row_csr(features, row, label, scale, W):
    for entry in range(features.indptr[row], features.indptr[row + 1]):
        W[features.indices[entry], label] += scale * np.float64(features.values[entry])


@implements(add_columns, Csr)
def _add_columns_csr(features, row, cells, at, n_cells, scale, weights, W):
    for entry in range(features.indptr[row], features.indptr[row + 1]):
        x = scale * np.float64(features.values[entry])
        f = features.indices[entry]
        for place in range(at, at + n_cells):
            cell = cells[place]
            if cell >= 0:
                W[f, cell] += x * weights[cell]
            else:
                W[f, -1 - cell] -= x * weights[-1 - cell]


@implements(clear_row, Csr)
def _clear_row_csr(features, row, label, W):
    for entry in range(features.indptr[row], features.indptr[row + 1]):
        W[features.indices[entry], label] = 0.0


@implements(add_outer, Csr)
def _add_outer_csr(features, row, mass, scale, W):
    for entry in range(features.indptr[row], features.indptr[row + 1]):
        x = scale * np.float64(features.values[entry])
        f = features.indices[entry]
        for k in range(mass.shape[0]):
            W[f, k] += x * mass[k]


@implements(score_few, Csr)
def _score_few_csr(features, row, labels, place, n_few, W, out):
    values, indices = features.values, features.indices
    first, end = features.indptr[row], features.indptr[row + 1]
    fours_end = end - (end - first) % 4
    for a in range(n_few):
        label = labels[place, a]
        sum0 = sum1 = sum2 = sum3 = 0.0
        for e in range(first, fours_end, 4):
            sum0 += np.float64(values[e]) * W[indices[e], label]
            sum1 += np.float64(values[e + 1]) * W[indices[e + 1], label]
            sum2 += np.float64(values[e + 2]) * W[indices[e + 2], label]
            sum3 += np.float64(values[e + 3]) * W[indices[e + 3], label]
        for e in range(fours_end, end):
            sum0 += np.float64(values[e]) * W[indices[e], label]
        out[a] = (sum0 + sum1) + (sum2 + sum3)


@implements(score_rows, Csr)
def _score_rows_csr(features, first, n_rows, scale, w, out):
    for t in range(n_rows):
        total = 0.0
        for entry in range(features.indptr[first + t], features.indptr[first + t + 1]):
            total += np.float64(features.values[entry]) * w[features.indices[entry]]
        out[t] = scale * total


@implements(add_combination, Csr)
def _add_combination_csr(features, first, weights, w):
    for t in range(weights.shape[0]):
        weight = weights[t]
        if weight != 0.0:
            for entry in range(features.indptr[first + t], features.indptr[first + t + 1]):
                w[features.indices[entry]] += weight * np.float64(features.values[entry])


@implements(row_product, Csr)
def _row_product_csr(features, row, other):
    total = 0.0
    a, a_end = features.indptr[row], features.indptr[row + 1]
    b, b_end = features.indptr[other], features.indptr[other + 1]
    while a < a_end and b < b_end:
        if features.indices[a] < features.indices[b]:
            a += 1
        elif features.indices[a] > features.indices[b]:
            b += 1
        else:
            total += np.float64(features.values[a]) * features.values[b]
            a += 1
            b += 1
    return total


@implements(as_matrix, Csr)
def _as_matrix_csr(features, n_columns):
    parts = (features.values, features.indices, features.indptr)
    return sp.csr_matrix(parts, shape=(len(features.indptr) - 1, n_columns))


@implements(squared_norms, Csr)
def _squared_norms_csr(features):
    squares = np.append(np.square(features.values, dtype=np.float64), 0.0)
    sums = np.add.reduceat(squares, features.indptr[:-1])
    return np.where(np.diff(features.indptr) > 0, sums, 0.0)


@implements(row_sizes, Csr)
def _row_sizes_csr(features):
    return np.diff(features.indptr).astype(np.float64)


@implements(scaled_columns, Csr)
def _scaled_columns_csr(features, factors):
    factor = factors.astype(features.values.dtype)[features.indices]
    return features._replace(values=frozen(features.values * factor, features.values.dtype))

"""Rows of a dense matrix, never copied, never written to.

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


class Dense(NamedTuple):
    """A C-ordered matrix with one row per position."""

    values: Any  # (n_rows, n_columns) float64 or float32

    @classmethod
    def takes(cls, X: Any) -> bool:
        """Tell whether X is a dense matrix."""
        return not sp.issparse(X)

    @classmethod
    def of(cls, X: Any) -> Dense:
        """Return the rows of a matrix, without a copy if it is C-ordered."""
        return cls(frozen(X, float_type(X)))


@implements(add_scores, Dense)
def _add_scores_dense(features, first, n_rows, scale, W, out):
    # Add four features at a time, so that `out` is read and written a quarter as often. Skip
    # zeros: pixels and one-hot columns have many.
    n_columns = features.values.shape[1]
    for t in range(n_rows):
        f = 0
        while f < n_columns:
            n_found = 0
            f0 = f1 = f2 = f3 = 0
            x0 = x1 = x2 = x3 = 0.0
            while f < n_columns and n_found < 4:
                x = features.values[first + t, f]
                if x != 0.0:
                    f0, f1, f2, f3 = f1, f2, f3, f
                    x0, x1, x2, x3 = x1, x2, x3, scale * np.float64(x)
                    n_found += 1
                f += 1
            for k in range(out.shape[1]):
                out[t, k] += (x0 * W[f0, k] + x1 * W[f1, k]) + (x2 * W[f2, k] + x3 * W[f3, k])


@implements(add_row, Dense)
def _add_row_dense(features, row, label, scale, W):
    for f in range(features.values.shape[1]):
        x = features.values[row, f]
        if x != 0.0:
            W[f, label] += scale * np.float64(x)


@implements(add_columns, Dense)
def _add_columns_dense(features, row, cells, at, n_cells, scale, weights, W):
    # Four features at a time, so that cells are read a quarter as often; the others are zeros of
    # the first feature. Skip zeros.
    n_columns = features.values.shape[1]
    f = 0
    while f < n_columns:
        n_found = 0
        f0 = f1 = f2 = f3 = 0
        x0 = x1 = x2 = x3 = 0.0
        while f < n_columns and n_found < 4:
            x = features.values[row, f]
            if x != 0.0:
                f0, f1, f2, f3 = f1, f2, f3, f
                x0, x1, x2, x3 = x1, x2, x3, scale * np.float64(x)
                n_found += 1
            f += 1
        for place in range(at, at + n_cells):
            cell = cells[place]
            c = cell if cell >= 0 else -1 - cell
            mass = weights[c] if cell >= 0 else -weights[c]
            W[f0, c] += x0 * mass
            W[f1, c] += x1 * mass
            W[f2, c] += x2 * mass
            W[f3, c] += x3 * mass


@implements(clear_row, Dense)
def _clear_row_dense(features, row, label, W):
    for f in range(features.values.shape[1]):
        W[f, label] = 0.0


@implements(add_outer, Dense)
def _add_outer_dense(features, row, mass, scale, W):
    for f in range(features.values.shape[1]):
        x = scale * np.float64(features.values[row, f])
        if x != 0.0:
            for k in range(mass.shape[0]):
                W[f, k] += x * mass[k]


@implements(score_few, Dense)
def _score_few_dense(features, row, labels, place, n_few, W, out):
    values = features.values
    n_columns = values.shape[1]
    n_fours = n_columns - n_columns % 4
    for a in range(n_few):
        label = labels[place, a]
        sum0 = sum1 = sum2 = sum3 = 0.0
        for f in range(0, n_fours, 4):
            sum0 += np.float64(values[row, f]) * W[f, label]
            sum1 += np.float64(values[row, f + 1]) * W[f + 1, label]
            sum2 += np.float64(values[row, f + 2]) * W[f + 2, label]
            sum3 += np.float64(values[row, f + 3]) * W[f + 3, label]
        for f in range(n_fours, n_columns):
            sum0 += np.float64(values[row, f]) * W[f, label]
        out[a] = (sum0 + sum1) + (sum2 + sum3)


@implements(score_rows, Dense)
def _score_rows_dense(features, first, n_rows, scale, w, out):
    # Keep four sums, so that no addition waits for the one before it.
    values = features.values
    n_columns = values.shape[1]
    n_fours = n_columns - n_columns % 4
    for t in range(n_rows):
        row = first + t
        sum0 = sum1 = sum2 = sum3 = 0.0
        for f in range(0, n_fours, 4):
            sum0 += np.float64(values[row, f]) * w[f]
            sum1 += np.float64(values[row, f + 1]) * w[f + 1]
            sum2 += np.float64(values[row, f + 2]) * w[f + 2]
            sum3 += np.float64(values[row, f + 3]) * w[f + 3]
        for f in range(n_fours, n_columns):
            sum0 += np.float64(values[row, f]) * w[f]
        out[t] = scale * ((sum0 + sum1) + (sum2 + sum3))


@implements(add_combination, Dense)
def _add_combination_dense(features, first, weights, w):
    values = features.values
    for t in range(weights.shape[0]):
        weight = weights[t]
        if weight != 0.0:
            for f in range(values.shape[1]):
                w[f] += weight * np.float64(values[first + t, f])


@implements(row_product, Dense)
def _row_product_dense(features, row, other):
    # Keep four sums, so that no addition waits for the one before it. They are float64 even if the
    # features are float32.
    values = features.values
    n_columns = values.shape[1]
    n_fours = n_columns - n_columns % 4
    sum0 = sum1 = sum2 = sum3 = 0.0
    for f in range(0, n_fours, 4):
        sum0 += np.float64(values[row, f]) * values[other, f]
        sum1 += np.float64(values[row, f + 1]) * values[other, f + 1]
        sum2 += np.float64(values[row, f + 2]) * values[other, f + 2]
        sum3 += np.float64(values[row, f + 3]) * values[other, f + 3]
    for f in range(n_fours, n_columns):
        sum0 += np.float64(values[row, f]) * values[other, f]
    return (sum0 + sum1) + (sum2 + sum3)


@implements(as_matrix, Dense)
def _as_matrix_dense(features, n_columns):
    return features.values


@implements(squared_norms, Dense)
def _squared_norms_dense(features):
    return np.einsum("ij,ij->i", features.values, features.values, dtype=np.float64)


@implements(row_sizes, Dense)
def _row_sizes_dense(features):
    return np.full(features.values.shape[0], float(features.values.shape[1]))


@implements(scaled_columns, Dense)
def _scaled_columns_dense(features, factors):
    return Dense.of(features.values * factors.astype(features.values.dtype))

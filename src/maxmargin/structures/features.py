"""The rows of X: dense or CSR, never copied, never written to.

They may be float32, but are worked with in double precision: said at each product, since a Python
number times a numpy float32 is a float32, though compiled code makes it a float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.generic import (
    add_combination,
    add_outer,
    add_row,
    add_scores,
    clear_row,
    implements,
    row_product,
    score_few,
    score_rows,
)


class Dense(NamedTuple):
    """A C-ordered matrix, one row a position."""

    values: Any  # (n_rows, n_columns) float64 or float32


class Csr(NamedTuple):
    """A sparse matrix in compressed rows, indices sorted and distinct within a row."""

    values: Any  # (n_stored,) float64 or float32
    indices: Any  # (n_stored,) int32
    indptr: Any  # (n_rows + 1,) int64


def frozen(array: Any, dtype: Any) -> np.ndarray:
    """Return a read-only C-ordered view of an array (a copy only if order or type must change).

    Compiled code tells writeable from read-only arrays by type. All of ours being read-only, a
    memory map from joblib compiles nothing anew.
    """
    view = np.ascontiguousarray(array, dtype=dtype).view(np.ndarray)
    view = view[...]
    view.flags.writeable = False
    return view


def check_labels(labels: Any, n_rows: int, n_labels: int) -> None:
    """Refuse labels that compiled code, which does not check bounds, must not be given."""
    labels = np.asarray(labels)
    if labels.shape != (n_rows,):
        raise ValueError(f"There must be {n_rows} labels, a row of X each; got {labels.shape}.")
    if len(labels) and not (labels.min() >= 0 and labels.max() < n_labels):
        raise ValueError(
            f"Labels must be encoded as 0 to {n_labels - 1}; got {labels.min()} to {labels.max()}."
        )


def as_features(X: Any) -> Dense | Csr:
    """Wrap a validated dense matrix or CSR matrix."""
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    if sp.issparse(X):
        return Csr(frozen(X.data, dtype), frozen(X.indices, np.int32), frozen(X.indptr, np.int64))
    return Dense(frozen(X, dtype))


@implements(add_scores, Dense)
def _add_scores_dense(features, first, n_rows, scale, W, out):
    # Four features at a time: the scores are read and written a quarter as often. Zeros are worth
    # skipping, pixels and one-hot columns have many.
    n_columns = features.values.shape[1]
    for t in range(n_rows):
        f = 0
        while f < n_columns:
            n_found = 0
            f0 = f1 = f2 = f3 = 0
            x0 = x1 = x2 = x3 = 0.0
            while f < n_columns and n_found < 4:
                x = np.float64(features.values[first + t, f])
                if x != 0.0:
                    f0, f1, f2, f3 = f1, f2, f3, f
                    x0, x1, x2, x3 = x1, x2, x3, scale * x
                    n_found += 1
                f += 1
            for k in range(out.shape[1]):
                out[t, k] += (x0 * W[f0, k] + x1 * W[f1, k]) + (x2 * W[f2, k] + x3 * W[f3, k])


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


@implements(add_row, Dense)
def _add_row_dense(features, row, label, scale, W):
    for f in range(features.values.shape[1]):
        x = np.float64(features.values[row, f])
        if x != 0.0:
            W[f, label] += scale * x


@implements(add_row, Csr)
def _add_row_csr(features, row, label, scale, W):
    for entry in range(features.indptr[row], features.indptr[row + 1]):
        W[features.indices[entry], label] += scale * np.float64(features.values[entry])


@implements(clear_row, Dense)
def _clear_row_dense(features, row, label, W):
    for f in range(features.values.shape[1]):
        W[f, label] = 0.0


@implements(clear_row, Csr)
def _clear_row_csr(features, row, label, W):
    for entry in range(features.indptr[row], features.indptr[row + 1]):
        W[features.indices[entry], label] = 0.0


@implements(add_outer, Dense)
def _add_outer_dense(features, row, mass, scale, W):
    for f in range(features.values.shape[1]):
        x = scale * np.float64(features.values[row, f])
        if x != 0.0:
            for k in range(mass.shape[0]):
                W[f, k] += x * mass[k]


@implements(add_outer, Csr)
def _add_outer_csr(features, row, mass, scale, W):
    for entry in range(features.indptr[row], features.indptr[row + 1]):
        x = scale * np.float64(features.values[entry])
        f = features.indices[entry]
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


@implements(score_rows, Dense)
def _score_rows_dense(features, first, n_rows, scale, w, out):
    # Four sums, so that one addition need not wait for another.
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


@implements(score_rows, Csr)
def _score_rows_csr(features, first, n_rows, scale, w, out):
    for t in range(n_rows):
        total = 0.0
        for entry in range(features.indptr[first + t], features.indptr[first + t + 1]):
            total += np.float64(features.values[entry]) * w[features.indices[entry]]
        out[t] = scale * total


@implements(add_combination, Dense)
def _add_combination_dense(features, first, weights, w):
    values = features.values
    for t in range(weights.shape[0]):
        weight = weights[t]
        if weight != 0.0:
            for f in range(values.shape[1]):
                w[f] += weight * np.float64(values[first + t, f])


@implements(add_combination, Csr)
def _add_combination_csr(features, first, weights, w):
    for t in range(weights.shape[0]):
        weight = weights[t]
        if weight != 0.0:
            for entry in range(features.indptr[first + t], features.indptr[first + t + 1]):
                w[features.indices[entry]] += weight * np.float64(features.values[entry])


@implements(row_product, Dense)
def _row_product_dense(features, row, other):
    # Four sums, so that one addition need not wait for another. In double precision also where
    # the features are not.
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


def squared_norms(features: Dense | Csr) -> np.ndarray:
    """Return |x|^2 of every row."""
    values = features.values
    if isinstance(features, Dense):
        return np.einsum("ij,ij->i", values, values, dtype=np.float64)
    squares = np.append(np.square(values, dtype=np.float64), 0.0)
    sums = np.add.reduceat(squares, features.indptr[:-1])
    return np.where(np.diff(features.indptr) > 0, sums, 0.0)


def row_lengths(features: Dense | Csr) -> tuple[np.ndarray, np.ndarray]:
    """Return |x| of every row, and how many numbers it has."""
    with np.errstate(over="ignore"):
        lengths = np.sqrt(squared_norms(features))
    if isinstance(features, Dense):
        return lengths, np.full(len(lengths), float(features.values.shape[1]))
    return lengths, np.diff(features.indptr).astype(np.float64)

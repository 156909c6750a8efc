"""The rows of X: dense or CSR, never copied, never written to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.generic import add_row, add_scores, implements, row_product


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


def as_features(X: Any) -> Dense | Csr:
    """Wrap a validated dense matrix or CSR matrix."""
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    if sp.issparse(X):
        return Csr(frozen(X.data, dtype), frozen(X.indices, np.int32), frozen(X.indptr, np.int64))
    return Dense(frozen(X, dtype))


@implements(add_scores, Dense)
def _add_scores_dense(features, first, n_rows, scale, w, n_labels, out):
    for t in range(n_rows):
        for f in range(features.values.shape[1]):
            x = scale * features.values[first + t, f]
            if x != 0.0:
                base = f * n_labels
                for k in range(n_labels):
                    out[t, k] += x * w[base + k]


@implements(add_scores, Csr)
def _add_scores_csr(features, first, n_rows, scale, w, n_labels, out):
    for t in range(n_rows):
        for entry in range(features.indptr[first + t], features.indptr[first + t + 1]):
            x = scale * features.values[entry]
            base = np.int64(features.indices[entry]) * n_labels
            for k in range(n_labels):
                out[t, k] += x * w[base + k]


@implements(add_row, Dense)
def _add_row_dense(features, row, label, scale, w, n_labels):
    for f in range(features.values.shape[1]):
        x = features.values[row, f]
        if x != 0.0:
            w[f * n_labels + label] += scale * x


@implements(add_row, Csr)
def _add_row_csr(features, row, label, scale, w, n_labels):
    for entry in range(features.indptr[row], features.indptr[row + 1]):
        w[np.int64(features.indices[entry]) * n_labels + label] += scale * features.values[entry]


@implements(row_product, Dense)
def _row_product_dense(features, row, other):
    total = 0.0
    for f in range(features.values.shape[1]):
        # In double precision also where the features are not.
        total += np.float64(features.values[row, f]) * features.values[other, f]
    return total


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

"""Rows of a sparse matrix whose numbers are all 1, which are then not kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

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
from maxmargin.features.rows import frozen


class Ones(NamedTuple):
    """Where the ones are, in compressed rows, indices sorted and distinct within a row."""

    indices: Any  # (n_stored,) int32
    indptr: Any  # (n_rows + 1,) int64

    @classmethod
    def takes(cls, X: Any) -> bool:
        """Tell whether a matrix can be held so."""
        return bool(sp.issparse(X) and (X.data == 1.0).all())

    @classmethod
    def of(cls, X: Any) -> Ones:
        """Wrap a CSR matrix."""
        return cls(frozen(X.indices, np.int32), frozen(X.indptr, np.int64))


@implements(add_scores, Ones)
def _add_scores(features, first, n_rows, scale, W, out):
    for t in range(n_rows):
        for entry in range(features.indptr[first + t], features.indptr[first + t + 1]):
            for k in range(out.shape[1]):
                out[t, k] += scale * W[features.indices[entry], k]


@implements(add_row, Ones)
def _add_row(features, row, label, scale, W):
    for entry in range(features.indptr[row], features.indptr[row + 1]):
        W[features.indices[entry], label] += scale


@implements(clear_row, Ones)
def _clear_row(features, row, label, W):
    for entry in range(features.indptr[row], features.indptr[row + 1]):
        W[features.indices[entry], label] = 0.0


@implements(add_outer, Ones)
def _add_outer(features, row, mass, scale, W):
    for entry in range(features.indptr[row], features.indptr[row + 1]):
        for k in range(mass.shape[0]):
            W[features.indices[entry], k] += scale * mass[k]


@implements(score_few, Ones)
def _score_few(features, row, labels, place, n_few, W, out):
    for a in range(n_few):
        out[a] = 0.0
        for entry in range(features.indptr[row], features.indptr[row + 1]):
            out[a] += W[features.indices[entry], labels[place, a]]


@implements(score_rows, Ones)
def _score_rows(features, first, n_rows, scale, w, out):
    for t in range(n_rows):
        out[t] = 0.0
        for entry in range(features.indptr[first + t], features.indptr[first + t + 1]):
            out[t] += scale * w[features.indices[entry]]


@implements(add_combination, Ones)
def _add_combination(features, first, weights, w):
    for t in range(weights.shape[0]):
        for entry in range(features.indptr[first + t], features.indptr[first + t + 1]):
            w[features.indices[entry]] += weights[t]


@implements(row_product, Ones)
def _row_product(features, row, other):
    total = 0.0
    b, b_end = features.indptr[other], features.indptr[other + 1]
    for a in range(features.indptr[row], features.indptr[row + 1]):
        while b < b_end and features.indices[b] < features.indices[a]:
            b += 1
        if b < b_end and features.indices[b] == features.indices[a]:
            total += 1.0
    return total


@implements(as_matrix, Ones)
def _as_matrix(features, n_columns):
    parts = (np.ones(len(features.indices)), features.indices, features.indptr)
    return sp.csr_matrix(parts, shape=(len(features.indptr) - 1, n_columns))


@implements(squared_norms, Ones)
def _squared_norms(features):
    return row_sizes(features)


@implements(row_sizes, Ones)
def _row_sizes(features):
    return np.diff(features.indptr).astype(np.float64)

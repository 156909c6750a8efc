"""Writing svmlight files, with or without queries."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from maxmargin.io.replace import atomic_write

__all__ = ["write_svmlight"]

_ROWS = 4096  # rows that are text at once


def write_svmlight(
    path: str | os.PathLike[str],
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    multilabel: bool = False,
    zero_based: bool = False,
) -> None:
    """Write features and labels as an svmlight file, replaced in one step; ``.gz`` compresses.

    Numbers are written so that reading gives the same ones; NaN, which stands for a value that is
    missing, as ``nan``. Zeros are left out.

    Parameters
    ----------
    path : path
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Numbers; with `multilabel` an indicator matrix of shape (n_samples, n_labels).
    qid : array of int of shape (n_samples,) or None, default None
        The query of each sample, for :func:`read_rankings`; y then holds grades, 0 or more.
    multilabel : bool, default False
    zero_based : bool, default False
        Whether indices count from 0.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.io import read_svmlight
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "tiny.svm")
    ...     write_svmlight(path, [[0.0, 2.0], [1.0, 0.0]], [1, 0])
    ...     read_svmlight(path)[0].toarray()
    array([[0., 2.],
           [1., 0.]])
    """
    if qid is not None and multilabel:
        raise ValueError("qid and multilabel=True exclude each other: a grade is one number.")
    X = _features(X)
    labels = _label_sets(y, X.shape[0]) if multilabel else _labels(y, X.shape[0])
    if qid is not None:
        queries = _check_queries(qid, np.asarray(y)).tolist()
        labels = [f"{label} qid:{query}" for label, query in zip(labels, queries, strict=True)]
    base = 0 if zero_based else 1
    with atomic_write(path) as file:
        for start in range(0, X.shape[0], _ROWS):
            rows = _rows(X[start : start + _ROWS], labels[start : start + _ROWS], base)
            file.write("".join(rows).encode("ascii"))


def _features(X: Any) -> csr_matrix:
    X = X if issparse(X) else np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"X must have two axes, samples and features, got shape {X.shape}.")
    X = csr_matrix(X, dtype=np.float64, copy=issparse(X))
    X.sum_duplicates()
    if np.isinf(X.data).any():
        e = int(np.flatnonzero(np.isinf(X.data))[0])
        i = int(np.searchsorted(X.indptr, e, side="right")) - 1
        raise ValueError(f"X[{i}, {X.indices[e]}] is {X.data[e]}, which is not a finite number.")
    return X


def _labels(y: Any, n: int) -> list[str]:
    y = np.asarray(y)
    if y.shape != (n,) or y.dtype.kind not in "biuf":
        raise ValueError(
            f"y must be {n} numbers, one for each row of X, got {y.dtype} of shape {y.shape}."
        )
    if y.dtype.kind != "f":
        return [str(int(label)) for label in y.tolist()]
    if not np.isfinite(y).all():
        i = int(np.flatnonzero(~np.isfinite(y))[0])
        raise ValueError(f"y[{i}] is {y[i]}, which is not a finite number.")
    return [_number(label) for label in y.tolist()]


def _label_sets(y: Any, n: int) -> list[str]:
    Y = csr_matrix(y)
    if Y.shape[0] != n:
        raise ValueError(f"y must be an indicator matrix of {n} rows, as X, got {Y.shape}.")
    Y.sum_duplicates()
    Y.eliminate_zeros()
    ends, places = Y.indptr.tolist(), Y.indices.tolist()
    return [",".join(map(str, places[a:b])) for a, b in pairwise(ends)]


def _rows(X: csr_matrix, labels: list[str], base: int) -> list[str]:
    indices, values, ends = (X.indices + base).tolist(), X.data.tolist(), X.indptr.tolist()
    rows = []
    for i, label in enumerate(labels):
        a, b = ends[i], ends[i + 1]
        pairs = zip(indices[a:b], values[a:b], strict=True)
        cells = [f" {k}:{_number(v)}" for k, v in pairs if v != 0]
        if not label and not cells:  # readers skip an empty line
            cells = [f" {base}:0"]
        rows.append(f"{label}{''.join(cells)}\n")
    return rows


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")


def _check_queries(qid: Any, grades: NDArray[Any]) -> NDArray[np.int64]:
    qid = np.asarray(qid)
    if qid.shape != grades.shape or qid.dtype.kind not in "iu":
        raise ValueError(
            f"qid must be whole numbers of the shape of y, {grades.shape}, got {qid.dtype} of "
            f"shape {qid.shape}."
        )
    if (grades < 0).any():
        i = int(np.flatnonzero(grades < 0)[0])
        raise ValueError(f"y[{i}] is {grades[i]}; the grade of a document is 0 or more.")
    if qid.dtype.kind == "u" and len(qid) and int(qid.max()) >= 2**63:
        raise ValueError(f"qid[{int(qid.argmax())}] is {qid.max()}, beyond what 64 bits hold.")
    return qid.astype(np.int64)

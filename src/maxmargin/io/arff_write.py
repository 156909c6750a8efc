"""Writing ARFF files with label sets, and the xml list of their labels."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from maxmargin.io.mulan import label_list
from maxmargin.io.replace import atomic_write

__all__ = ["write_arff"]

_BARE = re.compile(r"[A-Za-z0-9_][-A-Za-z0-9_.]*")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def write_arff(
    path: str | os.PathLike[str],
    X: Any,
    Y: Any = None,
    *,
    label_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    xml: str | os.PathLike[str] | None = None,
    relation: str = "data",
    sparse: bool | None = None,
) -> None:
    """Write features and label sets as an ARFF file, replaced in one step; ``.gz`` compresses.

    Features come first and are ``numeric``, labels come last and are ``{0,1}``. Numbers are written
    so that reading gives the same ones; NaN, a value that is missing, as ``?``.

    Parameters
    ----------
    path : path
    X : array or sparse matrix of shape (n_samples, n_features)
    Y : indicator matrix, array or sparse, of shape (n_samples, n_labels), or None
        0, 1, or -1 for unknown, which is written as ``?``.
    label_names, feature_names : sequence of str or None, default None
        None: y0, y1, ... and x0, x1, ...
    xml : path or None, default None
        Where to write the list of the labels, as Mulan has it. Neither file is written if one
        cannot be.
    relation : str, default "data"
    sparse : bool or None, default None
        Whether rows list only what is not 0. None: if X is sparse.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "tiny.arff")
    ...     write_arff(path, [[0.5, 2.0]], [[1, 0]], label_names=["happy", "quiet"], sparse=True)
    ...     print(open(path).read())
    @relation data
    @attribute x0 numeric
    @attribute x1 numeric
    @attribute happy {0,1}
    @attribute quiet {0,1}
    @data
    {0 0.5,1 2,2 1}
    """
    if sparse is None:
        sparse = issparse(X)
    X = _features(X)
    Y = _labels(Y, X.shape[0])
    features = _names("feature_names", feature_names, X.shape[1], "x")
    labels = _names("label_names", label_names, Y.shape[1], "y")
    both = set(features) & set(labels)
    if both:
        raise ValueError(f"{min(both)!r} is in feature_names and in label_names.")
    if xml is not None and not labels:
        raise ValueError("xml is given, but there are no labels.")
    listed = label_list(labels) if xml is not None else b""
    header = [
        f"@relation {_quote(relation)}",
        *(f"@attribute {_quote(name)} numeric" for name in features),
        *(f"@attribute {_quote(name)} {{0,1}}" for name in labels),
        "@data",
    ]
    rows = _sparse_rows(X, Y) if sparse else _dense_rows(X, Y)
    text = "".join(f"{line}\n" for line in header + rows).encode("utf-8")
    with atomic_write(path) as file, nullcontext() if xml is None else atomic_write(xml) as second:
        file.write(text)
        if second is not None:
            second.write(listed)


def _features(X: Any) -> csr_matrix:
    X = X if issparse(X) else np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X must hold samples and features in two dimensions, got {X.shape}.")
    X = csr_matrix(X, dtype=np.float64)
    if np.isinf(X.data).any():
        e = int(np.flatnonzero(np.isinf(X.data))[0])
        i = int(np.searchsorted(X.indptr, e, side="right")) - 1
        raise ValueError(f"X[{i}, {X.indices[e]}] is {X.data[e]}, which is not a finite number.")
    return X


def _labels(Y: Any, n: int) -> csr_matrix:
    if Y is None:
        return csr_matrix((n, 0), dtype=np.int64)
    Y = Y if issparse(Y) else np.asarray(Y)
    if Y.ndim != 2 or Y.shape[0] != n:
        raise ValueError(f"Y must be an indicator matrix of {n} rows, as X, got {Y.shape}.")
    Y = csr_matrix(Y)
    bad = ~np.isin(Y.data, (0, 1, -1))
    if bad.any():
        e = int(np.flatnonzero(bad)[0])
        i = int(np.searchsorted(Y.indptr, e, side="right")) - 1
        raise ValueError(f"Y[{i}, {Y.indices[e]}] is {Y.data[e]}; expected 0, 1 or -1.")
    return Y.astype(np.int64)


def _names(argument: str, names: Sequence[str] | None, n: int, letter: str) -> list[str]:
    if names is None:
        return [f"{letter}{k}" for k in range(n)]
    if len(names) != n:
        raise ValueError(f"{argument} has {len(names)} names for {n} columns.")
    for name in names:
        if not isinstance(name, str) or not name:
            raise ValueError(f"{argument} must be strings that are not empty, got {name!r}.")
    if len(set(names)) < n:
        raise ValueError(f"{argument} holds a name twice.")
    return list(names)


def _quote(name: str) -> str:
    if _BARE.fullmatch(name):
        return name
    return "'" + "".join(_ESCAPES.get(letter, letter) for letter in name) + "'"


def _number(value: float) -> str:
    return "?" if value != value else repr(value).removesuffix(".0")


def _label(value: int) -> str:
    return "?" if value < 0 else str(value)


def _dense_rows(X: csr_matrix, Y: csr_matrix) -> list[str]:
    pairs = zip(X.toarray(), Y.toarray(), strict=True)
    return [
        ",".join([_number(v) for v in x.tolist()] + [_label(v) for v in y.tolist()])
        for x, y in pairs
    ]


def _sparse_rows(X: csr_matrix, Y: csr_matrix) -> list[str]:
    for matrix in (X, Y):
        matrix.sum_duplicates()
    columns = (X.indices.tolist(), X.data.tolist(), Y.indices.tolist(), Y.data.tolist())
    x_places, x_values, y_places, y_values = columns
    n = X.shape[1]
    rows = []
    for i in range(X.shape[0]):
        x, y = slice(*X.indptr[i : i + 2]), slice(*Y.indptr[i : i + 2])
        pairs = zip(x_places[x], x_values[x], strict=True)
        cells = [f"{k} {_number(v)}" for k, v in pairs if v]
        pairs = zip(y_places[y], y_values[y], strict=True)
        cells += [f"{n + k} {_label(v)}" for k, v in pairs if v]
        rows.append("{" + ",".join(cells) + "}")
    return rows

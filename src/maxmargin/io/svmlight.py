"""svmlight files, ``label index:value index:value ...``, over scikit-learn's reader."""

from __future__ import annotations

import io
import math
import os
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from maxmargin.io.files import Source, atomic_write, numbered_lines, source_name

__all__ = ["read_svmlight", "write_svmlight"]


def read_svmlight(
    source: Source,
    *,
    n_features: int | None = None,
    multilabel: bool = False,
    zero_based: bool | str = "auto",
) -> tuple[csr_matrix, Any]:
    r"""Features and labels of an svmlight file, plain or gzipped.

    Parameters
    ----------
    source : path or file open for reading
    n_features : int or None, default None
        None: as many as occur. Give the number of the training file when reading a test file.
    multilabel : bool, default False
        True: each line has any number of labels, parted by commas.
    zero_based : bool or "auto", default "auto"
        Whether indices count from 0; "auto": they do if index 0 occurs.

    Returns
    -------
    X : csr_matrix of float64, shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Of int where all labels are whole numbers. With `multilabel` a list of tuples of int.

    Raises
    ------
    ValueError
        Naming file and line, for what cannot be read: a label or value that is no finite number,
        indices that do not increase, an index beyond `n_features`.

    Examples
    --------
    >>> import io
    >>> X, y = read_svmlight(io.BytesIO(b"1 1:.5 3:2\n-1 2:1\n"))
    >>> X.toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]])
    >>> y
    array([ 1, -1])
    >>> read_svmlight(io.BytesIO(b"1 1:.5\n1 2:x\n"))
    Traceback (most recent call last):
        ...
    ValueError: <stream>, line 2: expected index:number, got '2:x'.
    """
    name = source_name(source)
    lines = list(numbered_lines(source))
    text = "\n".join(line for _, line in lines).encode("utf-8")
    try:
        X, y = load_svmlight_file(
            io.BytesIO(text), n_features=n_features, multilabel=multilabel, zero_based=zero_based
        )
    except (ValueError, OverflowError) as error:
        # The reader does not say where; only a file that failed is worth a second, slow look.
        _find_bad_line(name, lines, n_features, multilabel, zero_based)
        raise ValueError(f"{name}: {error}") from None
    if X.shape[0] == 0:
        raise ValueError(f"{name}: holds no sample.")
    if not np.isfinite(X.data).all() or not (multilabel or np.isfinite(y).all()):
        _find_bad_line(name, lines, n_features, multilabel, zero_based)
    if multilabel:
        return X, [tuple(int(label) for label in labels) for labels in y]
    return X, y.astype(np.int64) if (y == np.floor(y)).all() else y


def _find_bad_line(
    name: str,
    lines: list[tuple[int, str]],
    n_features: int | None,
    multilabel: bool,
    zero_based: bool | str,
) -> None:
    """Raise ValueError for the first line that is at fault, if one alone is."""
    lowest = 1 if zero_based is False else 0
    top = math.inf if n_features is None else n_features - (0 if lowest else 1)
    if zero_based == "auto" and n_features is not None:
        top = n_features  # whether n_features itself is too far depends on another line's 0
    for number, line in lines:
        problem = _fault(line.partition("#")[0].split(), lowest, top, multilabel)
        if problem:
            raise ValueError(f"{name}, line {number}: {problem}")


def _fault(pieces: list[str], lowest: int, top: float, multilabel: bool) -> str | None:
    if not pieces:
        return None
    if ":" in pieces[0] and not multilabel:
        return f"expected a label first, got {pieces[0]!r}."
    head = [] if ":" in pieces[0] else pieces[:1]
    for label in head[0].split(",") if multilabel and head else head:
        if not math.isfinite(_number(label)):
            return f"the label {label!r} is not a finite number."
    before = -1
    for piece in pieces[len(head) :]:
        index, colon, value = piece.partition(":")
        if index == "qid":
            continue
        if not colon or not index.lstrip("-").isdigit() or math.isnan(_number(value)):
            return f"expected index:number, got {piece!r}."
        if not lowest <= int(index) <= top:
            return f"the index of {piece!r} is outside {lowest}..{top:g}."
        if int(index) <= before:
            return f"the index of {piece!r} does not exceed the one before, {before}."
        if math.isinf(_number(value)):
            return f"the value of {piece!r} is not finite."
        before = int(index)
    return None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def write_svmlight(
    path: str | os.PathLike[str],
    X: Any,
    y: Any,
    *,
    multilabel: bool = False,
    zero_based: bool = False,
) -> None:
    """Write features and labels as an svmlight file, replaced in one step; ``.gz`` compresses.

    Values have 16 significant digits, which may miss the last bit of a float64.

    Parameters
    ----------
    path : path
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Numbers; with `multilabel` an indicator matrix of shape (n_samples, n_labels).
    multilabel : bool, default False
    zero_based : bool, default False
        Whether indices count from 0.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "tiny.svm")
    ...     write_svmlight(path, [[0.0, 2.0], [1.0, 0.0]], [1, 0])
    ...     read_svmlight(path)[0].toarray()
    array([[0., 2.],
           [1., 0.]])
    """
    buffer = io.BytesIO()
    dump_svmlight_file(X, y, buffer, zero_based=zero_based, multilabel=multilabel)
    with atomic_write(path) as file:
        file.write(buffer.getvalue())

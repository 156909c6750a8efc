"""svmlight files, ``label index:value index:value ...``, over scikit-learn's reader.

Rankings (LETOR, MSLR) are svmlight with the number of a query: ``grade qid:3 index:value ...``.
"""

from __future__ import annotations

import io
import math
import os
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from maxmargin.io.files import Source, atomic_write, numbered_lines, source_name

__all__ = ["RankingData", "read_rankings", "read_svmlight", "write_svmlight"]

_WHOLE = re.compile(r"[-+]?[0-9]+")


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
    X, y, _ = _load(source, _Dialect(n_features, zero_based, multilabel))
    if multilabel:
        return X, [tuple(int(label) for label in labels) for labels in y]
    return X, _whole(y)


class RankingData(NamedTuple):
    """The documents of queries, one a row.

    Attributes
    ----------
    X : csr_matrix of float64, shape (n_documents, n_features)
    grades : ndarray of shape (n_documents,)
        How relevant each document is to its query, 0 or more; int64 where all are whole numbers.
    qid : ndarray of int64, shape (n_documents,)
        The query of each document. Documents of one query need not follow one another.
    """

    X: csr_matrix
    grades: NDArray[Any]
    qid: NDArray[np.int64]


def read_rankings(
    source: Source, *, n_features: int | None = None, zero_based: bool | str = "auto"
) -> RankingData:
    r"""Documents, grades and queries of a file of LETOR or MSLR, plain or gzipped.

    A line is one document: ``grade qid:3 index:value index:value ... # comment``.

    Parameters
    ----------
    source : path or file open for reading
    n_features, zero_based
        As in :func:`read_svmlight`.

    Returns
    -------
    RankingData
        The tuple ``X, grades, qid``, rows in the order of the file. Zeros that the file writes out
        are not stored in X.

    Raises
    ------
    ValueError
        Naming file and line, for what :func:`read_svmlight` refuses, for a line without a whole
        number after ``qid:``, and for a grade below 0.

    Examples
    --------
    >>> import io
    >>> text = b"2 qid:7 1:.5 2:0 # the first document\n0 qid:7 2:1\n1 qid:9 1:3\n"
    >>> X, grades, qid = read_rankings(io.BytesIO(text))
    >>> X.toarray()
    array([[0.5, 0. ],
           [0. , 1. ],
           [3. , 0. ]])
    >>> grades, qid
    (array([2, 0, 1]), array([7, 7, 9]))
    >>> read_rankings(io.BytesIO(b"2 qid:7 1:.5\n0 2:1\n"))
    Traceback (most recent call last):
        ...
    ValueError: <stream>, line 2: expected qid:number after the grade, got '2:1'.
    """
    X, grades, qid = _load(source, _Dialect(n_features, zero_based, has_queries=True))
    X.eliminate_zeros()  # such files often write all features, and a third of them may be 0
    return RankingData(X, _whole(grades), qid)


@dataclass(frozen=True)
class _Dialect:
    """What a line may look like."""

    n_features: int | None
    zero_based: bool | str
    multilabel: bool = False
    has_queries: bool = False


def _load(source: Source, dialect: _Dialect) -> tuple[csr_matrix, Any, Any]:
    """Features, labels as floats (or tuples of floats), queries or None; all of it checked."""
    name = source_name(source)
    lines = list(numbered_lines(source))
    text = "\n".join(line for _, line in lines).encode("utf-8")
    try:
        X, y, *queries = load_svmlight_file(
            io.BytesIO(text),
            n_features=dialect.n_features,
            multilabel=dialect.multilabel,
            zero_based=dialect.zero_based,
            query_id=dialect.has_queries,
        )
    except (ValueError, OverflowError) as error:
        # The reader does not say where; only a file that failed is worth a second, slow look.
        _find_bad_line(name, lines, dialect)
        raise ValueError(f"{name}: {error}") from None
    if X.shape[0] == 0:
        raise ValueError(f"{name}: holds no sample.")
    is_good = np.isfinite(X.data).all() and (dialect.multilabel or np.isfinite(y).all())
    if dialect.has_queries:
        # The reader passes over a missing qid: there are then fewer of them than rows.
        is_good = is_good and len(queries[0]) == X.shape[0] and (y >= 0).all()
    if not is_good:
        _find_bad_line(name, lines, dialect)
    return X, y, queries[0] if queries else None


def _whole(labels: NDArray[np.float64]) -> NDArray[Any]:
    return labels.astype(np.int64) if (labels == np.floor(labels)).all() else labels


def _find_bad_line(name: str, lines: list[tuple[int, str]], dialect: _Dialect) -> None:
    """Raise ValueError for the first line that is at fault, if one alone is."""
    n_features = dialect.n_features
    lowest = 1 if dialect.zero_based is False else 0
    top = math.inf if n_features is None else n_features - (0 if lowest else 1)
    if dialect.zero_based == "auto" and n_features is not None:
        top = n_features  # whether n_features itself is too far depends on another line's 0
    for number, line in lines:
        problem = _fault(line.partition("#")[0].split(), lowest, top, dialect)
        if problem:
            raise ValueError(f"{name}, line {number}: {problem}")


def _fault(pieces: list[str], lowest: int, top: float, dialect: _Dialect) -> str | None:
    if not pieces:
        return None
    if ":" in pieces[0] and not dialect.multilabel:
        return f"expected a label first, got {pieces[0]!r}."
    head = [] if ":" in pieces[0] else pieces[:1]
    for label in head[0].split(",") if dialect.multilabel and head else head:
        if not math.isfinite(_number(label)):
            return f"the label {label!r} is not a finite number."
    rest = pieces[len(head) :]
    query = rest.pop(0) if rest and rest[0].startswith("qid:") else None
    if dialect.has_queries:
        if _number(head[0]) < 0:
            return f"the grade {head[0]!r} is below 0."
        if query is None:
            found = repr(rest[0]) if rest else "nothing"
            return f"expected qid:number after the grade, got {found}."
        if not _WHOLE.fullmatch(query[4:]) or not -(2**63) <= int(query[4:]) < 2**63:
            return f"expected a whole number after qid:, got {query!r}."
    before = -1
    for piece in rest:
        index, colon, value = piece.partition(":")
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
    qid: Any = None,
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
    qid : array of int of shape (n_samples,) or None, default None
        The query of each sample, for :func:`read_rankings`; y then holds grades, 0 or more.
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
    if qid is not None:
        if multilabel:
            raise ValueError("qid and multilabel=True exclude each other: a grade is one number.")
        qid = _check_queries(qid, np.asarray(y))
    buffer = io.BytesIO()
    dump_svmlight_file(X, y, buffer, zero_based=zero_based, multilabel=multilabel, query_id=qid)
    with atomic_write(path) as file:
        file.write(buffer.getvalue())


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
    return qid.astype(np.int64)

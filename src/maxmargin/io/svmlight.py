"""svmlight files, ``label index:value index:value ...``.

Rankings (LETOR, MSLR) are svmlight with the number of a query: ``grade qid:3 index:value ...``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from maxmargin.io.files import Source
from maxmargin.io.svmlight_lines import Dialect
from maxmargin.io.svmlight_table import load

__all__ = ["GradedRows", "read_rankings", "read_svmlight"]


def read_svmlight(
    source: Source,
    *,
    n_features: int | None = None,
    multilabel: bool = False,
    zero_based: bool | str = "auto",
) -> tuple[csr_matrix, Any]:
    r"""Features and labels of an svmlight file, plain or gzipped.

    A feature that a line does not name is 0, not missing. One that is missing may be written as
    ``nan``, which is read as NaN; not every estimator accepts that.

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
        Of int64 where all labels are whole numbers. With `multilabel` a list of tuples of int.

    Raises
    ------
    ValueError
        Naming file and line, for what cannot be read: a label that is no finite number, or whole
        and beyond 64 bits, or one of several and not whole; an infinite value; indices that do not
        increase, an index beyond `n_features`, or beyond 134 217 728 where that is None.

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
    dialect = Dialect(n_features, zero_based, multilabel)
    table = load(source, dialect)
    X = table.matrix(dialect)
    return (X, table.sets) if multilabel else (X, table.labels())


class GradedRows(NamedTuple):
    """The documents of queries, one per row.

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
) -> GradedRows:
    r"""Documents, grades and queries of a file of LETOR or MSLR, plain or gzipped.

    A line is one document: ``grade qid:3 index:value index:value ... # comment``. A feature that it
    does not name is 0; ``nan`` is a value that is missing.

    Parameters
    ----------
    source : path or file open for reading
    n_features, zero_based
        As in :func:`read_svmlight`.

    Returns
    -------
    GradedRows
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
    dialect = Dialect(n_features, zero_based, has_queries=True)
    table = load(source, dialect)
    X = table.matrix(dialect)
    X.eliminate_zeros()  # such files often write all features, and a third of them may be 0
    return GradedRows(X, table.labels(), np.array(table.queries, dtype=np.int64))

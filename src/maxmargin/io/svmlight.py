"""svmlight files, ``label index:value index:value ...``.

Rankings (LETOR, MSLR) are svmlight with the number of a query: ``grade qid:3 index:value ...``.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from maxmargin.io.files import Source, numbered_lines, shown, source_name

__all__ = ["RankingData", "read_rankings", "read_svmlight"]

_WHOLE = re.compile(r"[-+]?[0-9]{1,19}")
# Possessive (++): no backtracking, so refusing a long line takes little time and memory.
_FLOAT = r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+"
_VALUE = rf"(?:{_FLOAT}|[-+]?(?i:nan|inf(?:inity)?+))"
_PAIRS = re.compile(rf"(?:[ \t]++[0-9]{{1,10}}+:{_VALUE}(?![^ \t]))*+[ \t]*+")
_PAIR = re.compile(rf"(-?[0-9]+):({_VALUE})")
_NUMBER = re.compile(_VALUE)
_HEAD = re.compile(r"(?:[ \t]++([^ \t:]++)(?![^ \t]))?([ \t]++qid:[^ \t]*+)?")
#: The highest index: indices are int32 in a csr matrix, and no known file is as wide as this.
_WIDEST, _WIDEST_SAID = 1 << 27, (1 << 31) - 1
_CHUNK = 1 << 20  # characters whose numbers are made at once


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
    dialect = _Dialect(n_features, zero_based, multilabel)
    table = _load(source, dialect)
    X = table.matrix(dialect)
    return (X, table.sets) if multilabel else (X, table.labels())


class RankingData(NamedTuple):
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
) -> RankingData:
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
    dialect = _Dialect(n_features, zero_based, has_queries=True)
    table = _load(source, dialect)
    X = table.matrix(dialect)
    X.eliminate_zeros()  # such files often write all features, and a third of them may be 0
    return RankingData(X, table.labels(), np.array(table.queries, dtype=np.int64))


@dataclass(frozen=True)
class _Dialect:
    """What a line may look like."""

    n_features: int | None
    zero_based: bool | str
    multilabel: bool = False
    has_queries: bool = False

    @property
    def lowest(self) -> int:
        """The lowest index there may be."""
        return 1 if self.zero_based is False else 0

    @property
    def top(self) -> int:
        """The highest index that can be accepted by looking at one line only."""
        if self.n_features is None:
            return _WIDEST
        # Whether index n_features is too high may depend on an index 0 in another line.
        top = self.n_features - (1 if self.zero_based is True else 0)
        return min(top, _WIDEST_SAID)


@dataclass
class _Table:
    """What was read so far, as numbers."""

    is_whole: bool = True
    whole: array[int] = field(default_factory=lambda: array("q"))
    real: array[float] = field(default_factory=lambda: array("d"))
    sets: list[tuple[int, ...]] = field(default_factory=list)
    queries: array[int] = field(default_factory=lambda: array("q"))
    counts: array[int] = field(default_factory=lambda: array("q"))
    indices: array[int] = field(default_factory=lambda: array("i"))
    values: array[float] = field(default_factory=lambda: array("d"))

    def add_label(self, label: int | float) -> None:
        """Add a label; from the first that is not whole, all are floats."""
        if self.is_whole and isinstance(label, int):
            self.whole.append(label)
            return
        if self.is_whole:  # the first that is no whole number: from here on all are floats
            self.is_whole, self.real, self.whole = False, array("d", self.whole), array("q")
        self.real.append(label)

    def labels(self) -> NDArray[Any]:
        """Return all labels: int64 if all are whole numbers, else float64."""
        if self.is_whole:
            return np.array(self.whole, dtype=np.int64)
        return np.array(self.real, dtype=np.float64)

    def matrix(self, dialect: _Dialect) -> csr_matrix:
        """Return all rows as a CSR matrix."""
        indices = np.array(self.indices, dtype=np.int32)
        is_zero_based = dialect.zero_based
        if is_zero_based == "auto":
            is_zero_based = bool(len(indices)) and int(indices.min()) == 0
        if not is_zero_based:
            indices -= 1
        width = int(indices.max()) + 1 if len(indices) else 0
        ends = np.zeros(len(self.counts) + 1, dtype=np.int64)
        np.cumsum(self.counts, out=ends[1:])
        values = np.array(self.values, dtype=np.float64)
        n_features = width if dialect.n_features is None else dialect.n_features
        return csr_matrix((values, indices, ends), shape=(len(self.counts), n_features))


def _load(source: Source, dialect: _Dialect) -> _Table:
    """All lines of a file, each of them checked."""
    name = source_name(source)
    table = _Table()
    waiting: list[tuple[int, str]] = []  # lines whose pairs are still text
    n_waiting = 0
    for number, line in numbered_lines(source):
        text = " " + line.partition("#")[0].strip(" \t")
        if text == " ":
            continue
        head = _HEAD.match(text)
        rest = text[head.end() :] if head else ""
        if not head or not _PAIRS.fullmatch(rest) or not _take_head(table, head, dialect):
            raise _fault(name, number, text, dialect)
        table.counts.append(rest.count(":"))
        waiting.append((number, text))
        n_waiting += len(text) + 200  # what a string takes beside its characters
        if n_waiting > _CHUNK:
            _take_pairs(name, table, waiting, dialect)
            waiting, n_waiting = [], 0
    _take_pairs(name, table, waiting, dialect)
    if not len(table.counts):
        raise ValueError(f"{name}: holds no sample.")
    _check_zero(name, table, dialect)
    return table


def _take_head(table: _Table, head: re.Match[str], dialect: _Dialect) -> bool:
    """Add the label or labels of a line, and its query; tell whether they are what they must be."""
    label, query = head[1], head[2]
    if dialect.multilabel:
        labels = [] if label is None else [_label(piece) for piece in label.split(",")]
        if not all(isinstance(found, int) for found in labels) or len(set(labels)) < len(labels):
            return False
        table.sets.append(tuple(sorted(labels)))  # type: ignore[arg-type]
        return True
    found = None if label is None else _label(label)
    if found is None:
        return False
    if dialect.has_queries:
        number = "" if query is None else query.strip()[4:]
        if found < 0 or not _WHOLE.fullmatch(number) or not -(2**63) <= int(number) < 2**63:
            return False
        table.queries.append(int(number))
    table.add_label(found)
    return True


def _label(text: str) -> int | float | None:
    """A label: int where it is whole, None where it is no label."""
    if _WHOLE.fullmatch(text):
        number: int | float = int(text)
    elif _NUMBER.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            return None
        if number == math.floor(number):
            number = int(number)
    else:
        return None
    if isinstance(number, int) and not -(2**63) <= number < 2**63:
        return None
    return number


def _take_pairs(
    name: str, table: _Table, waiting: list[tuple[int, str]], dialect: _Dialect
) -> None:
    """Make numbers of the pairs of some lines."""
    if not waiting:
        return
    text = " ".join(line[_HEAD.match(line).end() :] for _, line in waiting)  # type: ignore[union-attr]
    numbers = np.fromstring(text.replace(":", " "), sep=" ") if text.strip() else np.zeros(0)
    counts = np.array(table.counts[-len(waiting) :])
    if len(numbers) != 2 * int(counts.sum()):
        raise ValueError(f"{name}, lines {waiting[0][0]} to {waiting[-1][0]}: cannot be read.")
    indices, values = numbers[::2], numbers[1::2]
    is_bad = (indices < dialect.lowest) | (indices > dialect.top) | np.isinf(values)
    rises = np.ones(len(indices), dtype=bool)
    rises[1:] = np.diff(indices) > 0
    starts = np.cumsum(counts) - counts
    rises[starts[counts > 0]] = True
    if is_bad.any() or not rises.all():
        at = int(np.flatnonzero(is_bad | ~rises)[0])
        number, line = waiting[int(np.searchsorted(starts + counts, at, side="right"))]
        raise _fault(name, number, line, dialect)
    table.indices.frombytes(indices.astype(np.int32).tobytes())
    table.values.frombytes(np.ascontiguousarray(values).tobytes())


def _check_zero(name: str, table: _Table, dialect: _Dialect) -> None:
    """Refuse the index `n_features` where another line shows that indices count from 0."""
    if dialect.zero_based != "auto" or dialect.n_features is None or not len(table.indices):
        return
    indices = np.frombuffer(table.indices, dtype=np.int32)
    if int(indices.min()) == 0 and int(indices.max()) >= dialect.n_features:
        raise ValueError(
            f"{name}: has the indices 0 and {indices.max()}, so more than the "
            f"{dialect.n_features} features that are expected."
        )


# Faults -------------------------------------------------------------------------------------------


def _fault(name: str, number: int, line: str, dialect: _Dialect) -> ValueError:
    """What is wrong with a line."""
    problem = _head_fault(line, dialect) or _pair_fault(line, dialect)
    problem = problem or f"cannot be read: {shown(line.strip())}."
    return ValueError(f"{name}, line {number}: {problem}")


def _pieces(line: str) -> Iterator[str]:
    """The fields between spaces and tabs; one by one, as a line may be as long as the file."""
    return (piece.group() for piece in re.finditer(r"[^ \t]+", line))


def _head_fault(line: str, dialect: _Dialect) -> str | None:
    pieces = _pieces(line)
    first = next(pieces)
    if ":" not in first:
        problem = _label_fault(first, dialect)
        if problem:
            return problem
        first = next(pieces, "")
    elif not dialect.multilabel:
        return f"expected a label first, got {shown(first)}."
    if not dialect.has_queries:
        return None
    if not first.startswith("qid:"):
        found = shown(first) if first else "nothing"
        return f"expected qid:number after the grade, got {found}."
    if not _WHOLE.fullmatch(first[4:]) or not -(2**63) <= int(first[4:]) < 2**63:
        return f"expected a whole number after qid:, got {shown(first)}."
    return None


def _pair_fault(line: str, dialect: _Dialect) -> str | None:
    head = _HEAD.match(line)
    before = -1
    for piece in _pieces(line[head.end() :] if head else line):
        pair = _PAIR.fullmatch(piece)
        if pair is None:
            return f"expected index:number, got {shown(piece)}."
        index = int(pair[1]) if len(pair[1]) < 20 else _WIDEST_SAID + 1
        if not dialect.lowest <= index <= dialect.top:
            return _index_fault(piece, index, dialect)
        if index <= before:
            return f"the index of {shown(piece)} does not exceed the one before, {before}."
        if math.isinf(float(pair[2])):
            return f"the value of {shown(piece)} is not finite."
        before = index
    return None


def _label_fault(text: str, dialect: _Dialect) -> str | None:
    labels = text.split(",") if dialect.multilabel else [text]
    for label in labels:
        if not _NUMBER.fullmatch(label) or not math.isfinite(float(label)):
            return f"the label {shown(label)} is not a finite number."
        found = _label(label)
        if found is None:
            return f"the label {shown(label)} is beyond what 64 bits hold."
        if dialect.multilabel and not isinstance(found, int):
            return f"the label {shown(label)}, one of a set, is not a whole number."
        if dialect.has_queries and found < 0:
            return f"the grade {shown(label)} is below 0."
    if len({_label(label) for label in labels}) < len(labels):
        return f"a label of {shown(text)} comes twice."
    return None


def _index_fault(piece: str, index: int, dialect: _Dialect) -> str:
    if dialect.n_features is None and index > 0:
        return (
            f"the index of {shown(piece)} is above {_WIDEST}, which would make a matrix of absurd "
            "width; say n_features if it is meant."
        )
    top = "" if dialect.n_features is None else str(dialect.top)
    return f"the index of {shown(piece)} is outside {dialect.lowest}..{top}."

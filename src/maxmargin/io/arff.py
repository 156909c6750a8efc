"""ARFF files with label sets: numbers and {0, 1} attributes, dense or sparse rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from maxmargin.io.files import Source, numbered_lines, source_name
from maxmargin.io.mulan import read_label_list

__all__ = ["ArffData", "read_arff"]

Labels = str | os.PathLike[str] | Sequence[str] | int | None

_NUMERIC = ("numeric", "real", "integer")
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
# A row of these characters alone has no quotes, comments, question marks, or words such as nan.
_PLAIN = re.compile(r"[-+0-9.eE,{}\s]*")


class ArffData(NamedTuple):
    """What an ARFF file with label sets holds.

    Attributes
    ----------
    X : ndarray or csr_matrix of float64, shape (n_samples, n_features)
    Y : ndarray or csr_matrix of int64, shape (n_samples, n_labels), or None
        1: the sample has the label; 0: it has not; -1: unknown.
    label_names, feature_names : list of str
    """

    X: Any
    Y: Any
    label_names: list[str]
    feature_names: list[str]


def read_arff(source: Source, labels: Labels = None, *, sparse: bool | None = None) -> ArffData:
    r"""Features and label sets of an ARFF file, plain or gzipped.

    Attributes must be numeric (``numeric``, ``real``, ``integer``) or ``{0,1}``. A value that is
    missing (``?``) is refused in a feature; in a label it is read as -1, unknown.

    Parameters
    ----------
    source : path or file open for reading
    labels : path, list of str, int or None, default None
        Which attributes are labels. A path: those that this xml file of Mulan names (nested labels
        are read flat). A list: those of these names. A number k > 0: the first k; k < 0: the last
        -k. None: no attribute is a label.
    sparse : bool or None, default None
        Whether X and Y are csr matrices. None: if the rows of the file are sparse.

    Returns
    -------
    ArffData
        The tuple ``X, Y, label_names, feature_names``. Columns are in the order of the file, but
        labels given as a list in the order of that list.

    Raises
    ------
    ValueError
        Naming file, line and attribute, for what cannot be read.

    Examples
    --------
    >>> import io
    >>> header = '''@relation songs
    ... @attribute tempo numeric
    ... @attribute loudness real
    ... @attribute 'quiet & still' {0,1}
    ... @attribute happy {0,1}
    ... @data
    ... '''
    >>> X, Y, label_names, feature_names = read_arff(io.StringIO(header + "0.5,2,1,0"), -2)
    >>> X, Y, label_names
    (array([[0.5, 2. ]]), array([[1, 0]]), ['quiet & still', 'happy'])
    >>> X, Y, _, _ = read_arff(io.StringIO(header + "{1 4, 3 1}"), ["happy"])
    >>> X.toarray(), Y.toarray()
    (array([[0., 4., 0.]]), array([[1]]))
    >>> read_arff(io.StringIO(header + "0.5,?,1,0"), -2)
    Traceback (most recent call last):
        ...
    ValueError: <stream>, line 7, attribute 'loudness': the value is missing.
    """
    name = source_name(source)
    lines = numbered_lines(source)
    attributes = _header(name, lines)
    places = _label_places(name, [a.name for a in attributes], labels)
    rows = [(k, row) for k, line in lines if (row := line.strip()) and row[0] != "%"]
    if not rows:
        raise ValueError(f"{name}: holds no sample.")
    read = _sparse_rows if rows[0][1].startswith("{") else _dense_rows
    table = read(name, attributes, rows)
    _check_values(name, attributes, [k for k, _ in rows], table, places)
    return _part(attributes, table, places, sparse, labels is not None)


@dataclass(frozen=True)
class _Attribute:
    name: str
    line: int
    is_binary: bool
    default: str  # what a sparse row leaves out: 0, or the first value of a nominal attribute


# Header ------------------------------------------------------------------------------------------


def _header(name: str, lines: Iterator[tuple[int, str]]) -> list[_Attribute]:
    """The attributes; `lines` is left at the first row of the data."""
    found: dict[str, _Attribute] = {}
    for number, line in lines:
        text = line.strip()
        if not text or text[0] == "%":
            continue
        word = text.split(None, 1)[0].lower()
        if word == "@data":
            if not found:
                raise ValueError(f"{name}, line {number}: @data comes before any @attribute.")
            return list(found.values())
        if word == "@attribute":
            attribute = _attribute(f"{name}, line {number}", number, text[len(word) :].strip())
            if attribute.name in found:
                raise ValueError(
                    f"{name}, line {number}: the attribute {attribute.name!r} comes twice, first "
                    f"in line {found[attribute.name].line}."
                )
            found[attribute.name] = attribute
        elif word != "@relation":
            raise ValueError(
                f"{name}, line {number}: expected @relation, @attribute or @data, got {text!r}."
            )
    raise ValueError(f"{name}: has no @data line.")


def _attribute(where: str, number: int, text: str) -> _Attribute:
    quoted = _QUOTED.match(text)
    if quoted:
        name, kind = _unquote(quoted.group()), text[quoted.end() :].strip()
    else:
        name, _, kind = text.replace("\t", " ").partition(" ")
        kind = kind.strip()
    if not name or not kind:
        raise ValueError(f"{where}: expected @attribute name type, got {text!r}.")
    where = f"{where}, attribute {name!r}"
    if kind.startswith("{"):
        inner, brace, _ = kind[1:].partition("}")
        values = [_unquote(piece.strip()) for piece in inner.split(",")]
        if not brace:
            raise ValueError(f"{where}: the list of values has no closing brace.")
        if not set(values) <= {"0", "1"}:
            shown = ",".join(values[:4]) + (",..." if len(values) > 4 else "")
            raise ValueError(
                f"{where}: nominal values other than {{0,1}} are not read, got {{{shown}}}; "
                "encode them as numbers first."
            )
        return _Attribute(name, number, True, values[0])
    word = kind.split()[0].partition("%")[0].lower()
    if word not in _NUMERIC:
        raise ValueError(
            f"{where}: expected numeric, real, integer or {{0,1}}, got the type {word!r}."
        )
    return _Attribute(name, number, False, "0")


def _unquote(text: str) -> str:
    if _QUOTED.fullmatch(text):
        return _ESCAPE.sub(lambda m: _ESCAPES.get(m.group(1), m.group(1)), text[1:-1])
    return text


def _label_places(name: str, names: list[str], labels: Labels) -> NDArray[np.int64]:
    """Columns of the labels."""
    if labels is None:
        return np.zeros(0, dtype=np.int64)
    if isinstance(labels, bool):
        raise TypeError("labels must be a path, a list of names or a number, got a bool.")
    if isinstance(labels, (int, np.integer)):
        places = np.arange(len(names))[:labels] if labels > 0 else np.arange(len(names))[labels:]
        if not 0 < abs(labels) < len(names):
            raise ValueError(
                f"labels={labels} of {len(names)} attributes in {name} leaves no label or no "
                "feature."
            )
        return places
    if isinstance(labels, (str, os.PathLike)):
        wanted, origin = read_label_list(labels), os.fspath(labels)
    else:
        wanted, origin = list(labels), "labels"
    place = {attribute: k for k, attribute in enumerate(names)}
    for label in wanted:
        if label not in place:
            raise ValueError(f"{origin} names {label!r}, which is no attribute of {name}.")
    places = np.array([place[label] for label in wanted], dtype=np.int64)
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"labels name an attribute of {name} twice.")
    if not 0 < len(wanted) < len(names):
        raise ValueError(
            f"{origin} names {len(wanted)} of the {len(names)} attributes of {name}, which leaves "
            "no label or no feature."
        )
    return np.sort(places) if isinstance(labels, (str, os.PathLike)) else places


# Rows --------------------------------------------------------------------------------------------

Rows = list[tuple[int, str]]


def _dense_rows(name: str, attributes: list[_Attribute], rows: Rows) -> NDArray[np.float64]:
    table = np.empty((len(rows), len(attributes)))
    for i, (number, row) in enumerate(rows):
        try:
            if not _PLAIN.fullmatch(row):
                raise ValueError
            values = [float(piece) for piece in row.split(",")]
        except ValueError:
            # Quotes, comments and unknown values are rare: only rows with them are read slowly.
            pieces = _pieces(row)
            if row[0] == "{":
                raise ValueError(
                    f"{name}, line {number}: the row is sparse, but the first row is dense."
                ) from None
            _check_width(name, number, pieces, attributes)
            values = [
                _value(name, number, attribute, piece)
                for attribute, piece in zip(attributes, pieces, strict=True)
            ]
        _check_width(name, number, values, attributes)
        table[i] = values
    return table


def _check_width(name: str, number: int, found: Sequence[Any], expected: Sequence[Any]) -> None:
    if len(found) != len(expected):
        raise ValueError(
            f"{name}, line {number}: expected {len(expected)} values, one an attribute, got "
            f"{len(found)}."
        )


def _sparse_rows(name: str, attributes: list[_Attribute], rows: Rows) -> csr_matrix:
    for attribute in attributes:
        if attribute.default != "0":
            raise ValueError(
                f"{name}, line {attribute.line}, attribute {attribute.name!r}: what a sparse row "
                "leaves out would be 1, the first of its values; write them as {0,1}."
            )
    n = len(attributes)
    indices: list[int] = []
    values: list[float] = []
    ends = np.zeros(len(rows) + 1, dtype=np.int64)
    for i, (number, row) in enumerate(rows):
        try:
            if not _PLAIN.fullmatch(row) or row[0] != "{" or row[-1] != "}":
                raise ValueError
            pairs = [piece.split() for piece in row[1:-1].split(",")] if row[1:-1].strip() else []
            places = [int(place) for place, _ in pairs]
            numbers = [float(value) for _, value in pairs]
        except ValueError:
            places, numbers = _slow_sparse_row(name, number, attributes, row)
        if places and not (min(places) >= 0 and max(places) < n):
            k = min(places) if min(places) < 0 else max(places)
            raise ValueError(f"{name}, line {number}: the index {k} is outside 0..{n - 1}.")
        if len(set(places)) < len(places):
            k = next(k for k in places if places.count(k) > 1)
            raise ValueError(
                f"{name}, line {number}, attribute {attributes[k].name!r}: the index {k} comes "
                "twice."
            )
        indices += places
        values += numbers
        ends[i + 1] = len(indices)
    table = csr_matrix((np.array(values, dtype=np.float64), indices, ends), shape=(len(rows), n))
    table.sort_indices()
    table.eliminate_zeros()
    return table


def _slow_sparse_row(
    name: str, number: int, attributes: list[_Attribute], row: str
) -> tuple[list[int], list[float]]:
    body = row.partition("%")[0].strip()
    if not (body.startswith("{") and body.endswith("}")):
        raise ValueError(
            f"{name}, line {number}: expected a sparse row {{index value, ...}}, got {row[:40]!r}."
        )
    places, values = [], []
    for piece in _pieces(body[1:-1]):
        place, _, text = piece.replace("\t", " ").partition(" ")
        if not place.isdecimal() or not text.strip():
            raise ValueError(f"{name}, line {number}: expected index value, got {piece!r}.")
        if int(place) >= len(attributes):
            raise ValueError(
                f"{name}, line {number}: the index {place} is outside 0..{len(attributes) - 1}."
            )
        places.append(int(place))
        values.append(_value(name, number, attributes[int(place)], text.strip()))
    return places, values


def _pieces(row: str) -> list[str]:
    """What commas part, without a comment at the end. Numbers in quotes hold neither."""
    return [piece.strip() for piece in row.partition("%")[0].split(",")]


def _value(name: str, number: int, attribute: _Attribute, text: str) -> float:
    """One number; nan if it is unknown."""
    if text == "?":
        return np.nan
    plain = _unquote(text)
    try:
        if not _PLAIN.fullmatch(plain):
            raise ValueError
        return float(plain)
    except ValueError:
        kind = "0 or 1" if attribute.is_binary else "a number"
        raise ValueError(
            f"{name}, line {number}, attribute {attribute.name!r}: expected {kind}, got {text!r}."
        ) from None


# Columns -----------------------------------------------------------------------------------------


def _check_values(
    name: str, attributes: list[_Attribute], lines: list[int], table: Any, places: NDArray[np.int64]
) -> None:
    """Refuse the first value that its attribute cannot have."""
    is_label = np.zeros(len(attributes), dtype=bool)
    is_label[places] = True
    is_binary = is_label | np.array([attribute.is_binary for attribute in attributes])
    if isinstance(table, np.ndarray):
        values, columns = table, np.arange(len(attributes))
    else:
        values, columns = table.data, table.indices
    is_missing = np.isnan(values)
    bad = np.isinf(values) | (is_missing & ~is_label[columns])
    bad |= is_binary[columns] & (values != 0) & (values != 1) & ~is_missing
    if not bad.any():
        return
    if isinstance(table, np.ndarray):
        i, k = (int(v[0]) for v in np.nonzero(bad))
        value = table[i, k]
    else:
        e = int(np.flatnonzero(bad)[0])
        i, k, value = int(np.searchsorted(table.indptr, e, side="right")) - 1, columns[e], values[e]
    where = f"{name}, line {lines[i]}, attribute {attributes[k].name!r}"
    if np.isnan(value):
        raise ValueError(f"{where}: the value is missing.")
    if np.isinf(value):
        raise ValueError(f"{where}: the value is not finite.")
    kind = "label" if is_label[k] else "value"
    raise ValueError(f"{where}: the {kind} must be 0 or 1, got {value:g}.")


def _part(
    attributes: list[_Attribute],
    table: Any,
    places: NDArray[np.int64],
    sparse: bool | None,
    has_labels: bool,
) -> ArffData:
    """Cut the table into features and labels."""
    if sparse is None:
        sparse = not isinstance(table, np.ndarray)
    others = np.setdiff1d(np.arange(len(attributes)), places)
    X, Y = table[:, others], table[:, places]
    if sparse:
        X, Y = csr_matrix(X), csr_matrix(Y)
        Y.sort_indices()  # labels may be asked for in any order
        Y.data[np.isnan(Y.data)] = -1
    else:
        X, Y = (np.ascontiguousarray(m.toarray() if issparse(m) else m) for m in (X, Y))
        Y[np.isnan(Y)] = -1
    return ArffData(
        X,
        Y.astype(np.int64) if has_labels else None,
        [attributes[k].name for k in places],
        [attributes[k].name for k in others],
    )

"""ARFF files with label sets: numbers and {0, 1} attributes, dense or sparse rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from maxmargin.io.arff_rows import QUOTED, Attribute, dense_rows, sparse_rows, unquote
from maxmargin.io.files import Source, numbered_lines, shown, source_name
from maxmargin.io.mulan import read_label_list
from maxmargin.io.unpack import to_dense

__all__ = ["ArffData", "parse_attribute", "read_arff"]

LabelSource = str | os.PathLike[str] | Sequence[str] | int | None

_NUMERIC = ("numeric", "real", "integer")


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


def read_arff(
    source: Source, labels: LabelSource = None, *, sparse: bool | None = None
) -> ArffData:
    r"""Features and label sets of an ARFF file, plain or gzipped.

    Attributes must be numeric (``numeric``, ``real``, ``integer``) or ``{0,1}``. A value that is
    missing (``?``) is NaN in a feature, which not every estimator accepts; in a label it is -1,
    unknown.

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
    >>> read_arff(io.StringIO(header + "0.5,?,1,?"), -2)[:2]
    (array([[0.5, nan]]), array([[ 1, -1]]))
    >>> read_arff(io.StringIO(header + "0.5,loud,1,0"), -2)
    Traceback (most recent call last):
        ...
    ValueError: <stream>, line 7, attribute 'loudness': expected a number, got 'loud'.
    """
    name = source_name(source)
    lines = numbered_lines(source)
    attributes = _header(name, lines)
    places = _label_places(name, [a.name for a in attributes], labels)
    rows = ((k, row) for k, line in lines if (row := line.strip()) and row[0] != "%")
    first = next(rows, None)
    if first is None:
        raise ValueError(f"{name}: holds no sample.")
    read = sparse_rows if first[1].startswith("{") else dense_rows
    table, numbers = read(name, attributes, chain([first], rows))
    _check_values(name, attributes, numbers, table, places)
    return _part(name, attributes, table, places, sparse, labels is not None)


# Header ------------------------------------------------------------------------------------------


def _header(name: str, lines: Iterator[tuple[int, str]]) -> list[Attribute]:
    """The attributes; `lines` is left at the first row of the data."""
    found: dict[str, Attribute] = {}
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
            attribute = parse_attribute(f"{name}, line {number}", number, text[len(word) :].strip())
            if attribute.name in found:
                raise ValueError(
                    f"{name}, line {number}: the attribute {shown(attribute.name)} comes twice, "
                    f"first in line {found[attribute.name].line}."
                )
            found[attribute.name] = attribute
        elif word != "@relation":
            raise ValueError(
                f"{name}, line {number}: expected @relation, @attribute or @data, got "
                f"{shown(text)}."
            )
    raise ValueError(f"{name}: has no @data line.")


def parse_attribute(where: str, number: int, text: str) -> Attribute:
    """The attribute that a line declares; `text` is what follows the word @attribute."""
    quoted = QUOTED.match(text)
    if not quoted and text[:1] in ("'", '"'):
        raise ValueError(f"{where}: the quote has no end: {shown(text)}.")
    if quoted:
        name, kind = unquote(quoted.group()), text[quoted.end() :].strip()
    else:
        name, _, kind = text.replace("\t", " ").partition(" ")
        kind = kind.strip()
    if not name or not kind:
        raise ValueError(f"{where}: expected @attribute name type, got {shown(text)}.")
    where = f"{where}, attribute {shown(name)}"
    if kind.startswith("{"):
        inner, brace, _ = kind[1:].partition("}")
        values = [unquote(piece.strip()) for piece in inner.split(",")]
        if not brace:
            raise ValueError(f"{where}: the list of values has no closing brace.")
        if not set(values) <= {"0", "1"}:
            listed = ",".join(values[:4])[:60] + (",..." if len(values) > 4 else "")
            raise ValueError(
                f"{where}: nominal values other than {{0,1}} are not read, got {{{listed}}}; "
                "encode them as numbers first."
            )
        return Attribute(name, number, tuple(dict.fromkeys(values)))
    word = kind.split()[0].partition("%")[0].lower()
    if word not in _NUMERIC:
        raise ValueError(
            f"{where}: expected numeric, real, integer or {{0,1}}, got the type {shown(word)}."
        )
    return Attribute(name, number)


def _label_places(name: str, names: list[str], labels: LabelSource) -> NDArray[np.int64]:
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
            raise ValueError(
                f"{origin} names {shown(str(label))}, which is no attribute of {name}."
            )
    places = np.array([place[label] for label in wanted], dtype=np.int64)
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"labels name an attribute of {name} twice.")
    if not 0 < len(wanted) < len(names):
        raise ValueError(
            f"{origin} names {len(wanted)} of the {len(names)} attributes of {name}, which leaves "
            "no label or no feature."
        )
    return np.sort(places) if isinstance(labels, (str, os.PathLike)) else places


# Columns -----------------------------------------------------------------------------------------


def _check_values(
    name: str,
    attributes: list[Attribute],
    lines: NDArray[np.int64],
    table: Any,
    places: NDArray[np.int64],
) -> None:
    """Refuse the first value that its attribute cannot have."""
    is_label = np.zeros(len(attributes), dtype=bool)
    is_label[places] = True
    is_numeric = np.array([not attribute.values for attribute in attributes])
    is_real = is_numeric & ~is_label
    has = {value: is_numeric | np.array([value in a.values for a in attributes]) for value in "01"}
    if isinstance(table, np.ndarray):
        values, columns = table, np.arange(len(attributes))
    else:
        values, columns = table.data, table.indices
    good = (values == 0) & has["0"][columns]
    good |= (values == 1) & has["1"][columns]
    good |= np.isfinite(values) & is_real[columns]
    good |= np.isnan(values)
    if good.all():
        return
    if isinstance(table, np.ndarray):
        i, k = (int(v[0]) for v in np.nonzero(~good))
        value = table[i, k]
    else:
        e = int(np.flatnonzero(~good)[0])
        i, k, value = int(np.searchsorted(table.indptr, e, side="right")) - 1, columns[e], values[e]
    where = f"{name}, line {lines[i]}, attribute {shown(attributes[k].name)}"
    if np.isinf(value):
        raise ValueError(f"{where}: the value is not finite.")
    kind = "label" if is_label[k] else "value"
    listed = " or ".join(sorted(attributes[k].values or "01"))
    raise ValueError(f"{where}: the {kind} must be {listed}, got {value:g}.")


def _part(
    name: str,
    attributes: list[Attribute],
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
        X, Y = (np.ascontiguousarray(to_dense(m, name)) for m in (X, Y))
        Y[np.isnan(Y)] = -1
    return ArffData(
        X,
        Y.astype(np.int64) if has_labels else None,
        [attributes[k].name for k in places],
        [attributes[k].name for k in others],
    )

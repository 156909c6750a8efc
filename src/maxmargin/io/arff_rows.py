"""The rows of ARFF files, dense or sparse, as numbers; NaN where a value is unknown."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from maxmargin.io.files import shown

__all__ = ["QUOTED", "Attribute", "dense_rows", "sparse_rows", "unquote"]

# Possessive (++): no backtracking, so a quote without an end takes no memory for it.
QUOTED = re.compile(r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+\"""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
# A row of these characters alone has no quotes, comments, question marks, or words such as nan.
_PLAIN = re.compile(r"[-+0-9.eE,{}\s]*+")
_INDEX = re.compile(r"[0-9]{1,18}")

Rows: TypeAlias = Iterable[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column: its name, the line that declares it, and its values; none: it is numeric."""

    name: str
    line: int
    values: tuple[str, ...] = ()


def unquote(text: str) -> str:
    r"""`text` without the quotes around it.

    Examples
    --------
    >>> unquote(r"'it\'s'"), unquote("plain")
    ("it's", 'plain')
    """
    if QUOTED.fullmatch(text):
        return _ESCAPE.sub(lambda m: _ESCAPES.get(m.group(1), m.group(1)), text[1:-1])
    return text


def dense_rows(
    name: str, attributes: list[Attribute], rows: Rows
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The table of rows such as ``0.5,2,1``, and the lines that they stand in."""
    table, lines = array("d"), array("q")
    for number, row in rows:
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
        table.extend(values)
        lines.append(number)
    numbers = np.array(lines, dtype=np.int64)
    return np.frombuffer(table).reshape(len(lines), len(attributes)), numbers


def _check_width(name: str, number: int, found: Sequence[Any], expected: Sequence[Any]) -> None:
    if len(found) != len(expected):
        raise ValueError(
            f"{name}, line {number}: expected {len(expected)} values, one an attribute, got "
            f"{len(found)}."
        )


def sparse_rows(
    name: str, attributes: list[Attribute], rows: Rows
) -> tuple[csr_matrix, NDArray[np.int64]]:
    """The table of rows such as ``{0 0.5,2 1}``, and the lines that they stand in."""
    for attribute in attributes:
        # A sparse row leaves out 0, or the first value of a nominal attribute.
        if attribute.values and attribute.values[0] != "0":
            raise ValueError(
                f"{name}, line {attribute.line}, attribute {shown(attribute.name)}: what a sparse "
                "row leaves out would be 1, the first of its values; write them as {0,1}."
            )
    indices, values, ends, lines = array("q"), array("d"), array("q", [0]), array("q")
    for number, row in rows:
        try:
            if not _PLAIN.fullmatch(row) or row[0] != "{" or row[-1] != "}":
                raise ValueError
            pairs = [piece.split() for piece in row[1:-1].split(",")] if row[1:-1].strip() else []
            places = [int(place) for place, _ in pairs]
            numbers = [float(value) for _, value in pairs]
        except ValueError:
            places, numbers = _slow_sparse_row(name, number, attributes, row)
        _check_places(name, number, attributes, places)
        indices.extend(places)
        values.extend(numbers)
        ends.append(len(indices))
        lines.append(number)
    parts = (np.array(values), np.array(indices), np.array(ends))
    table = csr_matrix(parts, shape=(len(lines), len(attributes)))
    table.sort_indices()
    table.eliminate_zeros()
    return table, np.array(lines, dtype=np.int64)


def _check_places(name: str, number: int, attributes: list[Attribute], places: list[int]) -> None:
    n = len(attributes)
    if places and not (min(places) >= 0 and max(places) < n):
        k = min(places) if min(places) < 0 else max(places)
        raise ValueError(f"{name}, line {number}: the index {k} is outside 0..{n - 1}.")
    if len(set(places)) < len(places):
        k = next(k for k, count in Counter(places).items() if count > 1)
        raise ValueError(
            f"{name}, line {number}, attribute {shown(attributes[k].name)}: the index {k} comes "
            "twice."
        )


def _slow_sparse_row(
    name: str, number: int, attributes: list[Attribute], row: str
) -> tuple[list[int], list[float]]:
    body = row.partition("%")[0].strip()
    if not (body.startswith("{") and body.endswith("}")):
        raise ValueError(
            f"{name}, line {number}: expected a sparse row {{index value, ...}}, got {shown(row)}."
        )
    places, values = [], []
    for piece in _pieces(body[1:-1]):
        place, _, text = piece.replace("\t", " ").partition(" ")
        if not _INDEX.fullmatch(place) or not text.strip():
            raise ValueError(f"{name}, line {number}: expected index value, got {shown(piece)}.")
        if int(place) >= len(attributes):
            raise ValueError(
                f"{name}, line {number}: the index {place} is outside 0..{len(attributes) - 1}."
            )
        places.append(int(place))
        values.append(_value(name, number, attributes[int(place)], text.strip()))
    return places, values


def _pieces(row: str) -> list[str]:
    """The fields between commas, without a comment at the end. Quoted numbers hold neither."""
    return [piece.strip() for piece in row.partition("%")[0].split(",")]


def _value(name: str, number: int, attribute: Attribute, text: str) -> float:
    """One number; nan if it is unknown."""
    if text == "?":
        return np.nan
    plain = unquote(text)
    try:
        if not _PLAIN.fullmatch(plain):
            raise ValueError
        return float(plain)
    except ValueError:
        kind = " or ".join(sorted(attribute.values)) if attribute.values else "a number"
        raise ValueError(
            f"{name}, line {number}, attribute {shown(attribute.name)}: expected {kind}, got "
            f"{shown(text)}."
        ) from None

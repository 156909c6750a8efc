"""All lines of an svmlight file, checked and made into numbers."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from maxmargin.io.files import Source, numbered_lines, source_name
from maxmargin.io.svmlight_lines import HEAD, PAIRS, WHOLE, Dialect, fault, label_of

_CHUNK = 1 << 20  # characters whose numbers are made at once


@dataclass
class Table:
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

    def matrix(self, dialect: Dialect) -> csr_matrix:
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


def load(source: Source, dialect: Dialect) -> Table:
    """All lines of a file, each of them checked."""
    name = source_name(source)
    table = Table()
    waiting: list[tuple[int, str]] = []  # lines whose pairs are still text
    n_waiting = 0
    for number, line in numbered_lines(source):
        text = " " + line.partition("#")[0].strip(" \t")
        if text == " ":
            continue
        head = HEAD.match(text)
        rest = text[head.end() :] if head else ""
        if not head or not PAIRS.fullmatch(rest) or not _take_head(table, head, dialect):
            raise fault(name, number, text, dialect)
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


def _take_head(table: Table, head: re.Match[str], dialect: Dialect) -> bool:
    """Add the label or labels of a line, and its query; tell whether they are what they must be."""
    label, query = head[1], head[2]
    if dialect.multilabel:
        labels = [] if label is None else [label_of(piece) for piece in label.split(",")]
        if not all(isinstance(found, int) for found in labels) or len(set(labels)) < len(labels):
            return False
        table.sets.append(tuple(sorted(labels)))  # type: ignore[arg-type]
        return True
    found = None if label is None else label_of(label)
    if found is None:
        return False
    if dialect.has_queries:
        number = "" if query is None else query.strip()[4:]
        if found < 0 or not WHOLE.fullmatch(number) or not -(2**63) <= int(number) < 2**63:
            return False
        table.queries.append(int(number))
    table.add_label(found)
    return True


def _take_pairs(name: str, table: Table, waiting: list[tuple[int, str]], dialect: Dialect) -> None:
    """Make numbers of the pairs of some lines."""
    if not waiting:
        return
    text = " ".join(line[HEAD.match(line).end() :] for _, line in waiting)  # type: ignore[union-attr]
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
        raise fault(name, number, line, dialect)
    table.indices.frombytes(indices.astype(np.int32).tobytes())
    table.values.frombytes(np.ascontiguousarray(values).tobytes())


def _check_zero(name: str, table: Table, dialect: Dialect) -> None:
    """Refuse the index `n_features` where another line shows that indices count from 0."""
    if dialect.zero_based != "auto" or dialect.n_features is None or not len(table.indices):
        return
    indices = np.frombuffer(table.indices, dtype=np.int32)
    if int(indices.min()) == 0 and int(indices.max()) >= dialect.n_features:
        raise ValueError(
            f"{name}: has the indices 0 and {indices.max()}, so more than the "
            f"{dialect.n_features} features that are expected."
        )

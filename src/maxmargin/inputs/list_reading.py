"""What a list of lists is: label sets, or the rows of an indicator matrix."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from numbers import Number
from typing import Any

import numpy as np


def read_lists(y: Any, classes: Sequence[Any] | None, was_sets: bool | None = None) -> str:
    """Tell whether lists can only be label sets ("sets") or rows of an indicator matrix ("matrix").

    They are sets if their lengths differ, if something other than 1, 0 and -1 is in them, or if
    they are no lists but sets. They are a matrix if a row has a number twice, which no set has, or
    has bools. ``classes``, where they are known, rule out a matrix of another number of columns,
    and sets with other labels. If a list can still be both, it is read as what the same model was
    given before, if anything. Ascending tuples, which `predict` returns, are sets.

    Parameters
    ----------
    y : sequence of one collection for each sample
    classes : the labels, or None where they are not known
    was_sets : bool or None, whether the model has learnt from sets; None: it has learnt nothing

    Raises
    ------
    ValueError
        If it can be both.

    Examples
    --------
    >>> read_lists([[0, 1], [1]], None), read_lists([["a", "b"], ["b", "c"]], None)
    ('sets', 'sets')
    >>> read_lists([[0, 1, 1], [1, 0, 0]], None), read_lists([[0, 1], [1, 0]], ["a", "b"])
    ('matrix', 'matrix')
    >>> read_lists([[0, 1], [1, 0]], None)
    Traceback (most recent call last):
    ValueError: y is ambiguous: [0, 1] may be the set of the labels 0 and 1 or the row of an ...
    """
    if isinstance(y, (str, bytes, dict)) or not hasattr(y, "__len__") or len(y) == 0:
        return "sets"  # the reader of sets says what is wrong
    rows = list(y)
    width = _width(rows)
    if width < 1:
        return "sets"
    has_bools = any(isinstance(cell, (bool, np.bool_)) for row in rows for cell in row)
    is_repeated = any(len(set(row)) < width for row in rows)
    if has_bools or is_repeated:
        return "matrix"
    if classes is not None:
        if len(classes) != width:
            return "sets"
        if any(cell not in classes for row in rows for cell in row):
            return "matrix"
    if was_sets is not None:
        return "sets" if was_sets else "matrix"
    if all(isinstance(row, tuple) and list(row) == sorted(row) for row in rows):
        return "sets"
    raise ValueError(_complaint(rows[0]))


def _width(rows: list[Collection[Any]]) -> int:
    """Return how many columns the rows have, if they may be those of a matrix; else 0."""
    width = -1
    for row in rows:
        if not isinstance(row, (list, tuple, np.ndarray)) or len(np.shape(row)) != 1:
            return 0
        if width not in (-1, len(row)):
            return 0
        width = len(row)
        if not all(isinstance(cell, (Number, np.bool_)) and cell in (0, 1, -1) for cell in row):
            return 0
    return width


def _complaint(row: Collection[Any]) -> str:
    cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in row]
    names = f"labels {' and '.join(map(repr, cells))}" if len(cells) > 1 else f"label {cells[0]!r}"
    return (
        f"y is ambiguous: {cells!r} may be the set of the {names} or the row of an indicator "
        "matrix. Pass an indicator matrix as an array, np.array(y), and label sets as sets, "
        "[set(labels) for labels in y]."
    )

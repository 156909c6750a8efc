"""Strings as arrays of numbers: checked, and each letter by its place in an alphabet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def check_strings(X: Any, owner: str) -> list[str]:
    """Return X as a list of str; refuse anything else, and no strings at all.

    Examples
    --------
    >>> check_strings(["ab", 3], "SpectrumFeatures")
    Traceback (most recent call last):
    TypeError: SpectrumFeatures: X[1] must be a string, got int.
    """
    if isinstance(X, (str, bytes)):
        raise TypeError(f"{owner}: X must be a sequence of strings, got one {type(X).__name__}.")
    if getattr(X, "ndim", 1) != 1:
        raise ValueError(f"{owner}: X must have one dimension, a string each; got {X.ndim}.")
    try:
        strings = list(X)
    except TypeError:
        raise TypeError(
            f"{owner}: X must be a sequence of strings, got {type(X).__name__}."
        ) from None
    for i, string in enumerate(strings):
        if not isinstance(string, str):
            raise TypeError(f"{owner}: X[{i}] must be a string, got {type(string).__name__}.")
    if not strings:
        raise ValueError(f"{owner}: X must have at least one string, got none.")
    return strings


def code_points(string: str) -> np.ndarray:
    """Return the number of every letter in Unicode.

    Examples
    --------
    >>> code_points("Ab").tolist()
    [65, 98]
    """
    return np.frombuffer(string.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int32)


def letters_of(strings: Sequence[str]) -> str:
    """Return all letters that occur, once each, in the order of Unicode."""
    return "".join(sorted(set().union(*strings)))


def as_digits(strings: Sequence[str], letters: str, skip: bool, owner: str) -> list[np.ndarray]:
    """Return each string as digits: 1 for the first of the (sorted) letters; 0 for unknown ones.

    Unless `skip`, an unknown letter is refused.

    Examples
    --------
    >>> as_digits(["bax"], "ab", True, "SpectrumFeatures")[0].tolist()
    [2, 1, 0]
    >>> as_digits(["bax"], "ab", False, "SpectrumFeatures")
    Traceback (most recent call last):
    ValueError: SpectrumFeatures: X[0] has the letter 'x' at 2, which is not among 'ab'. ...
    """
    known = code_points(letters)
    rows = []
    for i, string in enumerate(strings):
        points = code_points(string)
        place = np.minimum(np.searchsorted(known, points), max(len(known) - 1, 0))
        is_known = known[place] == points if len(known) else np.zeros(len(points), bool)
        if not (skip or is_known.all()):
            at = int(np.flatnonzero(~is_known)[0])
            raise ValueError(
                f"{owner}: X[{i}] has the letter {string[at]!r} at {at}, which is not among "
                f"{letters!r}. Name all letters in alphabet=, or take unknown='skip'."
            )
        rows.append(np.where(is_known, place + 1, 0).astype(np.int64))
    return rows

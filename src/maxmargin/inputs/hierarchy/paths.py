"""Paths from the top of a hierarchy, as texts: "a/b/c", lists of levels, rows of padded arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["check_separator", "is_blank", "path_text", "path_texts", "prefixes"]


def check_separator(separator: Any) -> str:
    """Return the separator, a text that is not empty."""
    if not isinstance(separator, str) or not separator:
        raise ValueError(f"separator must be text that is not empty, got {separator!r}.")
    return separator


def prefixes(text: str, separator: str) -> list[str]:
    """Return the paths to all nodes on a path, from the top.

    Examples
    --------
    >>> prefixes("a/b/c", "/")
    ['a', 'a/b', 'a/b/c']
    """
    levels = text.split(separator)
    return [separator.join(levels[: k + 1]) for k in range(len(levels))]


def is_blank(level: Any) -> bool:
    """Tell whether a level is padding: "", None or NaN."""
    return level is None or level == "" or level != level


def path_text(levels: Any, separator: str, name: str) -> str:
    """Return one path as text; "" where all levels are padding.

    Parameters
    ----------
    levels : a text such as "a/b", or a sequence of levels, texts or integers, padded at its end
    name : what an error calls it

    Examples
    --------
    >>> path_text(["a", "b", ""], "/", "y[0]"), path_text("a/b", "/", "y[0]")
    ('a/b', 'a/b')
    >>> path_text(["a", "", "c"], "/", "y[0]")
    Traceback (most recent call last):
    ValueError: y[0] has no level 2 but a level 3, 'c': only the end of a path may be left out.
    """
    if isinstance(levels, str):
        if levels and not all(level.strip() for level in levels.split(separator)):
            raise ValueError(f"{name} is {levels!r}, which has an empty level.")
        return levels
    if isinstance(levels, (int, np.integer)) and not isinstance(levels, (bool, np.bool_)):
        return str(levels)
    if isinstance(levels, bytes) or not hasattr(levels, "__iter__"):
        raise TypeError(
            f"{name} must be a path, a text or a list of levels, got {type(levels).__name__}."
        )
    items = levels.tolist() if isinstance(levels, np.ndarray) else list(levels)
    known = [k for k, level in enumerate(items) if not is_blank(level)]
    for k, level in enumerate(known):
        if level != k:
            raise ValueError(
                f"{name} has no level {k + 1} but a level {level + 1}, {items[level]!r}: only the "
                "end of a path may be left out."
            )
    return separator.join(_level_text(items[k], k, separator, name) for k in known)


def _level_text(level: Any, k: int, separator: str, name: str) -> str:
    if isinstance(level, float) and level.is_integer():
        level = int(level)  # integers that NaN has made floats of
    if isinstance(level, (bool, np.bool_)) or not isinstance(level, (str, int, np.integer)):
        raise TypeError(
            f"{name} has the level {level!r}: a level must be a text or an integer, got "
            f"{type(level).__name__}."
        )
    text = str(level)
    if separator in text:
        raise ValueError(
            f"{name} has the level {text!r}, which contains the separator {separator!r}: choose "
            "another separator."
        )
    if not text.strip():
        raise ValueError(f"{name} has a level {k + 1} of blanks alone.")
    return text


def path_texts(paths: Iterable[Any], separator: str, name: str) -> list[str]:
    """Return paths as texts, none of them empty."""
    check_separator(separator)
    found = []
    for i, path in enumerate(paths):
        text = path_text(path, separator, f"{name}[{i}]")
        if not text:
            raise ValueError(f"{name}[{i}] is empty.")
        found.append(text)
    if not found:
        raise ValueError(f"{name} holds no path.")
    return found

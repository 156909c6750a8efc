"""The stamp of the source that an entry is compiled from: the same as in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maxmargin.core import cache

__all__ = ["stamp_of"]


def stamp_of(function: Callable[..., Any], arguments: Any) -> str:
    """Return the stamp of a function compiled for packed arguments of these types.

    It is "" where the source cannot be told: a type or function that is not what its module has
    under its name, such as a user's that shadows ours, or source edited since this process started.
    """
    classes: set[type] = set()
    try:
        cache._describe(arguments, classes)
        if cache._lookup(function) is not function:
            return ""
        return cache._stamp(function.__module__, classes).decode().strip()
    except cache._UntraceableError:
        return ""

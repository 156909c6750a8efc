"""The stamp of the source that an entry is compiled from, found as the cache finds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.core import cache
from maxmargin.core.sources import UntraceableError, sources

__all__ = ["stamp_of"]


def stamp_of(run: Callable[..., Any], arguments: Any) -> str:
    """Return the stamp of a function compiled for packed arguments of these types.

    It is "" where the source cannot be told: a type that is not what its module has under its name,
    such as a user's that shadows ours, or source edited since this process started.

    The version of numpy is left out: compiled code does not call numpy, and a library must serve
    all versions that the package admits.
    """
    classes: set[type] = set()
    try:
        cache._describe(arguments, classes)
        found = sources(run, classes)
        found.facts.discard(("numpy", np.__version__))
        return found.stamp()
    except UntraceableError:
        return ""

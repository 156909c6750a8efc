"""The stamp of the source that an entry is compiled from, found as the cache finds it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.core import cache
from maxmargin.core.files import UntraceableError, hash_file, short_name
from maxmargin.core.sources import Sources, sources

PACKAGE = Path(__file__).resolve().parents[__name__.count(".") - 1]

__all__ = ["changed_files", "files_of", "stamp_of"]


def stamp_of(run: Callable[..., Any], arguments: Any) -> str:
    """Return the stamp of a function compiled for packed arguments of these types.

    It is "" where the source cannot be told: a type that is not what its module has under its name,
    such as a user's that shadows ours, or source edited since this process started.
    """
    try:
        return _sources(run, arguments).stamp()
    except UntraceableError:
        return ""


def files_of(run: Callable[..., Any], arguments: Any) -> dict[str, str]:
    """Return the files that a stamp is made of, by name, and their hashes."""
    return {short_name(path): hash_file(path) for path in _sources(run, arguments).files}


def changed_files(known: Mapping[str, str]) -> list[str]:
    """Return those of the files that are not what they were, or not there."""
    paths = {name: PACKAGE / name for name in sorted(known)}
    return [
        name
        for name, path in paths.items()
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != known[name]
    ]


def _sources(run: Callable[..., Any], arguments: Any) -> Sources:
    classes: set[type] = set()
    cache._describe(arguments, classes)
    found = sources(run, classes)
    # Compiled code does not call numpy, and a library must serve all versions that are admitted.
    found.facts.discard(("numpy", np.__version__))
    return found

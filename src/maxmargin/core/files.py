"""Files of source: whose they are, what they are called in a stamp, and what they hold."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from maxmargin.core.compile import STARTED

__all__ = [
    "UntraceableError",
    "files_around",
    "hash_file",
    "is_external",
    "is_ours",
    "machinery",
    "short_name",
]

_PACKAGE = Path(__file__).resolve().parents[__name__.count(".") - 1]
#: Files that decide how anything is compiled; they belong to all compiled code.
_MACHINERY = (
    "core/cache.py",
    "core/callee.py",
    "core/compile.py",
    "core/dispatch.py",
    "core/erase/*.py",
)
#: Packages that numba compiles in its own way; their versions are noted.
_EXTERNAL = frozenset(sys.stdlib_module_names) | {"llvmlite", "numba", "numpy"}


#: The clock by which files are dated is that much behind the clock of `time`, or less.
TICK = 0.02


class UntraceableError(Exception):
    """The source of something that is compiled cannot be found or trusted."""


def is_external(module: str | None) -> bool:
    """Tell whether a module belongs to Python, numpy or numba."""
    return module is not None and module.partition(".")[0] in _EXTERNAL


@functools.cache
def machinery() -> tuple[str, ...]:
    """Return the files that decide how anything is compiled."""
    return tuple(str(file) for pattern in _MACHINERY for file in _PACKAGE.glob(pattern))


@functools.cache
def is_ours(path: str) -> bool:
    """Tell whether a real path lies in this package."""
    return Path(path).is_relative_to(_PACKAGE)


def short_name(path: str) -> str:
    """Return what a file is called in a stamp: without the folder of its installation."""
    return str(Path(path).relative_to(_PACKAGE)) if is_ours(path) else os.path.basename(path)


def files_around(module: str, file: str) -> Iterator[str]:
    """Yield the files of all loaded modules that a foreign module may have to do with.

    These are the modules of its package or, if it is in no package, those in its folder: numba may
    be told of more than names show. The script being run is left out: it changes often, and what
    it implements is found by the walk.
    """
    top, folder = (module or "").partition(".")[0], os.path.dirname(file)
    is_package = hasattr(sys.modules.get(top), "__path__")
    for name, other in list(sys.modules.items()):
        first, dot, _ = name.partition(".")
        if first != top if is_package else dot or name == "__main__":
            continue
        found = getattr(other, "__file__", None) or ""
        if found.endswith(".py") and (is_package or os.path.dirname(found) == folder):
            yield found


def hash_file(path: str) -> str:
    """Return the hash of a file that has not changed since this process started."""
    status = os.stat(path)
    if status.st_mtime > STARTED - TICK:
        raise UntraceableError(f"{path} was edited since this process started")
    return _hash_of(path, status.st_mtime_ns, status.st_size)


@functools.cache
def _hash_of(path: str, mtime_ns: int, size: int) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()

"""What the names in a function's code mean: values it closes over, and globals it reads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
from typing import Any

__all__ = ["closed_over", "names_in", "read_globals"]


@functools.cache
def names_in(code: CodeType) -> tuple[str, ...]:
    """Return the names that code mentions, with those of functions within it.

    They are names of globals and of attributes; code does not tell these apart.
    """
    names = dict.fromkeys(code.co_names)
    for item in code.co_consts:
        if isinstance(item, CodeType):
            names.update(dict.fromkeys(names_in(item)))
    return tuple(names)


def closed_over(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the values that a function closes over, by name; those not bound yet are left out.

    Examples
    --------
    >>> def adder(n):
    ...     return lambda x: x + n
    >>> closed_over(adder(3))
    {'n': 3}
    """
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return found


def read_globals(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the globals whose names a function mentions, by name.

    Too many may be found, where only an attribute has the name; never too few.
    """
    known = function.__globals__
    return {
        name: known[name]
        for name in names_in(function.__code__)
        if name in known and not name.startswith("__")
    }

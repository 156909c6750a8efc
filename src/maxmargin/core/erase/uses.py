"""Which entries a pass or a search calls, found in its code before it is compiled or loaded."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from maxmargin.core.dispatch import implementation
from maxmargin.core.erase.entries import ENTRIES
from maxmargin.core.names import closed_over, names_in, read_globals

#: Packages whose functions call none of ours.
_FOREIGN = ("numpy", "numba", "scipy")

__all__ = ["used_entries", "used_functions"]


def used_entries(function: Callable, *kinds: type) -> frozenset[Callable]:
    """Return the generic functions with an entry that a function calls, directly or through others.

    Other generic functions are followed into their implementations for `kinds`, such as the type of
    a search. Too many may be found, where a name is in the code and not called; never too few,
    because compiled code calls only what its names mean.

    Examples
    --------
    >>> from maxmargin.core.problem import evaluate
    >>> sorted(function.__name__ for function in used_entries(evaluate))
    ['find', 'potentials']
    """
    return frozenset(each for each in used_functions(function, *kinds) if each in ENTRIES)


def used_functions(function: Callable, *kinds: type) -> frozenset[Callable]:
    """Return the generic functions that a function calls; see `used_entries`."""
    found: set[Callable] = set()
    seen: set[int] = set()
    left: list[Any] = [function]
    while left:
        here = left.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        if hasattr(here, "implementations"):
            found.add(here)
            if here in ENTRIES:
                continue
            for own in (implementation(here, kind) for kind in kinds):
                left += [] if own is None else [own]
            left.append(here.__wrapped__)
        else:
            left += _named(here)
    return frozenset(found)


def _named(function: Callable) -> Iterator[Any]:
    """Yield the functions that the names in a function's code mean."""
    plain = getattr(function, "py_func", function)
    if not inspect.isfunction(plain):
        return
    known = [*read_globals(plain).values(), *closed_over(plain).values()]
    modules = [value for value in known if inspect.ismodule(value)]
    for name, module in itertools.product(names_in(plain.__code__), modules):
        known += [getattr(module, name)] if hasattr(module, name) else []
    for value in known:
        if hasattr(value, "implementations") or _is_followed(value):
            yield value


def _is_followed(value: Any) -> bool:
    """Tell whether a value is a function that may call generic functions."""
    plain = getattr(value, "py_func", value)
    return inspect.isfunction(plain) and plain.__module__.partition(".")[0] not in _FOREIGN

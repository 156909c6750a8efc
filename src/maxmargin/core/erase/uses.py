"""Which entries a pass or a search calls, found in its code before it is compiled or loaded."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from maxmargin.core.dispatch import implementation
from maxmargin.core.erase.entries import ENTRIES

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
    known = dict(plain.__globals__)
    if plain.__closure__:
        for name, cell in zip(plain.__code__.co_freevars, plain.__closure__, strict=True):
            known[name] = cell.cell_contents
    names = list(_names(plain.__code__))
    modules = [known[name] for name in names if inspect.ismodule(known.get(name))]
    for name in names:
        for value in (known.get(name), *(getattr(module, name, None) for module in modules)):
            if hasattr(value, "implementations") or _is_followed(value):
                yield value


def _is_followed(value: Any) -> bool:
    """Tell whether a value is a function that may call generic functions."""
    plain = getattr(value, "py_func", value)
    return inspect.isfunction(plain) and plain.__module__.partition(".")[0] not in _FOREIGN


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)

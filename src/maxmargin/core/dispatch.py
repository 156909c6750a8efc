"""Generic functions: one name, one implementation per type.

A solver pass is written once, over the functions of `maxmargin.core.contract`. Each of them has one
implementation per type, chosen by
the type of its first argument (of its first two where it says so): at compile time where these are
NamedTuples of arrays, at call time where the same pass runs as plain Python. ::

    @implements(margin_error, MyData)
    def _margin_error(data, i, theta, outputs, at): ...

serves both. The body of a declaration marked `generic_with_default` serves types without an
implementation of their own; the others have none.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from numba.core.errors import TypingError
from numba.extending import overload

from maxmargin.core.cache import add_source

_PACKAGE = __name__.partition(".")[0]


def generic(declaration: Callable, n_dispatch: int = 1, has_default: bool = False) -> Callable:
    """Turn a declaration (signature and contract) into a generic function.

    Its body is not looked at, unless it is said to be the default.
    """
    table: dict[tuple[Any, ...], Callable] = {}

    def missing(names: Iterable[str]) -> str:
        name, kinds = declaration.__name__, ", ".join(names)
        return f"{name!r} is not implemented for {kinds} (see maxmargin.core.contract)."

    @functools.wraps(declaration)
    def call(*arguments: Any) -> Any:
        kinds = tuple(map(type, arguments[:n_dispatch]))
        implementation = table.get(kinds, declaration if has_default else None)
        if implementation is None:
            raise TypeError(missing(kind.__name__ for kind in kinds))
        return implementation(*arguments)

    @functools.wraps(declaration)
    def choose(*types: Any) -> Callable:
        # `instance_class` and not the numba type: a NamedTuple whose fields all have one type is a
        # different numba type than one whose fields do not.
        kinds = tuple(getattr(kind, "instance_class", None) for kind in types[:n_dispatch])
        implementation = table.get(kinds, declaration if has_default else None)
        if implementation is None:
            pairs = zip(kinds, types, strict=False)
            raise TypingError(missing(getattr(kind, "__name__", str(t)) for kind, t in pairs))
        return implementation

    call.implementations = table  # type: ignore[attr-defined]
    # Nobody calls these from C, and every wrapper left out is compile time saved.
    overload(call, jit_options={"error_model": "numpy", "no_cfunc_wrapper": True})(choose)
    return call


generic_on_two = functools.partial(generic, n_dispatch=2)
generic_with_default = functools.partial(generic, has_default=True)
generic_on_two_with_default = functools.partial(generic, n_dispatch=2, has_default=True)


def implements(function: Callable, *kinds: type) -> Callable[[Callable], Callable]:
    """Register the decorated function as the implementation of `function` for these types.

    Raises TypeError where its arguments are not those of the declaration, by name and in order.
    """

    def register(implementation: Callable) -> Callable:
        _check_arguments(function, implementation)
        function.implementations[kinds] = implementation  # type: ignore[attr-defined]
        # The code is compiled only where all these types meet, so one of them is enough to find its
        # source by. A type of ours would take the source of a user, or a test, into everything.
        foreign = [kind for kind in kinds if kind.__module__.partition(".")[0] != _PACKAGE]
        for kind in foreign or kinds:
            add_source(kind, implementation)
        return implementation

    return register


def _check_arguments(function: Callable, implementation: Callable) -> None:
    declared, given = map(_arguments, (function, implementation))
    if given != declared:
        raise TypeError(
            f"{implementation.__module__}.{implementation.__name__} has the arguments "
            f"({', '.join(given)}), but {function.__name__!r} is declared with "
            f"({', '.join(declared)}) in {function.__module__}."
        )


def _arguments(function: Callable) -> list[str]:
    """Return the arguments of a function; a default or a star, which none may have, shows."""
    parameters = inspect.signature(function).parameters.values()
    return [str(each.replace(annotation=inspect.Parameter.empty)) for each in parameters]


def has(function: Callable, *kinds: type) -> bool:
    """Tell whether types have an implementation of their own of a generic function."""
    return kinds in function.implementations  # type: ignore[attr-defined]

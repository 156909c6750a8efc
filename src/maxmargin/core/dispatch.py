"""Generic functions: one name, one implementation per type.

A solver pass is written once, over the functions of `maxmargin.core.contract`. Each of them has one
implementation per type, chosen by the type of its first argument, or of its first two if it says
so: at compile time if these are NamedTuples of arrays, at call time if the same pass runs as plain
Python. ::

    @implements(margin_error, MyData)
    def _margin_error(data, i, theta, outputs, at): ...

serves both. If a declaration is marked `generic_with_default`, its body is the implementation for
all types that have none of their own; other declarations have no default.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from maxmargin.core.compile import overloads


def generic(declaration: Callable, n_dispatch: int = 1, has_default: bool = False) -> Callable:
    """Turn a declaration (signature and contract) into a generic function.

    The implementation is chosen by the types of the first `n_dispatch` arguments. The body of the
    declaration is used only if `has_default`.
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
        # Look up `instance_class`, not the numba type: a NamedTuple class has one numba type if all
        # its fields are of the same type, and another if they are not.
        kinds = tuple(getattr(kind, "instance_class", None) for kind in types[:n_dispatch])
        implementation = table.get(kinds, declaration if has_default else None)
        if implementation is None:
            from numba.core.errors import TypingError

            pairs = zip(kinds, types, strict=False)
            raise TypingError(missing(getattr(kind, "__name__", str(t)) for kind, t in pairs))
        return implementation

    call.implementations = table  # type: ignore[attr-defined]
    call.declaration, call.n_dispatch = declaration, n_dispatch  # type: ignore[attr-defined]
    call.has_default = has_default  # type: ignore[attr-defined]
    overloads(call)(choose)
    return call


generic_on_two = functools.partial(generic, n_dispatch=2)
generic_with_default = functools.partial(generic, has_default=True)
generic_on_two_with_default = functools.partial(generic, n_dispatch=2, has_default=True)


def implements(function: Callable, *kinds: type) -> Callable[[Callable], Callable]:
    """Register the decorated function as the implementation of `function` for these types.

    Raises TypeError if its arguments differ from those of the declaration in name or order.
    """

    def register(implementation: Callable) -> Callable:
        _check_arguments(function, implementation)
        function.implementations[kinds] = implementation  # type: ignore[attr-defined]
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
    """Return the arguments of a function as text, with defaults and stars; none may have these."""
    parameters = inspect.signature(function).parameters.values()
    return [str(each.replace(annotation=inspect.Parameter.empty)) for each in parameters]


def has(function: Callable, *kinds: type) -> bool:
    """Tell whether `function` has an implementation for exactly these types, defaults aside."""
    return kinds in function.implementations  # type: ignore[attr-defined]

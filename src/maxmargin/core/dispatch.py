"""Generic functions: one name, one implementation per type or family of types.

A solver pass is written once, over the functions of `maxmargin.core.contract`. Each of them has one
implementation per type, chosen by the type of its first argument, or of its first two if it says
so: at compile time if these are NamedTuples of arrays, at call time if the same pass runs as plain
Python. ::

    @implements(margin_error, MyData)
    def _margin_error(data, i, theta, outputs, at): ...

serves both. If a declaration is marked `generic_with_default`, its body is the implementation for
all types that have none of their own; other declarations have no default.

A type may belong to families, which are empty classes (`belongs`). What is implemented for a family
serves each of its types that has no implementation of its own. So one function serves a structure
with every cost of its parts, or several structures that differ only in inference: ::

    @implements(k_best, MulticlassData, CostOfPositions)
    def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at): ...
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from maxmargin.core.compile import overloads

T = TypeVar("T", bound=type)

#: The families of each type that has any, and the types of each family.
_FAMILIES: dict[type, tuple[type, ...]] = {}
_MEMBERS: dict[type, list[type]] = {}


def generic(declaration: Callable, n_dispatch: int = 1, has_default: bool = False) -> Callable:
    """Turn a declaration (signature and contract) into a generic function.

    The implementation is chosen by the types of the first `n_dispatch` arguments. The body of the
    declaration is used only if `has_default`.
    """
    table: dict[tuple[Any, ...], Callable] = {}
    fallback = declaration if has_default else None

    def missing(names: Iterable[str]) -> str:
        name, kinds = declaration.__name__, ", ".join(names)
        return f"{name!r} is not implemented for {kinds} (see maxmargin.core.contract)."

    @functools.wraps(declaration)
    def call(*arguments: Any) -> Any:
        kinds = tuple(map(type, arguments[:n_dispatch]))
        implementation = _find(table, kinds) or fallback
        if implementation is None:
            raise TypeError(missing(kind.__name__ for kind in kinds))
        return implementation(*arguments)

    @functools.wraps(declaration)
    def choose(*types: Any) -> Callable:
        # Look up `instance_class`, not the numba type: a NamedTuple class has one numba type if all
        # its fields are of the same type, and another if they are not.
        kinds = tuple(getattr(kind, "instance_class", None) for kind in types[:n_dispatch])
        implementation = _find(table, kinds) or fallback
        if implementation is None:
            from numba.core.errors import TypingError

            pairs = zip(kinds, types, strict=False)
            raise TypingError(missing(getattr(kind, "__name__", str(t)) for kind, t in pairs))
        return implementation

    call.implementations = table  # type: ignore[attr-defined]
    call.default, call.n_dispatch = fallback, n_dispatch  # type: ignore[attr-defined]
    overloads(call)(choose)
    return call


generic_on_two = functools.partial(generic, n_dispatch=2)
generic_with_default = functools.partial(generic, has_default=True)
generic_on_two_with_default = functools.partial(generic, n_dispatch=2, has_default=True)


def _find(table: dict[tuple[Any, ...], Callable], kinds: tuple[Any, ...]) -> Callable | None:
    """Return the implementation for these types, or None.

    A type comes before its families, and these come in the order in which it names them. Of two
    arguments the first decides: (type, family) comes before (family, type).
    """
    if kinds in table:
        return table[kinds]
    for known in itertools.product(*((kind, *_FAMILIES.get(kind, ())) for kind in kinds)):
        if known in table:
            return table[known]
    return None


def belongs(*families: type) -> Callable[[T], T]:
    """Make the decorated type a member of families, whose implementations then serve it.

    A type joins where it is defined, so that which implementation it gets does not depend on what
    else was imported.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Lengths: "Family of what is measured in metres."
    >>> @generic
    ... def double(data): "Return twice a length."
    >>> @implements(double, Lengths)
    ... def _double(data):
    ...     return 2.0 * data.metres
    >>> @belongs(Lengths)
    ... class Rope(NamedTuple):
    ...     metres: float
    >>> double(Rope(4.0)), has(double, Rope)
    (8.0, True)
    """

    def join(cls: T) -> T:
        if getattr(sys.modules.get(cls.__module__), cls.__name__, None) is cls:
            raise TypeError(f"{cls.__name__} must join its families where it is defined.")
        _FAMILIES[cls] = families
        for family in families:
            _MEMBERS.setdefault(family, []).append(cls)
        return cls

    return join


def implements(function: Callable, *kinds: type) -> Callable[[Callable], Callable]:
    """Register the decorated function as the implementation of `function` for types or families.

    Raises TypeError if its arguments differ from those of the declaration in name or order, or if
    `function` is chosen by another number of types.
    """

    def register(implementation: Callable) -> Callable:
        _check_arguments(function, implementation)
        n_dispatch = function.n_dispatch  # type: ignore[attr-defined]
        if len(kinds) != n_dispatch:
            raise TypeError(
                f"{function.__name__!r} is chosen by {n_dispatch} types, got {len(kinds)}."
            )
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


def implementation(function: Callable, *kinds: type) -> Callable | None:
    """Return the implementation of `function` for these types or families of them.

    None if there is none; defaults do not count.
    """
    return _find(function.implementations, kinds)  # type: ignore[attr-defined]


def has(function: Callable, *kinds: type) -> bool:
    """Tell whether `function` has an implementation for these types or families of them.

    Defaults do not count.
    """
    return _find(function.implementations, kinds) is not None  # type: ignore[attr-defined]


def families(cls: type) -> tuple[type, ...]:
    """Return the families of a type, in the order in which it names them."""
    return _FAMILIES.get(cls, ())


def second_types(function: Callable, kind: type) -> list[type]:
    """Return the types that `function`, chosen by two, is implemented for together with `kind`."""
    firsts = (kind, *_FAMILIES.get(kind, ()))
    found: dict[type, None] = {}
    for first, second in function.implementations:  # type: ignore[attr-defined]
        if first in firsts:
            found.update(dict.fromkeys(_MEMBERS.get(second, (second,))))
    return list(found)

"""The run-time switch between the built-in surrogates, made from their registry.

The switches are kernels over numbers only. So each is compiled once and then comes from the cache,
whatever pass, structure or search calls it. If all these branches were compiled again for every
caller, that would cost half a second per function.

This module writes the text of a kernel, one branch per module of the registry that has a `KIND`:

    def _builtin_psi(kind, p, q, h, g):
        if kind == 0:
            return margin.psi(p, q, h, g)
        ...
        raise ValueError(...)

The kernel names this file as its source file. This file exists, so the cache keeps the kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from maxmargin.core.compile import kernel
from maxmargin.core.contract import conjugate, implements, order_value, psi, tilt
from maxmargin.surrogates import SURROGATES  # defined by now: the package imports this file last
from maxmargin.surrogates.base import BuiltinSurrogate

#: The functions that a module with a `KIND` implements, and their arguments after p and q.
FUNCTIONS = {
    "psi": ("h", "g"),
    "conjugate": ("slope", "g"),
    "tilt": ("h", "g"),
    "order_value": ("h", "g"),
}

UNKNOWN = "The surrogate has a kind that no module of maxmargin.surrogates has."


def kinds(surrogates: Iterable[type]) -> dict[int, ModuleType]:
    """Return the modules of these classes by their `KIND`.

    Refuses a `KIND` that is no int or is used twice, and a module without all of `FUNCTIONS`. A
    class whose module has no `KIND`, such as `BetaScaling`, compiles to the kind of another module.
    """
    found: dict[int, ModuleType] = {}
    for cls in surrogates:
        module = sys.modules[cls.__module__]
        kind = getattr(module, "KIND", None)
        if kind is None:
            continue
        if type(kind) is not int:
            raise TypeError(f"KIND of {module.__name__} must be an int, got {kind!r}.")
        if found.setdefault(kind, module) is not module:
            raise ValueError(
                f"KIND of {module.__name__} is {kind}, that of {found[kind].__name__}: each "
                "surrogate needs one of its own."
            )
        missing = [name for name in FUNCTIONS if not callable(getattr(module, name, None))]
        if missing:
            raise TypeError(f"{module.__name__} has a KIND but no {', '.join(missing)}.")
    return found


def switch_between(modules: dict[int, ModuleType], name: str) -> Callable[..., Any]:
    """Return a kernel that takes a kind first, and calls `name` of the module of that kind."""
    arguments = ", ".join(("p", "q", *FUNCTIONS[name]))
    lines = [f"def _builtin_{name}(kind, {arguments}):"]
    names = {module.__name__.rpartition(".")[2]: module for module in modules.values()}
    for kind, module in modules.items():
        short = module.__name__.rpartition(".")[2]
        lines.append(f"    if kind == {kind}:")
        lines.append(f"        return {short}.{name}({arguments})")
    lines.append(f"    raise ValueError({UNKNOWN!r})")
    namespace: dict[str, Any] = {"__name__": __name__, **names}
    # The cache tracks changes of the files of this package only. If a module comes from elsewhere,
    # the kernel gets a file name that does not exist, so that the cache does not keep it.
    is_ours = all(module.__name__.startswith(f"{__package__}.") for module in modules.values())
    text = "\n".join(lines)
    exec(compile(text, __file__ if is_ours else "<switch>", "exec"), namespace)
    function = namespace[f"_builtin_{name}"]
    function.text = text  # for stamps
    return kernel(function)


KINDS = kinds(SURROGATES.values())
_builtin_psi = switch_between(KINDS, "psi")
_builtin_conjugate = switch_between(KINDS, "conjugate")
_builtin_tilt = switch_between(KINDS, "tilt")
_builtin_order_value = switch_between(KINDS, "order_value")


@implements(psi, BuiltinSurrogate)
def _psi(surrogate, h, g):
    return _builtin_psi(surrogate.kind, surrogate.p, surrogate.q, float(h), float(g))


@implements(conjugate, BuiltinSurrogate)
def _conjugate(surrogate, slope, g):
    return _builtin_conjugate(surrogate.kind, surrogate.p, surrogate.q, float(slope), float(g))


@implements(tilt, BuiltinSurrogate)
def _tilt(surrogate, h, g):
    return _builtin_tilt(surrogate.kind, surrogate.p, surrogate.q, float(h), float(g))


@implements(order_value, BuiltinSurrogate)
def _order_value(surrogate, h, g):
    return _builtin_order_value(surrogate.kind, surrogate.p, surrogate.q, float(h), float(g))

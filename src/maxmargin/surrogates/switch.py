"""The run-time switch between the built-in surrogates, made from their registry.

Kernels over numbers only, so that each is compiled once and then comes from the cache, whatever
pass, structure or search it is called from: compiled anew with each of them, all these branches
would cost half a second a function.

The text of a kernel is written here, one branch for each module of the registry that has a `KIND`:

    def _builtin_psi(kind, p, q, h, g):
        if kind == 0:
            return margin.psi(p, q, h, g)
        ...
        raise ValueError(...)

Its code says that it is from this file, which exists; so the cache of compiled code keeps it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from maxmargin.core.compile import kernel
from maxmargin.core.contract import conjugate, implements, order_value, psi, tilt
from maxmargin.surrogates import SURROGATES  # there by now: the package imports this file last
from maxmargin.surrogates.base import BuiltinSurrogate

#: What a module with a `KIND` implements, after its two parameters p and q.
FUNCTIONS = {
    "psi": ("h", "g"),
    "conjugate": ("slope", "g"),
    "tilt": ("h", "g"),
    "order_value": ("h", "g"),
}

UNKNOWN = "The surrogate has a kind that no module of maxmargin.surrogates has."


def kinds(surrogates: Iterable[type]) -> dict[int, ModuleType]:
    """Return the modules of these classes by their `KIND`; refuse what the switch cannot take.

    A class whose module has no `KIND`, such as `BetaScaling`, compiles to that of another module.
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
    """Return the kernel that calls the function `name` of the module whose kind it is given."""
    arguments = ", ".join(("p", "q", *FUNCTIONS[name]))
    lines = [f"def _builtin_{name}(kind, {arguments}):"]
    names = {module.__name__.rpartition(".")[2]: module for module in modules.values()}
    for kind, module in modules.items():
        short = module.__name__.rpartition(".")[2]
        lines.append(f"    if kind == {kind}:")
        lines.append(f"        return {short}.{name}({arguments})")
    lines.append(f"    raise ValueError({UNKNOWN!r})")
    namespace: dict[str, Any] = {"__name__": __name__, **names}
    # The cache stamps the files of this package; with a module from elsewhere it must keep nothing.
    is_ours = all(module.__name__.startswith(f"{__package__}.") for module in modules.values())
    exec(compile("\n".join(lines), __file__ if is_ours else "<switch>", "exec"), namespace)
    return kernel(namespace[f"_builtin_{name}"])


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

"""The run-time switch between kinds of factors, made from their registry.

The text of a kernel is written here, one branch per module of the registry:

    def switch_value(shape, tables, factor, labels):
        kind = shape.kinds[factor]
        if kind == 0:
            return table.value(shape, tables, factor, labels)
        ...
        raise ValueError(...)

The kernel names this file as its source file. This file exists, so the cache keeps the kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

from maxmargin.core.compile import jitable, kernel
from maxmargin.inference.graph.factors import FACTORS  # defined by now: imported last

#: The functions that the module of a kind has, and their arguments.
FUNCTIONS = {
    "message": ("shape", "tables", "factor", "slot", "incoming", "out"),
    "value": ("shape", "tables", "factor", "labels"),
}

UNKNOWN = "The factor has a kind that no module of maxmargin.inference.graph.factors has."


def kinds(factors: Iterable[type]) -> dict[int, ModuleType]:
    """Return the modules of these classes by their `KIND`.

    Refuses a `KIND` that is no int or is used twice, and a module without all of `FUNCTIONS`.
    """
    found: dict[int, ModuleType] = {}
    for cls in factors:
        module = sys.modules[cls.__module__]
        kind = getattr(module, "KIND", None)
        if type(kind) is not int:
            raise TypeError(f"KIND of {module.__name__} must be an int, got {kind!r}.")
        if found.setdefault(kind, module) is not module:
            raise ValueError(
                f"KIND of {module.__name__} is {kind}, that of {found[kind].__name__}: each kind "
                "of factor needs one of its own."
            )
        missing = [name for name in FUNCTIONS if not callable(getattr(module, name, None))]
        if missing:
            raise TypeError(f"{module.__name__} has a KIND but no {', '.join(missing)}.")
    return found


def switch_between(modules: dict[int, ModuleType], name: str) -> Callable[..., Any]:
    """Return a kernel that calls `name` of the module of the kind of a factor."""
    arguments = ", ".join(FUNCTIONS[name])
    lines = [f"def switch_{name}({arguments}):", "    kind = shape.kinds[factor]"]
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
    function = namespace[f"switch_{name}"]
    function.text = text  # for stamps
    return kernel(function)


KINDS = kinds(FACTORS.values())
switch_message = switch_between(KINDS, "message")
switch_value = switch_between(KINDS, "value")


# Numbers of factors and slots are int32 where they are read from a shape, int64 where they are
# counted. The kernels are large, so they are compiled for one of the two types.
@jitable
def factor_message(
    shape: Any, tables: Any, factor: int, slot: int, incoming: Any, out: Any
) -> None:
    """Fill out with the message of a factor to the node of a slot, see base.py."""
    switch_message(shape, tables, np.int64(factor), np.int64(slot), incoming, out)


@jitable
def factor_value(shape: Any, tables: Any, factor: int, labels: Any) -> float:
    """Return the value of a factor at a labelling of all nodes."""
    return switch_value(shape, tables, np.int64(factor), labels)

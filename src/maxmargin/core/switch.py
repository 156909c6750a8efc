"""Switches at run time between the modules of a registry: kernels whose text is written here.

A module takes part by its `KIND`, an int of its own, and by functions of agreed names. The kernel

    def switch_value(shape, tables, factor, labels):
        kind = shape.kinds[factor]
        if kind == 0:
            return table.value(shape, tables, factor, labels)
        ...
        raise ValueError(...)

is compiled once and then comes from the cache, whoever calls it. It names the file of the switch
of a registry as its source. That file exists, so the cache keeps the kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from maxmargin.core.compile import kernel


class Switch(NamedTuple):
    """A switch between modules, by the functions that each of them has.

    Attributes
    ----------
    module : name of the module that the kernels belong to, within the package of the registry
    file : its file
    arguments : names of the arguments by function
    kind : the expression of the kind; without one the kernels take `kind` first
    what : what has a kind, for messages
    """

    module: str
    file: str
    arguments: dict[str, Sequence[str]]
    kind: str | None
    what: str

    def kinds(self, classes: Iterable[type], may_lack: bool = False) -> dict[int, ModuleType]:
        """Return the modules of these classes by their `KIND`; `may_lack` leaves out those without.

        Refuses a `KIND` that is no int or is used twice, and a module that lacks a function.
        """
        found: dict[int, ModuleType] = {}
        for cls in classes:
            module = sys.modules[cls.__module__]
            kind = getattr(module, "KIND", None)
            if kind is None and may_lack:
                continue
            if type(kind) is not int:
                raise TypeError(f"KIND of {module.__name__} must be an int, got {kind!r}.")
            if found.setdefault(kind, module) is not module:
                raise ValueError(
                    f"KIND of {module.__name__} is {kind}, that of {found[kind].__name__}: each "
                    f"{self.what} needs one of its own."
                )
            missing = [name for name in self.arguments if not callable(getattr(module, name, None))]
            if missing:
                raise TypeError(f"{module.__name__} has a KIND but no {', '.join(missing)}.")
        return found

    def between(self, modules: dict[int, ModuleType], name: str) -> Callable[..., Any]:
        """Return a kernel that calls `name` of the module of a kind."""
        package = self.module.rpartition(".")[0]
        arguments = ", ".join(self.arguments[name])
        if self.kind is None:
            lines = [f"def switch_{name}(kind, {arguments}):"]
        else:
            lines = [f"def switch_{name}({arguments}):", f"    kind = {self.kind}"]
        names = {module.__name__.rpartition(".")[2]: module for module in modules.values()}
        for kind, module in modules.items():
            short = module.__name__.rpartition(".")[2]
            lines.append(f"    if kind == {kind}:")
            lines.append(f"        return {short}.{name}({arguments})")
        unknown = f"The {self.what} has a kind that no module of {package} has."
        lines.append(f"    raise ValueError({unknown!r})")
        namespace: dict[str, Any] = {"__name__": self.module, **names}
        # The cache tracks changes of the files of this package only. If a module comes from
        # elsewhere, the kernel gets a file name that does not exist, so that the cache does not
        # keep it.
        is_ours = all(module.__name__.startswith(f"{package}.") for module in modules.values())
        text = "\n".join(lines)
        exec(compile(text, self.file if is_ours else "<switch>", "exec"), namespace)
        function = namespace[f"switch_{name}"]
        function.text = text  # for stamps
        return kernel(function)

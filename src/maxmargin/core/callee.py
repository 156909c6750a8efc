"""Functions that only compiled code calls: they get no machine code of their own.

numba makes machine code of every function that it compiles, and also links its module into each
caller, where machine code is made of it again. For a function that Python never calls the first is
wasted. The compiler here leaves it out: a callee is typed, lowered, optimised, and linked into its
callers. It is optimised, although its callers are too: passes whose callees had not been were 4 to
7% slower. Only the function that an entry calls (see core/erase) is left to the entry, which is
nothing but this call: else the largest module of all would be optimised twice.

Private parts of numba: `JITCodeLibrary` and the steps of its `finalize`, `Compiler.compile_extra`
with `state.library`. The option `pipeline_class` is public. Where numba has no such parts, callees
are compiled as all functions are, which takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm

try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
except ImportError:
    JITCodeLibrary = Compiler = object

__all__ = ["CALLEE", "compiling_entry"]

_STEPS = (
    "_optimize_final_module",
    "_finalize_dynamic_globals",
    "_verify_declare_only_symbols",
    "enable_object_caching",
)

#: For the entry that is being compiled, how many callees are, one within the other. numba compiles
#: one function at a time, under a lock.
_DEPTHS: list[int] = []


@contextmanager
def compiling_entry() -> Iterator[None]:
    """Say that an entry is compiled, a function that does nothing but call another one."""
    _DEPTHS.append(0)
    try:
        yield
    finally:
        _DEPTHS.pop()


class _Environments:
    """numba's code generator, where the environment of a function gets a place of its own.

    From its environment compiled code takes what an exception is made with. Its place is a variable
    in the function's module, which is no machine code here; callers share a variable of that name.
    """

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, env: Any) -> None:
        """Make the variable, and put the environment there."""
        module = llvm.parse_assembly(f'@"{name}" = common global i8* null')
        module.triple, module.data_layout = llvm.get_process_triple(), self._codegen._data_layout
        self._codegen._add_module(module)
        self._codegen.set_env(name, env)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


class _CalleeLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of one function, to be linked into its callers."""

    #: Whether it is left as it is, because its caller is an entry.
    is_for_entry = False

    @property
    def codegen(self) -> Any:
        return _Environments(self._codegen)

    def _optimize_final_module(self) -> None:
        """Optimise the module, unless its caller will."""
        if not self.is_for_entry:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        """Check the module, and make no machine code of it."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0 for the function that Python would call; there is none."""
        self._ensure_finalized()
        if name.startswith("_ZN7cpython"):
            return 0
        raise RuntimeError(f"{self.name} is compiled for callers alone, and has no address.")


class _CalleeCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler, with a library of ours to put the code into."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        codegen = self.state.targetctx.codegen()
        self.state.library = _CalleeLibrary(codegen, func.__qualname__)
        self.state.library.enable_object_caching()
        if not _DEPTHS:
            return super().compile_extra(func)
        self.state.library.is_for_entry = _DEPTHS[-1] == 0
        _DEPTHS[-1] += 1
        try:
            return super().compile_extra(func)
        finally:
            _DEPTHS[-1] -= 1


#: Options of numba for such a function.
CALLEE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
if all(hasattr(JITCodeLibrary, step) for step in _STEPS):
    CALLEE["pipeline_class"] = _CalleeCompiler

"""Functions that only compiled code calls: they get no machine code of their own.

numba makes machine code of every function that it compiles, and also links its module into each
caller, where machine code is made of it again. For a function that Python never calls the first is
wasted. The compiler here leaves it out: a callee is typed, lowered, optimised, and linked into its
callers. It is optimised, although its callers are too: passes whose callees had not been were 4 to
7% slower. Only the function that an entry calls (see core/erase) is left to the entry, which is
nothing but this call: else the largest module of all would be optimised twice.

A large callee is not linked into the callees that call it, only into entries. numba links a module
into all callers and callers of callers, and optimises it in each of them; but a large function is
inlined nowhere, so all of this work is repeated in vain. Large modules lie apart, and each is
optimised twice: by itself, and in the entry.

Private parts of numba: `JITCodeLibrary` and the steps of its `finalize`, `Compiler.compile_extra`
with `state.library`. The option `pipeline_class` is public.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

__all__ = ["CALLEE", "compiling_entry"]

#: From this number of instructions on a callee is large. LLVM inlines functions that cost less than
#: 250, an instruction mostly costs 5, and constant arguments save a part of them.
LARGE = 400

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


class _Light:
    """A callee as another callee links it: without what lies apart."""

    def __init__(self, library: _CalleeLibrary) -> None:
        self._library = library
        self._reload_init = library._reload_init

    def _get_module_for_linking(self) -> Any:
        return self._library.light_module()


class _CalleeLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of one function, to be linked into its callers."""

    #: Whether it is left as it is, because its caller is an entry.
    is_for_entry = False
    _linking_libraries: list[Any]
    _is_large: bool | None = None
    _whole_module: Any = None

    @property
    def codegen(self) -> Any:
        return _Environments(self._codegen)

    def finalize(self) -> None:
        """Link what may be inlined, and optimise; note what is large, for the entry."""
        self._own = [each.name for each in self._final_module.functions if _is_defined(each)]
        self._apart: dict[_CalleeLibrary, None] = {}
        linked = []
        for library in dict.fromkeys(self._linking_libraries):
            if not isinstance(library, _CalleeLibrary):
                linked.append(library)
                continue
            self._apart.update(library._apart)
            if library.is_large:
                self._apart[library] = None
            else:
                linked.append(_Light(library))
        self._linking_libraries = linked
        super().finalize()

    @property
    def is_large(self) -> bool:
        """Whether it lies apart, because no caller would inline it."""
        if self._is_large is None:
            own = [self._final_module.get_function(name) for name in self._own]
            is_inlined = any(b"alwaysinline" in text for each in own for text in each.attributes)
            self._is_large = not is_inlined and _has_instructions(own, LARGE)
        return self._is_large

    def light_module(self) -> Any:
        """Return the module without what lies apart."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        """Return the module with all that it calls."""
        if self._whole_module is None:
            module = self.light_module()
            if self._apart:
                module = module.clone()
                # Callers before callees: only what is called already is linked.
                for library in reversed(self._apart):
                    module.link_in(library.light_module(), preserve=True)
            self._whole_module = module
        return self._whole_module

    def _optimize_final_module(self) -> None:
        """Optimise the module, unless its caller will."""
        if not self.is_for_entry:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        """Make no machine code of the module. What it lacks is looked for in the entry."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0 for the function that Python would call; there is none."""
        self._ensure_finalized()
        if name.startswith("_ZN7cpython"):
            return 0
        raise RuntimeError(f"{self.name} is compiled for callers alone, and has no address.")


def _is_defined(function: Any) -> bool:
    return not function.is_declaration


def _has_instructions(functions: Any, least: int) -> bool:
    """Tell whether functions have at least so many instructions, without counting all."""
    found = (
        each for function in functions for block in function.blocks for each in block.instructions
    )
    return next(itertools.islice(found, least - 1, None), None) is not None


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
CALLEE = {"pipeline_class": _CalleeCompiler, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

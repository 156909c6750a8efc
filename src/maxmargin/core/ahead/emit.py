"""From compiled entries to a shared library; used where a library is built, never by users.

numba has the optimised LLVM module of each entry. They are linked into one module, in which what
several entries call is there once, and turned into one object that can be loaded at any address.

What is left undefined is of two kinds. Functions of the C library are linked as usual. Functions of
numba's runtime (allocation, reshaping, products of matrices) are known by their addresses only, to
whom has imported numba: each becomes a jump through a table, `mm_helpers`, that the loader fills.

Private parts of numba and llvmlite: `library._get_module_for_linking`, `fndesc.llvm_func_name`,
`codegen()._tm_features`, `library.has_dynamic_globals`, `rtsys.library` and
`CPUCallConv.build_excinfo_struct`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core.callconv import CPUCallConv
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

__all__ = ["BuildError", "leave_out_folders", "write_library"]

_HELPERS = ("NRT_", "numba_")


class BuildError(Exception):
    """Something cannot be part of a library."""


def write_library(path: Path, codes: Mapping[str, Any], compiler: str = "cc") -> list[str]:
    """Write a shared library with compiled entries; return the names of numba's helpers it needs.

    Parameters
    ----------
    path : where to write it
    codes : numba's compile results by the names that their functions get in the library
    compiler : command that links
    """
    whole = _linked(codes)
    helpers = _helpers_of(whole)
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=numba.config.CPU_NAME or llvm.get_host_cpu_name(),
        features=cpu_target.target_context.codegen()._tm_features,
        opt=3,
        reloc="pic",
        codemodel="default",
    )
    with tempfile.TemporaryDirectory() as folder:
        code, jumps = os.path.join(folder, "code.o"), os.path.join(folder, "jumps.S")
        Path(code).write_bytes(machine.emit_object(whole))
        Path(jumps).write_text(_jumps(helpers), encoding="ascii")
        path.parent.mkdir(parents=True, exist_ok=True)
        command = [compiler, "-shared", "-o", str(path), code, jumps, "-lm", "-s"]
        # --no-undefined: what the loader could not find is found out now.
        command += ["-Wl,--no-undefined", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,-z,noexecstack"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{compiler} could not link the library:\n{done.stderr[-4000:]}")
    _check_folders(path)
    return helpers


def leave_out_folders() -> None:
    """Let exceptions of what is compiled from now on name files without this machine's folders."""
    whole = CPUCallConv.build_excinfo_struct
    if getattr(whole, "leaves_out_folders", False):
        return

    def build_excinfo_struct(self: Any, *given: Any) -> Any:
        kind, arguments, place = whole(self, *given)
        return kind, arguments, place and (place[0], _below_a_folder(place[1]), *place[2:])

    build_excinfo_struct.leaves_out_folders = True  # type: ignore[attr-defined]
    CPUCallConv.build_excinfo_struct = build_excinfo_struct


def _below_a_folder(file: str) -> str:
    """Return a file as it is called below the folder it is imported from: maxmargin/core/x.py."""
    path = Path(os.path.abspath(file))
    folders = [Path(os.path.abspath(folder)) for folder in sys.path]
    found = [folder for folder in folders if path.is_relative_to(folder)]
    return (
        path.relative_to(max(found, key=lambda each: len(each.parts))).as_posix()
        if found
        else path.name
    )


def _check_folders(path: Path) -> None:
    """Refuse a library that names a folder of this machine."""
    content = path.read_bytes()
    package = str(Path(__file__).resolve().parents[__name__.count(".")])
    for folder in {package, sys.prefix, tempfile.gettempdir()}:
        if os.fsencode(folder + os.sep) in content:
            raise BuildError(f"{path.name} names {folder}, a folder of this machine.")


def _linked(codes: Mapping[str, Any]) -> Any:
    """Return one module with all entries under their names, and nothing else visible."""
    whole = llvm.parse_assembly("")
    whole.triple = llvm.get_process_triple()
    whole.data_layout = cpu_target.target_context.codegen()._data_layout
    whole.link_in(rtsys.library._get_module_for_linking(), preserve=True)
    for name, code in codes.items():
        if code.library.has_dynamic_globals:
            raise BuildError(f"{name} holds an address of this process.")
        module = code.library._get_module_for_linking().clone()
        function = module.get_function(code.fndesc.llvm_func_name)
        function.linkage = "external"
        function.name = name
        whole.link_in(module)
    for each in (*whole.functions, *whole.global_variables):
        if not each.is_declaration and each.name not in codes:
            each.linkage = "internal"
    whole.verify()
    return whole


def _helpers_of(module: Any) -> list[str]:
    declared = [each.name for each in module.functions if each.is_declaration]
    return sorted(name for name in declared if name.startswith(_HELPERS))


def _jumps(helpers: Sequence[str]) -> str:
    """Return assembly: the table, and one jump through it for each helper."""
    lines = [
        '.section .note.GNU-stack,"",@progbits',
        ".bss",
        ".balign 8",
        ".globl mm_helpers",
        "mm_helpers:",
        ".Lhelpers:",
        f".zero {8 * max(len(helpers), 1)}",
        ".text",
    ]
    for k, name in enumerate(helpers):
        lines += [f".globl {name}", f".hidden {name}", f"{name}:"]
        lines += [f"jmp *.Lhelpers+{8 * k}(%rip)"]
    return "\n".join([*lines, ""])

"""Kernels that Python calls through their addresses, because their code is there already.

It is in the library that was built ahead, or compiled code calls it through its address as well
(core/sealed.py): then it is compiled once for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types

from maxmargin.core.ahead import library
from maxmargin.core.erase.entries import pass_entry
from maxmargin.core.erase.invoke import can_return, invoker
from maxmargin.core.erase.words import flatten, words_at

__all__ = ["collect_kernels", "kernel_caller"]

_is_collecting = False


def collect_kernels() -> None:
    """From now on, compile every kernel that Python calls as an entry: a library is being built."""
    from maxmargin.core.ahead.emit import leave_out_folders

    global _is_collecting
    _is_collecting = library().is_open = True
    leave_out_folders()


def kernel_caller(kernel: Any, otherwise: Callable[[], Callable]) -> Callable | None:
    """Return a function that calls a kernel through its address; None if it has none.

    Parameters
    ----------
    kernel : Kernel
    otherwise : returns what to call where there is no such code for the types of arguments
    """
    entry = pass_entry(kernel)
    sealed_types = kernel.sealed_types
    if not (_is_collecting or sealed_types or library().has_name(entry.symbol_name)):
        return None

    def find(arguments: tuple[Any, ...]) -> Callable[[int], Any] | None:
        kind = numba.typeof(arguments)
        is_sealed = sealed_types is not None and _fits(kind, sealed_types())
        if is_sealed:
            kind = sealed_types()
        found = entry.find(kind) if _is_collecting or is_sealed else entry.find_built(kind)
        return invoker(*found) if found is not None and can_return(found.result) else None

    def call(*arguments: Any) -> Any:
        words: list[int] = []
        try:
            key = tuple([flatten(value, words) for value in arguments])
        except (TypeError, ValueError, OverflowError):  # no array and no number
            return otherwise()(*arguments)
        if key not in entry.known:
            entry.known[key] = find(arguments)
        run = entry.known[key]
        if run is None:
            return otherwise()(*arguments)
        packed = np.array(words, dtype=np.int64)
        return run(words_at(packed))

    return call


def _fits(own: Any, kind: Any) -> bool:
    """Tell whether code for packed values of one type serves another: it may be writeable."""
    if isinstance(kind, types.BaseTuple) and isinstance(own, types.BaseTuple):
        same = getattr(own, "instance_class", None) is getattr(kind, "instance_class", None)
        return same and len(own) == len(kind) and all(map(_fits, own.types, kind.types))
    if isinstance(kind, types.Array) and isinstance(own, types.Array):
        return own in (kind, kind.copy(readonly=False))
    return bool(own == kind)

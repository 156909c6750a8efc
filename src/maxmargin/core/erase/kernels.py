"""Kernels that Python calls in the library that was built ahead, so that they are not compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

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
    """Return a function that calls a kernel in the library; None if the library has no such kernel.

    Parameters
    ----------
    kernel : Kernel
    otherwise : returns what to call where the library has no code for the types of arguments
    """
    entry = pass_entry(kernel)
    if not (_is_collecting or library().has_name(entry.symbol_name)):
        return None

    def find(arguments: tuple[Any, ...]) -> Callable[[int], Any] | None:
        kind = numba.typeof(arguments)
        found = entry.find(kind) if _is_collecting else entry.find_built(kind)
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

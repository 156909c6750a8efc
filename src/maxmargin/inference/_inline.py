"""Small functions whose code is taken into the kernels that call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba.extending import register_jitable

F = TypeVar("F", bound=Callable[..., Any])


def inlined(function: F) -> F:
    """Let kernels take in a plain function's code wherever they call it.

    A call from kernel to kernel counts the references of every array that it is given, up and down,
    by an atomic instruction each: some 10 ns an array. Where a function is called for every sample
    and does little, that is most of the time.
    """
    return register_jitable(forceinline=True, error_model="numpy", no_cfunc_wrapper=True)(function)

"""Small functions whose code is taken into the kernels that call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from maxmargin.core.compile import jitable

F = TypeVar("F", bound=Callable[..., Any])


def inlined(function: F) -> F:
    """Return a function whose code the compiler copies into every kernel that calls it.

    A call from kernel to kernel raises and lowers the reference count of every array argument by
    atomic instructions, which takes about 10 ns per array. In a small function that is called for
    every sample this would be most of the time.
    """
    return jitable(function, forceinline=True)


def inlined_as_written(function: F) -> F:
    """Do as `inlined`, and keep the order of sums within the function.

    What a caller with fastmath inlines is compiled with fastmath otherwise.
    """
    return jitable(function, forceinline=True, fastmath=False)

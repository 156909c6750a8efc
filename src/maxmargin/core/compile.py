"""Compilation of kernels and solver passes: plain functions in, compiled ones out.

Compiled code is kept on disk, see `maxmargin.core.cache`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import isfunction
from typing import Any, TypeVar, overload

import numba
from numba.extending import register_jitable

from maxmargin.core.cache import attach_cache

__all__ = ["compiled", "jitable", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])

# Our functions are never called from C: compiling no wrapper for C saves time.
_SHARED = {"error_model": "numpy", "no_cfunc_wrapper": True}
# _nrt: it counts references also where the entry that calls it does not (see core/erase/native.py).
_OPTIONS = {"nogil": True, "_nrt": True, **_SHARED}
# Not fastmath=True: that also promises that there are no NaN and no infinities, so the compiler may
# remove tests for them.
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, fastmath: bool = ...) -> Callable[[F], F]: ...
def kernel(function: Any = None, *, fastmath: bool = False) -> Any:
    """Return a function over arrays that is compiled at its first call, and releases the GIL.

    Division by zero gives infinity or NaN, as in numpy. With ``NUMBA_DISABLE_JIT=1`` the function
    is returned as it is.

    Parameters
    ----------
    function : callable
        A function of arrays and numbers. Compiled code does not check bounds: the caller must.
    fastmath : bool, default=False
        Let sums be reordered and products fused. NaN and infinities keep their meaning, but a
        reordered sum over infinities may become NaN: do not use it for logarithms, or where -inf
        means forbidden.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.core.compile import kernel
    >>> @kernel
    ... def total(values):
    ...     result = 0.0
    ...     for value in values:
    ...         result += value
    ...     return result
    >>> total(np.array([1.0, 2.0, 3.5]))
    6.5
    """
    if function is None:
        return functools.partial(_jit, fastmath=fastmath)
    return _jit(function, fastmath=fastmath)


def jitable(function: F) -> F:
    """Let compiled functions call a plain function; in Python it stays a plain function.

    Functions that take a problem are marked so: the passes of solvers, searches, and the functions
    that they share.

    Examples
    --------
    >>> from maxmargin.core.compile import compiled, jitable
    >>> @jitable
    ... def double(x):
    ...     return 2 * x
    >>> @jitable
    ... def quadruple(x):
    ...     return double(double(x))
    >>> compiled(quadruple)(3), quadruple(3)
    (12, 12)
    """
    return register_jitable(**_SHARED)(function)


@functools.cache
def compiled(function: F) -> F:
    """Return the compiled version of a plain function; every call returns the same object.

    The function itself stays a plain function that runs as Python. It is usually marked `jitable`,
    so that compiled functions may call it too.

    Parameters
    ----------
    function : callable
        A function of NamedTuples, arrays and numbers, such as one pass of a solver. A kernel is
        returned as it is.

    Examples
    --------
    >>> from maxmargin.core.compile import compiled
    >>> def square(x):
    ...     return x * x
    >>> compiled(square)(3), square(3)
    (9, 9)
    >>> compiled(square) is compiled(square)
    True
    """
    return function if numba.extending.is_jitted(function) else _jit(function)


def _jit(function: Any, fastmath: bool = False) -> Any:
    if not isfunction(function):
        raise TypeError(f"Only a Python function can be compiled, got {function!r}.")
    options = _OPTIONS | ({"fastmath": _FASTMATH} if fastmath else {})
    dispatcher = numba.njit(**options)(function)
    if numba.extending.is_jitted(dispatcher):  # a plain function under NUMBA_DISABLE_JIT
        attach_cache(dispatcher, f"fastmath={fastmath}")
    return dispatcher

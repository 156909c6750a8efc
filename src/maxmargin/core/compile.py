"""Compilation of kernels and solver passes: plain functions in, compiled ones out.

What is compiled is kept on disk, see `maxmargin.core.cache`.
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

# Nobody calls our functions from C: leaving out that wrapper saves compile time.
_SHARED = {"error_model": "numpy", "no_cfunc_wrapper": True}
_OPTIONS = {"nogil": True, **_SHARED}
# fastmath=True would also promise that there are no NaN and no infinities, and drop their tests.
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, fastmath: bool = ...) -> Callable[[F], F]: ...
def kernel(function: Any = None, *, fastmath: bool = False) -> Any:
    """Compile a leaf function over arrays, when first called, without the interpreter lock.

    Division by zero gives infinity or NaN, as in numpy. With ``NUMBA_DISABLE_JIT=1`` the function
    is returned as it is.

    Parameters
    ----------
    function : callable
        A function of arrays and numbers. Its bounds are not checked: whoever calls it does that.
    fastmath : bool, default=False
        Let sums be reordered and products fused. NaN and infinities keep their meaning, but a sum
        over infinities may be reordered to NaN: never in log space or where -inf means forbidden.

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
    """Let compiled functions call a plain function, which stays as it is for Python.

    What takes a problem is marked so: a solver's pass, a search, and the functions they share.

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
    """Return the compiled twin of a plain function, always the same one.

    The function itself, usually marked `jitable` so that compiled functions may call it too, stays
    a plain function that runs as Python.

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

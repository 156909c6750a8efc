"""Compilation of kernels and solver passes: plain functions in, compiled ones out.

numba is imported when something is compiled for the first time, not before. Until then, what numba
must know of (functions that compiled code may call) waits in a list, in the order in which it came.
Compiled code is kept on disk, see `maxmargin.core.cache`.
"""

from __future__ import annotations

import functools
import gc
import os
import threading
import time
from collections.abc import Callable
from inspect import isfunction
from typing import Any, TypeVar, overload

__all__ = ["compiled", "jitable", "kernel", "load_compiler", "overloads", "when_compiling"]

F = TypeVar("F", bound=Callable[..., Any])

#: If a file was changed after this moment, this process may run its older version.
STARTED = time.time()
#: The functions that compiled code calls as `overloads` chooses, with what chooses; and those that
#: are `jitable`, with options of their own.
CHOOSERS: dict[Callable[..., Any], Callable[..., Any]] = {}
OPTIONS: dict[Callable[..., Any], dict[str, Any]] = {}

# _nrt: it counts references also where the entry that calls it does not (see core/erase/native.py).
_OPTIONS = {"nogil": True, "_nrt": True, "error_model": "numpy"}
# Not fastmath=True: that also promises that there are no NaN and no infinities, so the compiler may
# remove tests for them. With "maxima" there are infinities, but no NaN.
_FASTMATH: dict[Any, set[str]] = {
    False: set(),
    True: {"reassoc", "contract", "nsz", "arcp"},
    "maxima": {"nnan", "nsz"},
}

_LOCK = threading.RLock()
_WAITING: list[Callable[[], Any]] = []
_is_loaded = False
#: Seconds that it took to import numba and tell it of our functions, once that is done.
_loading = 0.0


def load_compiler() -> Any:
    """Import numba, tell it of all functions that compiled code may call, and return it.

    Where the package is installed, numba itself calls this before it compiles for the first time.
    """
    global _is_loaded, _loading
    began = time.perf_counter()
    import numba

    with _LOCK:
        if not _is_loaded:
            garbage = _GarbageWaits()
            listen(garbage.on_start, garbage.on_end)
            _loading = time.perf_counter() - began
        _is_loaded = True
        while _WAITING:
            _WAITING.pop(0)()
    return numba


def loading_seconds() -> float:
    """Return how long it took to load the compiler; 0 as long as it is not loaded."""
    return _loading


def when_compiling(action: Callable[[], Any]) -> Callable[[], None]:
    """Call `action` when the compiler is loaded: at once, or later. Return what calls that off.

    Examples
    --------
    >>> from maxmargin.core.compile import load_compiler, when_compiling
    >>> told = []
    >>> call_off = when_compiling(lambda: told.append("here"))
    >>> numba, _ = load_compiler(), load_compiler()
    >>> told
    ['here']
    """
    with _LOCK:
        if _is_loaded:
            action()
        else:
            _WAITING.append(action)

    def call_off() -> None:
        with _LOCK:
            if action in _WAITING:
                _WAITING.remove(action)

    return call_off


def listen(
    on_start: Callable[[Any], None],
    on_end: Callable[[Any], None],
    kind: str = "numba:compile",
) -> Callable[[], None]:
    """Let numba tell when it begins and ends to compile a function; return what ends that.

    Of the kind "numba:compiler_lock" it tells whenever the compiler is at work, also to read code
    from the cache or to write it there.
    """
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, news: Any) -> None:
            on_start(news)

        def on_end(self, news: Any) -> None:
            on_end(news)

    listener = Listener()
    event.register(kind, listener)
    return lambda: event.unregister(kind, listener)


class _GarbageWaits:
    """While numba compiles a function, cycles of garbage are not looked for.

    numba makes millions of objects and few cycles: the collector took a tenth of the time. numba
    compiles one function at a time, under a lock.
    """

    def __init__(self) -> None:
        self._depth, self._was_enabled = 0, False

    def on_start(self, news: Any) -> None:
        """Stop the collector."""
        if self._depth == 0:
            self._was_enabled = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, news: Any) -> None:
        """Let it go on, if it was at work before."""
        self._depth -= 1
        if self._depth == 0 and self._was_enabled:
            gc.enable()


class Kernel:
    """A function that is compiled at its first call, or when compiled code calls it.

    Attributes
    ----------
    py_func : the function itself, which runs as Python
    fastmath : bool or "maxima"
    sealed_types : function that returns the types for which compiled code calls it through its
        address, see core/sealed.py; else None

    Of numba's dispatcher it has the attributes in `_SHOWN`. There are no others: to ask whether it
    has one must not load the compiler.
    """

    _SHOWN = (
        "_cache",
        "inspect_llvm",
        "inspect_types",
        "overloads",
        "signatures",
        "stats",
        "targetoptions",
    )

    def __init__(self, function: Callable[..., Any], fastmath: bool | str) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.fastmath = fastmath
        self.sealed_types: Callable[[], Any] | None = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if self._through_entry is not None and not named:
            return self._through_entry(*arguments)
        return self._dispatcher(*arguments, **named)

    @functools.cached_property
    def _through_entry(self) -> Any:
        """What calls the kernel through an address; None if it has none.

        It has one in the library that was built ahead, or if it is sealed.
        """
        from maxmargin.core.ahead import library

        if self.sealed_types is None and not library().is_open:
            return None
        from maxmargin.core.erase.kernels import kernel_caller

        return kernel_caller(self, lambda: self._dispatcher)

    @functools.cached_property
    def _dispatcher(self) -> Any:
        """What Python calls."""
        return _jit(self.py_func, self.fastmath)

    @functools.cached_property
    def _callee(self) -> Any:
        """What compiled code calls; it is part of its callers, in the cache too."""
        numba = load_compiler()
        from maxmargin.core.callee import CALLEE

        return numba.njit(**_options(self.fastmath), **CALLEE)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        """The type by which compiled code knows the function."""
        return self._callee._numba_type_

    def __getattr__(self, name: str) -> Any:
        if name not in self._SHOWN:
            raise AttributeError(f"the kernel {self.__name__!r} has no attribute {name!r}")
        return getattr(self._dispatcher, name)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # pickled by name, as functions are


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, fastmath: bool | str = ...) -> Callable[[F], F]: ...
def kernel(function: Any = None, *, fastmath: bool | str = False) -> Any:
    """Return a function over arrays that is compiled at its first call, and releases the GIL.

    Division by zero gives infinity or NaN, as in numpy. With ``NUMBA_DISABLE_JIT=1`` the function
    is returned as it is.

    Parameters
    ----------
    function : callable
        A function of arrays and numbers. Compiled code does not check bounds: the caller must.
    fastmath : bool or "maxima", default=False
        True: let sums be reordered and products fused. NaN and infinities keep their meaning, but
        a reordered sum over infinities may become NaN: do not use it for logarithms, or where -inf
        means forbidden. "maxima": let maxima be taken in any order, so that their loops vectorise;
        sums keep their bits, -inf keeps its meaning, and there must be no NaN.

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
        return functools.partial(kernel, fastmath=fastmath)
    _check_is_function(function)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return function
    return Kernel(function, fastmath)


def jitable(function: F, **options: Any) -> F:
    """Let compiled functions call a plain function; in Python it stays a plain function.

    Functions that take a problem are marked so: the passes of solvers, searches, and the functions
    that they share. `options` are numba's.

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

    def register() -> None:
        from numba.extending import register_jitable

        from maxmargin.core.callee import CALLEE

        register_jitable(error_model="numpy", **CALLEE, **options)(function)

    OPTIONS[function] = options
    when_compiling(register)
    return function


def overloads(function: Callable[..., Any]) -> Callable[[F], F]:
    """Let compiled functions call what the decorated function returns, in the place of `function`.

    The decorated function has the same arguments. It is given their types, as by
    `numba.extending.overload`, and returns a function.

    Examples
    --------
    >>> from maxmargin.core.compile import compiled, overloads
    >>> def n_items(values):
    ...     return 1 if isinstance(values, float) else len(values)
    >>> @overloads(n_items)
    ... def _n_items(values):
    ...     return (lambda values: len(values)) if hasattr(values, "types") else (lambda values: 1)
    >>> def count(a, b):
    ...     return n_items(a) + n_items(b)
    >>> compiled(count)((1.0, 2.0), 3.0), count((1.0, 2.0), 3.0)
    (3, 3)
    """

    def decorate(choose: F) -> F:
        def register() -> None:
            from numba.extending import overload

            from maxmargin.core.callee import CALLEE

            overload(function, jit_options={"error_model": "numpy", **CALLEE})(choose)

        CHOOSERS[function] = choose
        when_compiling(register)
        return choose

    return decorate


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
    is_compiled = isinstance(function, Kernel) or load_compiler().extending.is_jitted(function)
    return function if is_compiled else _jit(function)


def _jit(function: Any, fastmath: bool | str = False) -> Any:
    _check_is_function(function)
    numba = load_compiler()
    from maxmargin.core.cache import attach_cache

    # Our functions are never called from C: compiling no wrapper for C saves time.
    dispatcher = numba.njit(no_cfunc_wrapper=True, **_options(fastmath))(function)
    if numba.extending.is_jitted(dispatcher):  # a plain function under NUMBA_DISABLE_JIT
        attach_cache(dispatcher, f"fastmath={fastmath}")
    return dispatcher


def _options(fastmath: bool | str) -> dict[str, Any]:
    return _OPTIONS | ({"fastmath": _FASTMATH[fastmath]} if fastmath else {})


def _check_is_function(function: Any) -> None:
    if not isfunction(function):
        raise TypeError(f"Only a Python function can be compiled, got {function!r}.")

"""Kernels that compiled code calls through an address, so that each is compiled once.

A kernel that compiled code calls in the ordinary way becomes part of every entry that calls it,
and is optimised there anew. For a kernel that takes seconds to compile, `sealed` makes a function
that calls it through its address. The address stands in an array, which the caller gets with its
scratch arrays; `Seal.address` is what Python writes there before compiled code runs. In plain
Python the function calls the kernel, which runs the same code.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import Kernel, overloads

__all__ = ["Seal", "addresses", "sealed", "write_addresses"]


class Seal(NamedTuple):
    """A kernel behind an address.

    Attributes
    ----------
    call : function(entries, *arguments), for compiled code and for Python
    address : function without arguments, which compiles the kernel or loads it
    """

    call: Callable[..., Any]
    address: Callable[[], int]


def sealed(
    kernel: Callable[..., Any], place: int, result: str, example: Callable[[], tuple[Any, ...]]
) -> Seal:
    """Return a function that calls a kernel through word ``place`` of an array of addresses.

    Parameters
    ----------
    kernel : a function marked `kernel` or `jitable`
    place : int
        Where the address of the kernel stands in the array ``entries`` that `call` is given.
    result : str
        What the kernel returns, as numba names it, such as "Tuple(float64, int64)".
    example : function that returns arguments of the kernel
        Its types are those for which the kernel is compiled: arrays that callers may have
        read-only must be read-only here. Callers that give others are refused when compiled.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.core.compile import compiled, jitable
    >>> from maxmargin.core.sealed import addresses, sealed
    >>> @jitable
    ... def total(values, start):
    ...     for value in values:
    ...         start += value
    ...     return start
    >>> call, address = seal = sealed(total, 0, "float64", lambda: (np.zeros(1), 0.0))
    >>> @jitable
    ... def twice(entries, values):
    ...     return 2.0 * call(entries, values, 0.0)
    >>> compiled(twice)(addresses(seal), np.array([1.0, 2.5]))
    7.0
    >>> float(twice(np.zeros(1, dtype=np.int64), np.array([1.0, 2.5])))
    7.0
    """

    def call(entries: Any, *arguments: Any) -> Any:
        return kernel(*arguments)

    @functools.cache
    def kinds() -> Any:
        import numba

        return numba.typeof(example())

    @overloads(call)
    def choose(entries: Any, *arguments: Any) -> Any:
        through = _intrinsic(kernel, place, kinds().types, result)

        def run(entries: Any, *arguments: Any) -> Any:
            return through(entries.ctypes.data, 0, arguments)

        return run

    @functools.cache
    def address() -> int:
        from maxmargin.core.erase.entries import pass_entry

        found = pass_entry(kernel).find(kinds())
        if found.result != str(_result_type(result)):
            raise TypeError(f"{kernel.__name__} returns {found.result}, declared was {result}.")
        return found.address

    if isinstance(kernel, Kernel):
        kernel.sealed_types = kinds
    call.__name__ = call.__qualname__ = f"call_{kernel.__name__}"
    return Seal(call, address)


def addresses(*seals: Seal) -> np.ndarray:
    """Return the addresses of kernels, one after the other; zeros where nothing is compiled."""
    found = np.zeros(len(seals), dtype=np.int64)
    write_addresses(found, *seals)
    return found


def write_addresses(entries: np.ndarray, *seals: Seal) -> None:
    """Write the addresses of kernels to ``entries``, unless nothing is compiled."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0"):
        entries[:] = [seal.address() for seal in seals]


def _intrinsic(kernel: Any, place: int, kinds: Any, result: str) -> Any:
    from maxmargin.core.erase.native import caller

    names = tuple(inspect.signature(kernel).parameters)
    return caller(kernel.__name__, place, names, lambda cell: kinds, _result_type(result))


def _result_type(result: str) -> Any:
    """Return the numba type of a name; it is one of `maxmargin.core.erase.invoke.can_return`."""
    from numba import types

    inner = result.removeprefix("Tuple(").removesuffix(")")
    found = [getattr(types, name) for name in inner.split(", ")]
    return types.Tuple(found) if result.startswith("Tuple") else found[0]

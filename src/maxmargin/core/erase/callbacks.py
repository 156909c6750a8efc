"""Entries that are callbacks into Python, for structures that run as Python.

Such an entry is a C function that ctypes makes of a Python function. It follows the convention of
compiled entries: it is given the places of the result and of the exception, and the address of the
packed arguments. It takes the interpreter's lock by itself. What it raises is kept, and
`CallbackError` goes through compiled code in its place; `Pass` raises what was kept.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from maxmargin.core.compile import jitable
from maxmargin.core.erase.entries import Entry, Named, OracleEntry

__all__ = ["CallbackError", "Callbacks"]

_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_RESULTS: dict[Any, Any] = {
    types.float64: ctypes.c_double,
    types.int64: ctypes.c_int64,
    types.boolean: ctypes.c_int8,
}


class CallbackError(Exception):
    """A callback has raised something, which the problem keeps."""


@jitable
def fail(unused: Any) -> None:
    """Raise CallbackError, by compiled code."""
    raise CallbackError


_FAIL = Entry(fail, types.none)


class Callbacks:
    """Generic functions of one problem as C functions. They live as long as this object.

    Parameters
    ----------
    cell : numba type of a cell of an output
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell
        #: What is behind each address: data, cost, potentials, rooms.
        self.objects: dict[int, Any] = {}
        #: What callbacks have raised, the newest last.
        self.raised: list[BaseException] = []
        self._kept: list[Any] = []

    def address(self, entry: OracleEntry) -> int:
        """Return the address of a new callback to the generic function of an entry."""
        function, result, raised = entry.function, _RESULTS.get(entry.result), self.raised
        unpack = [self._unpacker(kind) for kind in entry.kinds(self._cell)]
        fail_here = _SIGNATURE(_FAIL.address(types.Tuple([types.int64])))

        def run(answer: int, exception: int, words: int) -> int:
            try:
                given, at = [], words
                for take in unpack:
                    value, at = take(at)
                    given.append(value)
                found = function(*given)
                if result is not None:
                    result.from_address(answer).value = found
                return 0
            except BaseException as error:
                # KeyboardInterrupt too: it must not be lost in compiled code.
                raised.append(error)
                return fail_here(answer, exception, words)

        callback = _SIGNATURE(run)
        self._kept.append(callback)
        return int(ctypes.cast(callback, ctypes.c_void_p).value or 0)

    def _unpacker(self, kind: Any) -> Callable[[int], tuple[Any, int]]:
        """Return a function of an address that returns the value packed there and what follows."""
        if isinstance(kind, Named):
            objects = self.objects
            return lambda at: (objects[_word(at)], at + 8)
        if isinstance(kind, types.Array):
            return _array_taker(np.dtype(str(kind.dtype)), kind.ndim)
        if isinstance(kind, types.Float):
            return lambda at: (ctypes.c_double.from_address(at).value, at + 8)
        if isinstance(kind, types.Boolean):
            return lambda at: (_word(at) != 0, at + 8)
        return lambda at: (_word(at), at + 8)


def _word(at: int) -> int:
    return ctypes.c_int64.from_address(at).value


def _array_taker(dtype: np.dtype, n_dims: int) -> Callable[[int], tuple[Any, int]]:
    def take(at: int) -> tuple[Any, int]:
        shape = tuple(_word(at + 8 * (1 + k)) for k in range(n_dims))
        size = int(np.prod(shape))
        if size == 0:
            return np.zeros(shape, dtype), at + 8 * (1 + n_dims)
        cells = (ctypes.c_char * (size * dtype.itemsize)).from_address(_word(at))
        return np.ndarray(shape, dtype, buffer=cells), at + 8 * (1 + n_dims)  # type: ignore[arg-type]

    return take

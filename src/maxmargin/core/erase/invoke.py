"""Calls of entries from Python, by numba's own convention for results and exceptions.

An entry takes the addresses of its result and of a description of its exception, and the address of
its packed arguments; it returns a status. It is called through ctypes, which compiles nothing and
releases the interpreter's lock meanwhile.

Private parts of numba: the convention (numba/core/callconv.py: statuses, and the struct that
describes an exception), `serialize._numba_unpickle`, `serialize.runtime_build_excinfo_struct`, and
the C functions that raise and free.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

from numba import _helperlib
from numba.core import serialize
from numba.core.runtime import _nrt_python

__all__ = ["can_return", "invoker"]


class _Raised(ctypes.Structure):
    """An exception: what is pickled and how many dynamic arguments there are besides."""

    _fields_ = [
        ("pickled", ctypes.c_void_p),
        ("n_bytes", ctypes.c_int32),
        ("hashed_or_values", ctypes.c_void_p),
        ("to_tuple", ctypes.c_void_p),
        ("n_values", ctypes.c_int32),
    ]


_ENTRY = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ctypes.POINTER(_Raised)), ctypes.c_int64
)
_TO_TUPLE = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)
_DO_RAISE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)(_helperlib.c_helpers["do_raise"])
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_nrt_python.c_helpers["Free"])
_KEEP = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))

_OK, _NONE, _RAISED = 0, -2, 1

_NUMBERS: dict[str, Any] = {
    "float64": ctypes.c_double,
    "int64": ctypes.c_int64,
    "bool": ctypes.c_bool,
}
_SAME = re.compile(r"UniTuple\((\w+) x (\d+)\)")
_MIXED = re.compile(r"Tuple\((\w+(?:, \w+)*)\)")


def _fields(result: str) -> list[Any] | None:
    """Return the ctypes of the numbers that a result consists of; None if it has other parts."""
    same, mixed = _SAME.fullmatch(result), _MIXED.fullmatch(result)
    if same:
        names = [same[1]] * int(same[2])
    else:
        names = mixed[1].split(", ") if mixed else [result]
    return [_NUMBERS[name] for name in names] if set(names) <= set(_NUMBERS) else None


def can_return(result: str) -> bool:
    """Tell whether a result can be handed to Python: nothing, a number, or a tuple of numbers.

    Examples
    --------
    >>> can_return("UniTuple(float64 x 3)"), can_return("array(float64, 1d, C)")
    (True, False)
    """
    return result == "none" or _fields(result) is not None


def invoker(address: int, result: str) -> Callable[[int], Any]:
    """Return the function of packed arguments that calls an entry, and raises what it raises.

    Parameters
    ----------
    address : of the entry
    result : name of the numba type of its result, see `can_return`
    """
    if not can_return(result):
        raise TypeError(f"A pass returns None, a number or a tuple of numbers, not {result}.")
    fields = [] if result == "none" else _fields(result) or []
    names = [f"item{k}" for k in range(len(fields))]
    content = {"_fields_": list(zip(names, fields, strict=True))}
    entry, kind = _ENTRY(address), ctypes.POINTER(_Raised)
    is_tuple = "Tuple" in result
    # A function without result is given a place all the same.
    room = type("Room", (ctypes.Structure,), content) if is_tuple else (*fields, ctypes.c_void_p)[0]

    def invoke(words: int) -> Any:
        found, raised = room(), kind()
        status = entry(ctypes.byref(found), ctypes.byref(raised), words)
        if status not in (_OK, _NONE):
            _raise(status, raised)
        if is_tuple:
            return tuple([getattr(found, name) for name in names])
        return found.value if fields else None

    return invoke


def _raise(status: int, raised: Any) -> None:
    if status != _RAISED:
        raise SystemError(f"Compiled code returned the status {status}.")
    info = raised.contents
    content = ctypes.string_at(info.pickled, info.n_bytes)
    if info.n_values > 0:
        values = _TO_TUPLE(info.to_tuple)(info.hashed_or_values)
        packed = serialize.runtime_build_excinfo_struct(content, values)
        _FREE(ctypes.addressof(info))
    else:
        hashed = ctypes.string_at(info.hashed_or_values, 20)
        packed = serialize._numba_unpickle(info.pickled, content, hashed)
    _KEEP(packed)  # the next function takes a reference away
    _DO_RAISE(packed)

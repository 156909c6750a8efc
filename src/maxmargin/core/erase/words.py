"""Values as rows of 8-byte words, and what cannot be one."""

from __future__ import annotations

import struct
import weakref
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError

from maxmargin.core.contract import add_row, has
from maxmargin.core.erase.native import Address, is_packable

__all__ = [
    "Handle",
    "Lately",
    "Packed",
    "flatten",
    "pack",
    "why_not_packable",
    "without_features",
    "words_at",
]

_DOUBLE, _QUAD = struct.Struct("d"), struct.Struct("q")


def flatten(value: Any, words: list[int]) -> Any:
    """Append a value to a list of words; return a key, equal for values of the same numba type.

    Examples
    --------
    >>> import numpy as np
    >>> words = []
    >>> key = flatten((2, 1.0, np.zeros((3, 4))), words)
    >>> words[0], words[-2:], key == flatten((3, 2.0, np.ones((1, 1))), [])
    (2, [3, 4], True)
    """
    kind = type(value)
    if kind is int or kind is bool:
        words.append(value)
        return kind
    if isinstance(value, tuple):
        return kind, tuple([flatten(item, words) for item in value])
    if isinstance(value, np.ndarray):
        flags = value.flags
        words.append(value.__array_interface__["data"][0])
        words.extend(value.shape)
        if flags.c_contiguous:
            return value.dtype, value.ndim, flags.writeable, flags.aligned
        words.extend(value.strides)
        return value.dtype, value.ndim, flags.writeable, flags.aligned, flags.f_contiguous
    if isinstance(value, float | np.floating):
        words.append(_QUAD.unpack(_DOUBLE.pack(value))[0])
    else:
        words.append(int(value))
    return kind


class Lately:
    """The words and keys of tuples of arrays that were flattened lately.

    A pass is called many times with the same tuples, and flattening them takes longer than the
    call. The arrays are referred to weakly, so that none is kept alive here.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[list[Any], list[int], Any]] = {}

    def flatten(self, value: tuple[Any, ...], words: list[int]) -> Any:
        """Do as the function `flatten`."""
        known = self._known.get(id(value))
        if known is not None and len(known[0]) == len(value):
            for ref, item in zip(known[0], value, strict=True):
                if ref() is not item:
                    break
            else:
                words += known[1]
                return known[2]
        own: list[int] = []
        key = flatten(value, own)
        words += own
        if value and all(type(item) is np.ndarray for item in value):
            if len(self._known) >= 8:
                self._known.clear()
            self._known[id(value)] = [weakref.ref(item) for item in value], own, key
        return key


def words_at(words: np.ndarray) -> int:
    """Return the address of an array of words."""
    return words.__array_interface__["data"][0]


class Packed:
    """A packed value. Its address holds, and what it points to is there, while this object lives.

    Features, wherever they are in the value, are behind addresses of their own. So there is one
    word in their place, whatever their type is, and an entry that reads none need not know it.

    Attributes
    ----------
    value : the value
    address : int
    kind : numba type of the address
    """

    address: int
    kind: Any

    def __init__(self, value: Any) -> None:
        words: list[int] = []
        self._features: list[Packed] = []
        self.value = value
        inner = self._flatten(value, numba.typeof(value), words)
        self._words = np.array(words or [0], dtype=np.int64)
        self.address = words_at(self._words)
        self.kind = Address(inner)

    def _flatten(self, value: Any, kind: Any, words: list[int]) -> Any:
        """Append a value to the words; return its type, with addresses in the place of features."""
        if not isinstance(value, tuple):
            flatten(value, words)
            return kind
        items = []
        for item, inner in zip(value, kind.types, strict=True):
            if is_features(item):
                self._features.append(Packed(item))
                words.append(self._features[-1].address)
                items.append(self._features[-1].kind)
            else:
                items.append(self._flatten(item, inner, words))
        return types.BaseTuple.from_types(items, getattr(kind, "instance_class", None))


def is_features(value: Any) -> bool:
    """Tell whether a value is rows of features; see `maxmargin.core.contract.features`."""
    return isinstance(value, tuple) and has(add_row, type(value))


def without_features(kind: Any) -> Any:
    """Return the type of packed data for code that reads no features: words are in their place."""
    if isinstance(kind, Address):
        return types.int64
    if not isinstance(kind, types.BaseTuple):
        return kind
    items = [without_features(item) for item in kind.types]
    return types.BaseTuple.from_types(items, getattr(kind, "instance_class", None))


class Handle:
    """An object that compiled code hands back to Python: its address leads to nothing else."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self._words = np.zeros(1, dtype=np.int64)
        self.address = words_at(self._words)
        self.kind = Address(types.none)


def pack(name: str, value: Any) -> Packed | Handle:
    """Return a value packed; an object that cannot be packed as a handle."""
    return Handle(value) if why_not_packable(name, value) else Packed(value)


def why_not_packable(name: str, value: Any) -> str:
    """Return which item of a NamedTuple cannot be packed, or "" if all can be."""
    try:
        kind = numba.typeof(value)
    except NumbaError as error:
        raise TypeError(f"{_untyped(name, value)} cannot be compiled: {error}") from None
    except (ValueError, TypeError) as error:
        return f"numba has no type for {name}: {error}"
    return _why_not(name, kind)


def _untyped(name: str, value: Any) -> str:
    """Return the name of the item that numba refuses to type, such as an array of foreign bytes."""
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", range(len(value)))
        for field, item in zip(fields, value, strict=True):
            try:
                numba.typeof(item)
            except NumbaError:
                return _untyped(f"{name}.{field}", item)
            except (ValueError, TypeError):
                continue
    return name


def _why_not(name: str, kind: Any) -> str:
    if isinstance(kind, types.BaseTuple):
        fields = getattr(kind, "fields", range(len(kind.types)))
        parts = (
            _why_not(f"{name}.{field}", item)
            for field, item in zip(fields, kind.types, strict=True)
        )
        return next(filter(None, parts), "")
    return "" if is_packable(kind) else f"{name} is {kind}, not a number, an array or a tuple"

"""Boxes around outputs of any type, which are compared by value."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp


class Box:
    """One output of any type. Two boxes are equal if their outputs are (see `same`)."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and same(self.value, other.value)

    def __repr__(self) -> str:
        return f"Box({self.value!r})"


def same(a: Any, b: Any) -> bool:
    """Tell whether two outputs are equal: True or False also for arrays, and for what holds arrays.

    Examples
    --------
    >>> import numpy as np
    >>> same({"tags": np.array([1, 2])}, {"tags": np.array([1, 2])}), same([1, 2], [1, 3])
    (True, False)
    """
    if a is b:
        return True
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return _same_arrays(a, b)
    if sp.issparse(a) or sp.issparse(b):
        return type(a) is type(b) and a.shape == b.shape and (a != b).nnz == 0
    if isinstance(a, dict):
        return type(a) is type(b) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if is_dataclass(a) and not isinstance(a, type):
        # The == of a dataclass raises an error if a field is an array.
        return type(a) is type(b) and all(
            same(getattr(a, field.name), getattr(b, field.name))
            for field in fields(a)
            if field.compare
        )
    kind: Any = type(a)
    if kind.__eq__ is object.__eq__ and hasattr(a, "__dict__"):
        return type(a) is type(b) and same(vars(a), vars(b))
    return bool(a == b)


def _same_arrays(a: Any, b: Any) -> bool:
    """Compare arrays, or an array with a list: Y may have lists where `maximize` returns arrays."""
    if not isinstance(a, np.ndarray | list | tuple) or not isinstance(b, np.ndarray | list | tuple):
        return False
    flat = [isinstance(x, np.ndarray) and x.ndim == 0 for x in (a, b)]
    if any(flat):
        return all(flat) and bool(a == b)
    if len(a) != len(b):
        return False
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and object not in (a.dtype, b.dtype):
        return a.shape == b.shape and bool(np.all(a == b))
    return all(map(same, a, b))

"""Values and arrays that come out of a file, each held against what it must be.

Files come from anywhere, and compiled code checks no bounds. So nothing in a file is used
unchecked: the reader takes each value and array by `Fields` or `Arrays`, and says what it must be,
in terms of sizes that were checked before. What nobody has taken is refused as well.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Collection, Mapping
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from maxmargin.solvers.result import Record


class Fields:
    """Values by name, each taken once and checked.

    Parameters
    ----------
    values : what the file has; anything but a mapping is refused
    where : what to call it in an error

    Examples
    --------
    >>> fields = Fields({"n_features_in_": 4, "has_bias": 1, "more": 2}, "fitted")
    >>> fields.count("n_features_in_")
    4
    >>> fields.flag("has_bias")
    Traceback (most recent call last):
    ValueError: fitted['has_bias'] must be True or False, got 1
    >>> fields.close()
    Traceback (most recent call last):
    ValueError: fitted has 'more', which nothing here knows
    """

    def __init__(self, values: Any, where: str) -> None:
        if not isinstance(values, Mapping):
            raise ValueError(f"{where} is a {type(values).__name__}, not a mapping")
        self._values = dict(values)
        self._where = where

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def refuse(self, name: str, wanted: str, value: Any) -> ValueError:
        """Return the error of a value that is not what it must be."""
        return ValueError(f"{self._where}[{name!r}] must be {wanted}, got {value!r:.80}")

    def take(self, name: str, default: Any = None) -> Any:
        """Return a value for the caller to check; if there is none, `default` unless it is None."""
        if name not in self._values and default is None:
            raise ValueError(f"{self._where} has no {name!r}")
        return self._values.pop(name, default)

    def fields(self, name: str) -> Self:
        """Return the values below a name."""
        where = name if self._where == "it" else f"{self._where}[{name!r}]"
        return type(self)(self.take(name), where)

    def flag(self, name: str) -> bool:
        """Return True or False."""
        value = self.take(name)
        if not isinstance(value, (bool, np.bool_)):
            raise self.refuse(name, "True or False", value)
        return bool(value)

    def count(self, name: str, least: int = 0, default: int | None = None) -> int:
        """Return an integer."""
        value = self.take(name, default)
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise self.refuse(name, f"an integer >= {least}", value)
        return int(value)

    def number(self, name: str, least: float = -np.inf, below: float = np.inf) -> float:
        """Return a number in [least, below), or below itself where that is infinite; never NaN."""
        value = self.take(name)
        if isinstance(value, bool) or not isinstance(value, Real):
            raise self.refuse(name, "a number", value)
        if not least <= float(value) <= below or (float(value) == below < np.inf):
            raise self.refuse(name, f"a number from {least:g} to {below:g}", value)
        return float(value)

    def text(self, name: str, among: Collection[str]) -> str:
        """Return a word, which must be one of ``among``."""
        value = self.take(name)
        if not isinstance(value, str) or value not in among:
            raise self.refuse(name, f"one of {', '.join(map(repr, among))}", value)
        return value

    def close(self) -> None:
        """Refuse what was not taken."""
        for name in self._values:
            raise ValueError(f"{self._where} has {name!r}, which nothing here knows")


class Arrays:
    """Arrays by name, each taken once and checked against the shape that the caller expects.

    Examples
    --------
    >>> arrays = Arrays({"w": np.array([1.0, np.nan])})
    >>> arrays.take("w", (3,))
    Traceback (most recent call last):
    ValueError: array 'w' must be float64 of shape (3,), got float64 of shape (2,)
    """

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._arrays = dict(arrays)

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def take(
        self,
        name: str,
        shape: tuple[int | None, ...],
        dtype: Any = np.float64,
        low: float = -np.inf,
        high: float = np.inf,
        finite: bool = True,
    ) -> np.ndarray:
        """Return an array of this dtype and shape (None: any length), finite, low <= x < high."""
        array = self._arrays.pop(name, None)
        if array is None:
            raise ValueError(f"there is no array {name!r}")
        return check_array(name, array, shape, dtype, low, high, finite)

    def matrix(self, name: str) -> Any:
        """Return a matrix, dense or CSR, for the caller to check."""
        value = self._arrays.pop(name, None)
        if value is None or len(getattr(value, "shape", ())) != 2:
            raise ValueError(f"there is no matrix {name!r}")
        return value

    def rest(self) -> dict[str, Any]:
        """Return all arrays that were not taken, as they are."""
        rest, self._arrays = self._arrays, {}
        return rest

    def close(self) -> None:
        """Refuse what was not taken."""
        for name in self._arrays:
            raise ValueError(f"there is an array {name!r}, which nothing here knows")


def check_array(
    name: str,
    array: Any,
    shape: tuple[int | None, ...],
    dtype: Any = np.float64,
    low: float = -np.inf,
    high: float = np.inf,
    finite: bool = True,
) -> np.ndarray:
    """Return an array if it is of this dtype and shape (None: any), finite, and low <= x < high."""
    wanted = np.dtype(dtype)
    found = getattr(array, "shape", ())
    fits = len(found) == len(shape) and all(
        n in (None, m) for n, m in zip(shape, found, strict=False)
    )
    if not isinstance(array, np.ndarray) or array.dtype != wanted or not fits:
        lengths = str(shape).replace("None", "any")
        kind = f"{array.dtype} of shape {found}" if hasattr(array, "dtype") else repr(array)
        raise ValueError(f"array {name!r} must be {wanted} of shape {lengths}, got {kind}")
    if finite and wanted.kind == "f" and not np.isfinite(array).all():
        place = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        raise ValueError(f"array {name!r} has {array[place]} at {place}: it must be finite")
    if array.size and (low > -np.inf or high < np.inf):
        wrong = (array < low) | (array >= high)
        if wrong.any():
            place = tuple(np.argwhere(wrong)[0].tolist())
            limits = f"at least {low:g}" + (f" and below {high:g}" if high < np.inf else "")
            raise ValueError(f"array {name!r} has {array[place]} at {place}: it must be {limits}")
    return array


_KINDS: dict[type, Any] = {bool: (bool, np.bool_), int: Integral, float: Real, str: str}


def check_options(cls: Any, options: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return arguments of a dataclass; refuse those that are not of the types that it declares.

    Only numbers, text and truth values, or None, are allowed; the class checks the rest itself.

    Examples
    --------
    >>> check_options(Record, {"pass_": "one"}, "history[0]")
    Traceback (most recent call last):
    ValueError: history[0]['pass_'] must be int, got 'one'
    """
    if not isinstance(options, Mapping):
        raise ValueError(f"{where} is a {type(options).__name__}, not a mapping")
    hints = _hints(cls)
    for name, value in options.items():
        if name not in hints and hints:
            raise ValueError(f"{where} has {name!r}, which {cls.__name__} does not know")
        hint = hints.get(name)
        union = isinstance(hint, types.UnionType)
        options_of = typing.get_args(hint) if union else (hint,)
        kinds = [_KINDS[option] for option in options_of if option in _KINDS]
        n_known = len(kinds) + (type(None) in options_of)
        if n_known < len(options_of) or (value is None and type(None) in options_of):
            continue
        is_bool = isinstance(value, (bool, np.bool_))
        if not any(isinstance(value, k) and (k == _KINDS[bool] or not is_bool) for k in kinds):
            spelled = hint if union else getattr(hint, "__name__", hint)
            raise ValueError(f"{where}[{name!r}] must be {spelled}, got {value!r:.80}")
    return dict(options)


def _hints(cls: Any) -> dict[str, Any]:
    if not dataclasses.is_dataclass(cls):
        return {}
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls) if field.init}


def read_history(records: Any, where: str) -> list[Record]:
    """Return the records of passes."""
    if not isinstance(records, list):
        raise ValueError(f"{where} must be a list of records, got {type(records).__name__}")
    return [
        Record(**check_options(Record, record, f"{where}[{i}]")) for i, record in enumerate(records)
    ]

"""Values as JSON, with the types that JSON would lose kept in tags."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

DTYPES = frozenset(
    {"float64", "float32", "float16", "int64", "int32", "int16", "int8"}
    | {"uint64", "uint32", "uint16", "uint8", "bool"}
)
"""Names of the numeric dtypes that a file may hold."""

_TAG = "$type"
_PLAIN = frozenset({type(None), bool, int, str})  # exact types: JSON keeps these as they are
_CONTAINERS: dict[str, Any] = {"tuple": tuple, "set": set, "frozenset": frozenset}
_SCALARS: dict[str, Any] = {"str_": np.str_, "bytes_": np.bytes_, "bool_": np.bool_}
_SCALARS |= {name: np.dtype(name).type for name in DTYPES if name != "bool"}
#: What the numpy scalars of text and truth are made from; the others are made from a number.
_SOURCES: dict[str, Any] = {"str_": str, "bytes_": bytes, "bool_": bool}
#: Bytes that an array of text may take for each character that it has, and bytes besides.
_SPARSE, _SLACK = 64, 4096


def encode_value(value: Any, where: str = "value") -> Any:
    """Return `value` as JSON-able data from which `decode_value` restores value and type.

    Parameters
    ----------
    value : object
        None, bool, int, float (NaN and infinity too), str, bytes; numpy scalars; numpy arrays of
        numbers, text or objects; lists, tuples, sets, frozensets and dicts of all these, with keys
        of any such type. What JSON keeps by itself comes back unchanged.
    where : str
        What to call `value` in an error.

    Raises
    ------
    TypeError
        For any other type, and for subclasses (an enum, an OrderedDict), whose type would be lost.
        The message names the place and the type.

    Examples
    --------
    >>> import numpy as np
    >>> encode_value({"C": 1.0, "labels": ["a", None]})
    {'C': 1.0, 'labels': ['a', None]}
    >>> encode_value((1, np.float32(0.5)))
    {'$type': 'tuple', 'value': [1, {'$type': 'float32', 'value': 0.5}]}
    >>> decode_value(encode_value({("a", 1): np.int64(3)}))
    {('a', 1): np.int64(3)}
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        # Strict JSON has no word for NaN and infinity.
        return value if math.isfinite(value) else _tagged("float", repr(value))
    if kind is list:
        return _encode_items(value, where)
    if kind is dict:
        return _encode_dict(value, where)
    if kind is tuple:
        return _tagged("tuple", _encode_items(value, where))
    if kind is set or kind is frozenset:
        # Sorted, so that equal models make equal files whatever the hash seed.
        return _tagged(kind.__name__, sorted(_encode_items(value, where), key=json.dumps))
    if kind is bytes:
        return _tagged("bytes", value.hex())
    if isinstance(value, np.generic):
        return _encode_scalar(value, where)
    if kind is np.ndarray and (value.dtype.kind in "USO" or value.dtype.name in DTYPES):
        items = _encode_items(value.ravel().tolist(), where)
        if value.dtype.kind in "US" and value.nbytes > _text_limit(items):
            # Cells much wider than any text in them: a reader would not believe in them.
            value = value.astype(value.dtype.kind)
        return _tagged("ndarray", items) | {"dtype": value.dtype.str, "shape": list(value.shape)}
    _refuse(value, where)


def _tagged(tag: str, value: Any) -> dict[str, Any]:
    return {_TAG: tag, "value": value}


def _encode_items(items: Iterable[Any], where: str) -> list[Any]:
    # The test spares a call and a formatted name for each of 400000 strings.
    return [
        item if type(item) in _PLAIN else encode_value(item, f"{where}[{i}]")
        for i, item in enumerate(items)
    ]


def _encode_dict(value: dict[Any, Any], where: str) -> dict[str, Any]:
    if _TAG not in value and all(type(key) is str for key in value):
        return {
            key: item if type(item) in _PLAIN else encode_value(item, f"{where}[{key!r}]")
            for key, item in value.items()
        }
    pairs = [
        [encode_value(key, f"key {key!r} of {where}"), encode_value(item, f"{where}[{key!r}]")]
        for key, item in value.items()
    ]
    return _tagged("dict", pairs)


def _encode_scalar(value: np.generic, where: str) -> dict[str, Any]:
    name = type(value).__name__ if value.dtype.kind in "US" else value.dtype.name
    tag = "bool_" if name == "bool" else name
    if tag not in _SCALARS:
        _refuse(value, where)
    return _tagged(tag, encode_value(value.item(), where))


def _refuse(value: Any, where: str) -> NoReturn:
    kind = type(value)
    name = kind.__qualname__
    if kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    if isinstance(value, np.ndarray):
        name += f" of dtype {value.dtype}"
    raise TypeError(
        f"{where} is of type {name}, which a model file cannot hold. It holds None, bool, int, "
        "float, str, bytes, list, tuple, set, frozenset, dict, and numpy scalars and arrays."
    )


def decode_value(data: Any) -> Any:
    """Return the value that `encode_value` made `data` from.

    Raises
    ------
    ValueError
        If `data` has a type tag that this version does not know, or one whose value does not fit.

    Examples
    --------
    >>> decode_value({"$type": "tuple", "value": [1, "a"]})
    (1, 'a')
    """
    if type(data) is list:
        return [item if type(item) in _PLAIN else decode_value(item) for item in data]
    if type(data) is not dict:
        return data
    if _TAG not in data:
        return {
            key: item if type(item) in _PLAIN else decode_value(item) for key, item in data.items()
        }
    try:
        return _decode_tagged(data[_TAG], data["value"], data)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"A stored {data[_TAG]!r} is malformed: {error!r}.") from error


def _decode_tagged(tag: str, value: Any, data: dict[str, Any]) -> Any:
    if tag == "float":
        return float(_of(str, value))
    if tag == "bytes":
        return bytes.fromhex(value)
    if tag == "dict":
        return {decode_value(key): decode_value(item) for key, item in _of(list, value)}
    if tag == "ndarray":
        items = decode_value(_of(list, value))
        return _decode_array(items, _dtype(data["dtype"]), _of(list, data["shape"]))
    if tag in _CONTAINERS:
        return _CONTAINERS[tag](decode_value(_of(list, value)))
    if tag in _SCALARS:
        # Of other things numpy would make arrays, or as many zero bytes as a number says.
        return _SCALARS[tag](_of(_SOURCES.get(tag, (int, float)), decode_value(value)))
    raise ValueError(f"A stored value has the type tag {tag!r}, which this version does not know.")


def _of(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"a {type(value).__name__} stands for its value")
    return value


def _dtype(text: Any) -> np.dtype[Any]:
    """Return the dtype of a stored array: one of those that `encode_value` takes, and no other."""
    dtype = np.dtype(_of(str, text))
    if dtype.name not in DTYPES and (dtype.kind not in "USO" or dtype.subdtype is not None):
        raise ValueError(f"a stored array has the dtype {text!r}")
    return dtype


def _text_limit(items: list[Any]) -> int:
    """Return how many bytes an array of these texts may take."""
    return _SLACK + _SPARSE * (len(items) + sum(map(len, items)))


def _decode_array(items: list[Any], dtype: np.dtype[Any], shape: list[int]) -> np.ndarray:
    if any(type(length) is not int or length < 0 for length in shape):
        raise ValueError(f"A stored array has the shape {shape}.")
    if math.prod(shape) != len(items):
        raise ValueError(f"A stored array of shape {shape} has {len(items)} elements.")
    if dtype.kind in "US":
        for item in items:
            _of(str if dtype.kind == "U" else bytes, item)
        if dtype.itemsize * len(items) > _text_limit(items):
            raise ValueError(f"a stored array of {len(items)} short texts has the dtype {dtype}")
    if dtype.kind != "O":
        return np.array(items, dtype=dtype).reshape(shape)
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):  # at once, numpy would take tuples for a further axis
        array[i] = item
    return array.reshape(shape)

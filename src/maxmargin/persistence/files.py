"""Reading and writing of one file: arrays and JSON in a safetensors container."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import scipy.sparse
from safetensors import SafetensorError, safe_open

from maxmargin.persistence.replacing import replacing, target_of
from maxmargin.persistence.values import DTYPES, decode_value, encode_value

FORMAT_VERSION = 1
"""The format written here, and the newest one read."""

_KEY = "maxmargin"
_META_TENSOR = "maxmargin.meta"
_CSR: dict[str, Any] = {"csr_array": scipy.sparse.csr_array, "csr_matrix": scipy.sparse.csr_matrix}
_INLINE_LIMIT = 1 << 16  # characters of JSON kept in the header
_CODES = {"float64": "F64", "float32": "F32", "float16": "F16", "bool": "BOOL"} | {
    f"{sign}int{bits}": f"{letter}{bits}"
    for sign, letter in (("", "I"), ("u", "U"))
    for bits in (8, 16, 32, 64)
}


@dataclass(frozen=True)
class Document:
    """What a file holds: its kind, format version, JSON part and arrays."""

    kind: str
    version: int
    meta: dict[str, Any]
    arrays: dict[str, Any]


def write(
    path: str | os.PathLike[str], kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write one file, whole or not at all.

    The bytes go to a temporary file in the same folder, are flushed to the disk, and then take the
    name `path` in one step: a reader, or a crash, meets the old file or the new one. If anything
    fails the old file is untouched and the temporary one removed; what a killed process left is
    removed by the next one that writes to `path`. A symbolic link is followed.

    Parameters
    ----------
    path : path-like
        Where to write. Its folder must exist.
    kind : str
        What the file is: "model", "checkpoint", ...; `read` can insist on it.
    meta : dict
        Anything that `encode_value` takes, of any length.
    arrays : dict of str to ndarray or CSR matrix
        Real, integer or boolean arrays of any shape. A csr_array or csr_matrix comes back as such.

    Examples
    --------
    >>> import numpy as np, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.mm")
    ...     write(path, "model", {"classes": ("B", "I", "O")}, {"w": np.arange(3.0)})
    ...     document = read(path, kind="model")
    >>> document.meta, document.arrays["w"]
    ({'classes': ('B', 'I', 'O')}, array([0., 1., 2.]))
    """
    target = target_of(path)
    tensors, csr = _tensors(arrays)
    head: dict[str, Any] = {"format": FORMAT_VERSION, "kind": kind}
    encoded = encode_value(dict(meta), "meta")
    text = json.dumps(encoded, allow_nan=False)
    if len(text) > _INLINE_LIMIT:
        tensors[_META_TENSOR] = np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    else:
        head["meta"] = encoded
    if csr:
        head["csr"] = csr
    try:
        with replacing(target) as file:
            _write_tensors(file, tensors, {_KEY: json.dumps(head)})
    except OSError as error:  # a full disk; what the system says has no name in it
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise


def read(path: str | os.PathLike[str], kind: str | None = None) -> Document:
    """Read a file made by `write`.

    Parameters
    ----------
    path : path-like
    kind : str or None
        The kind the file must be of; None takes any.

    Returns
    -------
    Document
        Its arrays are fresh, writable and in C order.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        As `open` does.
    ValueError
        If the file is truncated or damaged, was not written by maxmargin, was written by a newer
        format, or is of another kind than `kind`.
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a pipe would wait for ever
        raise ValueError(f"{os.fspath(path)!r} is not a regular file.")
    with open(path, "rb"):
        pass  # the usual OSErrors, with their usual messages
    try:
        with safe_open(path, framework="np") as opened:
            head = _checked_head(path, opened.metadata(), kind)
            with damaged(path):
                tensors = {name: _tensor(opened, name) for name in opened.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(_why_unreadable(path, error)) from error
    with damaged(path):
        if _META_TENSOR in tensors:
            head["meta"] = json.loads(tensors.pop(_META_TENSOR).tobytes())
        arrays = _join_csr(tensors, head.get("csr", {}))
        if "meta" not in head:
            raise ValueError("it has no meta")
        meta = decode_value(head["meta"])
        if type(meta) is not dict:
            raise TypeError(f"its meta is of type {type(meta).__name__}")
    return Document(head["kind"], head["format"], meta, arrays)


@contextmanager
def damaged(
    path: str | os.PathLike[str], what: str = "is a damaged maxmargin file"
) -> Iterator[None]:
    """Turn what goes wrong with the contents of a file into a ValueError that names it.

    Examples
    --------
    >>> with damaged("a.mm"):
    ...     {}["w"]
    Traceback (most recent call last):
    ValueError: 'a.mm' is a damaged maxmargin file: there is no 'w'.
    """
    try:
        yield
    except RecursionError as error:
        raise ValueError(f"{os.fspath(path)!r} {what}: it is nested too deep.") from error
    except KeyError as error:
        raise ValueError(f"{os.fspath(path)!r} {what}: there is no {error}.") from error
    except (
        ValueError, TypeError, IndexError, AttributeError, ArithmeticError, SafetensorError
    ) as error:  # fmt: skip
        raise ValueError(f"{os.fspath(path)!r} {what}: {str(error).rstrip('.')}.") from error


def _tensor(opened: Any, name: str) -> np.ndarray:
    array = opened.get_tensor(name)
    if not isinstance(array, np.ndarray) or array.dtype.name not in DTYPES:
        raise TypeError(f"its array {name!r} is of dtype {getattr(array, 'dtype', 'unknown')}")
    return array


def _write_tensors(
    file: IO[bytes], tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]
) -> None:
    """Write a safetensors file.

    By hand: the package's own `save_file` writes to a file of a name that nobody knows, and leaves
    it behind when it is killed. Wide cells first, so that all are aligned.
    """
    names = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name in names:
        array = tensors[name]
        start, end = end, end + array.nbytes
        entry = {"dtype": _CODES[array.dtype.name], "shape": list(array.shape)}
        header[name] = entry | {"data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in names:
        array = tensors[name]
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        file.write(np.ascontiguousarray(little).data if little.size else b"")


def _checked_head(
    path: str | os.PathLike[str], metadata: Mapping[str, str] | None, kind: str | None
) -> dict[str, Any]:
    """Parse our entry of the header; what is refused is refused before any array is read."""
    name = repr(os.fspath(path))
    if not metadata or _KEY not in metadata:
        raise ValueError(f"{name} is a safetensors file, but not one that maxmargin wrote.")
    try:
        head: dict[str, Any] = json.loads(metadata[_KEY])
        version, found = head["format"], head["kind"]
        if type(version) is not int or version < 1 or type(found) is not str:
            raise ValueError(f"format {version!r}, kind {found!r}")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{name} is a damaged maxmargin file: its header: {error!r}.") from error
    if version > FORMAT_VERSION:
        raise ValueError(
            f"{name} was written by a newer maxmargin: format {version}, "
            f"this one reads up to {FORMAT_VERSION}. Upgrade maxmargin to read it."
        )
    if kind is not None and found != kind:
        raise ValueError(f"{name} holds a {found}, but a {kind} is expected.")
    return head


def _why_unreadable(path: str | os.PathLike[str], error: Exception) -> str:
    """Say whether a file that safetensors refuses is a piece of one or something else.

    A safetensors file starts with the header's length (8 bytes, little endian) and "{"; the data
    offsets in the header say how long the whole must be.
    """
    name, size = repr(os.fspath(path)), os.path.getsize(path)
    foreign = f"{name} is not a maxmargin file (nor any safetensors file): {error}."
    if size == 0:
        return f"{name} is empty: truncated, or never a maxmargin file."
    with open(path, "rb") as file:
        start = file.read(9)
        length = int.from_bytes(start[:8], "little")
        if len(start) < 9:
            return f"{name} has only {size} bytes: truncated, or never a maxmargin file."
        if start[8:] != b"{" or length > 100_000_000:
            return foreign
        file.seek(8)
        header = file.read(length)
    expected = 8 + length
    if size >= expected:
        try:
            entries = json.loads(header)
            ends = [e["data_offsets"][1] for key, e in entries.items() if key != "__metadata__"]
            expected += max(ends, default=0)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            return foreign
    if size < expected:
        return f"{name} is truncated: {size} bytes of at least {expected}."
    return f"{name} is damaged: {error}."


def _tensors(arrays: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, list[Any]]]:
    """Check the arrays, bring them to C order and split CSR matrices into their three parts."""
    parts: dict[str, Any] = {}
    csr: dict[str, list[Any]] = {}
    for name, array in arrays.items():
        pieces = {name: array}
        if type(array) in _CSR.values() and array.ndim == 2:
            csr[name] = [*array.shape, type(array).__name__]
            pieces = {
                f"{name}.{part}": getattr(array, part) for part in ("data", "indices", "indptr")
            }
        for key, piece in pieces.items():
            if key in parts or key in (_META_TENSOR, "__metadata__"):
                raise ValueError(f"arrays[{name!r}] needs the name {key!r}, which is taken.")
            if not isinstance(piece, np.ndarray) or piece.dtype.name not in DTYPES:
                what = f"{type(piece).__name__} of dtype {getattr(piece, 'dtype', 'none')}"
                raise TypeError(
                    f"arrays[{name!r}] must be a numpy array or CSR matrix of real numbers, "
                    f"integers or booleans, got {what}."
                )
            parts[key] = np.asarray(piece, dtype=piece.dtype.newbyteorder("="), order="C")
    return parts, csr


def _join_csr(tensors: dict[str, np.ndarray], csr: Mapping[str, list[Any]]) -> dict[str, Any]:
    joined: dict[str, Any] = dict(tensors)
    for name, (rows, columns, class_name) in csr.items():
        parts = tuple(joined.pop(f"{name}.{part}") for part in ("data", "indices", "indptr"))
        matrix = _CSR[class_name](parts, shape=(rows, columns))
        matrix.check_format(full_check=True)  # compiled code will not check the indices again
        joined[name] = matrix
    return joined

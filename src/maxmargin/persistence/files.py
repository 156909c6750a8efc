"""Reading and writing of one file: arrays and JSON in a safetensors container."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from maxmargin.persistence.values import DTYPES, decode_value, encode_value

FORMAT_VERSION = 1
"""The format written here, and the newest one read."""

_KEY = "maxmargin"
_META_TENSOR = "maxmargin.meta"
_CSR: dict[str, Any] = {"csr_array": scipy.sparse.csr_array, "csr_matrix": scipy.sparse.csr_matrix}
_INLINE_LIMIT = 1 << 16  # characters of JSON kept in the header


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
    fails the old file is untouched and the temporary one removed. A symbolic link is followed.

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
    target = _target(path)
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
    _replace(target, lambda name: save_file(tensors, name, {_KEY: json.dumps(head)}))


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
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(_why_unreadable(path, error)) from error
    try:
        if _META_TENSOR in tensors:
            head["meta"] = json.loads(tensors.pop(_META_TENSOR).tobytes())
        arrays = _join_csr(tensors, head.get("csr", {}))
        meta = decode_value(head["meta"])
        if type(meta) is not dict:
            raise TypeError(f"its meta is of type {type(meta).__name__}")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)!r} is a damaged maxmargin file: {error!r}.") from error
    return Document(head["kind"], head["format"], meta, arrays)


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


def _target(path: str | os.PathLike[str]) -> Path:
    """The file that `path` stands for, refused here if it cannot be written."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if target.exists() and not target.is_file():
        raise ValueError(
            f"{os.fspath(path)!r} is not a regular file, so it cannot be replaced by one."
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(target.parent))
    return target


def _replace(target: Path, save: Callable[[str], None]) -> None:
    """Let `save` write a temporary file beside `target`, then give it that name."""
    temporary = target.parent / f".{target.name[:100]}.{secrets.token_hex(8)}.tmp"
    try:
        # Created by hand to learn the mode that the umask gives; safetensors makes files private.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        mode = stat.S_IMODE((target if target.exists() else temporary).stat().st_mode)
        save(str(temporary))
        os.chmod(temporary, mode)
        _sync(temporary)
        os.replace(temporary, target)
    except BaseException as error:  # Ctrl-C as well must leave nothing behind
        temporary.unlink(missing_ok=True)
        if isinstance(error, SafetensorError):  # a full disk arrives as this
            raise OSError(f"{str(target)!r} could not be written: {error}") from error
        raise
    if os.name == "posix":
        # The new name itself. The file is whole by now; some file systems refuse this, harmlessly.
        with contextlib.suppress(OSError):
            _sync(target.parent)


def _sync(path: Path) -> None:
    # Windows flushes only what is open for writing; folders can only be opened for reading.
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

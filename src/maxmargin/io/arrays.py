"""The arrays of an npz file, read with suspicion: sizes are checked before anything is made."""

from __future__ import annotations

import ast
import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.files import Source, reading, source_name
from maxmargin.io.unpack import most_unpacked

__all__ = ["read_arrays"]

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000  # as numpy has it
_CHUNK = 1 << 20
_DEFLATE = 1032  # the most bytes that one packed byte can stand for
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_KINDS = {"b": "booleans", "i": "integers", "u": "integers", "f": "numbers", "U": "strings",
          "S": "byte strings"}  # fmt: skip
# The exceptions of zipfile for damaged files; each of them has occurred.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)


def read_arrays(source: Source, kinds: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file that are asked for, those that there are.

    Parameters
    ----------
    source : path or file open for reading bytes
    kinds : mapping
        Names of arrays, the first of which must be there, and the kinds of `numpy.dtype` that each
        may have. Other arrays in the file are not read.
    """
    name = source_name(source)
    with reading(source) as file:
        try:
            whole = _seekable(file)
            archive = zipfile.ZipFile(whole)
            members = _members(archive, whole.seek(0, io.SEEK_END))
        except _BROKEN as error:
            raise ValueError(f"{_refusal(name)}: {_why(source, error)}") from None
        first = next(iter(kinds))
        if first not in members:
            raise ValueError(f"{name} has no key {first!r}; its keys are {list(members)[:20]}.")
        return {
            key: _read(name, archive, members[key], allowed)
            for key, allowed in kinds.items()
            if key in members
        }


def _refusal(name: str) -> str:
    return f"{name} is not an npz file of plain arrays"


def _seekable(file: IO[bytes]) -> IO[bytes]:
    return file if file.seekable() else io.BytesIO(file.read())


def _why(source: Source, error: Exception) -> str:
    with reading(source) as file:
        is_array = file.seekable() and file.seek(0) == 0 and file.read(len(_MAGIC)) == _MAGIC
    return "it is a single array" if is_array else str(error) or type(error).__name__


def _members(archive: zipfile.ZipFile, length: int) -> dict[str, zipfile.ZipInfo]:
    """The members of an archive of `length` bytes by the names of the arrays."""
    found: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        key = info.filename.removesuffix(".npy")
        if key in found:
            raise ValueError(f"the array {key!r} is in it twice")
        if info.compress_size > length:
            raise ValueError(f"{info.filename}: {info.compress_size} bytes in a file of {length}")
        found[key] = info
    return found


def _read(name: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo, kinds: str) -> NDArray[Any]:
    """One array; errors name its member of the archive."""
    try:
        _check_member(info)
        with archive.open(info) as member:
            dtype, shape, is_fortran = _header(member, info, kinds)
            array = np.empty(shape, dtype, order="F" if is_fortran else "C")
            _fill(member, array.T if is_fortran else array)
        _check_text(array)
    except _BROKEN as error:
        raise ValueError(f"{_refusal(name)}: {info.filename}: {error}") from None
    return array.astype(dtype.newbyteorder("="), copy=False)


def _check_member(info: zipfile.ZipInfo) -> None:
    if info.flag_bits & 1:
        raise ValueError("it is encrypted")
    if info.compress_type not in _METHODS:
        raise ValueError(
            f"it is packed by method {info.compress_type}; read are 0 (stored) and 8 (deflate)"
        )
    packed, unpacked = info.compress_size, info.file_size
    most = packed if info.compress_type == zipfile.ZIP_STORED else _DEFLATE * packed
    if unpacked > most:
        raise ValueError(f"{packed} bytes cannot hold the {unpacked} that it is said to have")
    if unpacked > most_unpacked(packed):
        raise ValueError(
            f"it unpacks from {packed} to {unpacked} bytes, more than {most_unpacked(packed)}; "
            "if that is meant, store it unpacked (np.savez)"
        )


def _header(
    member: IO[bytes], info: zipfile.ZipInfo, kinds: str
) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    """The type, shape and order of an array; its bytes follow, no more and no fewer."""
    head = member.read(8)
    if len(head) < 8 or head[:6] != _MAGIC or head[6] not in (1, 2, 3):
        raise ValueError("it is no array: its first bytes are not those of numpy's format")
    width = 2 if head[6] == 1 else 4
    length = int.from_bytes(member.read(width), "little")
    if length > _LONGEST_HEADER:
        raise ValueError(f"its header has {length} bytes; expected {_LONGEST_HEADER} at most")
    text = member.read(length)
    if len(text) < length:
        raise ValueError(f"its header is cut: {len(text)} bytes of {length}")
    dtype, shape, is_fortran = _description(text.decode("latin1" if width == 2 else "utf-8"), kinds)
    n_bytes = dtype.itemsize
    for size in shape:
        n_bytes *= size
    held = info.file_size - 8 - width - length
    if n_bytes != held or any(size > info.file_size for size in shape):
        raise ValueError(
            f"its header says {dtype.str} of shape {shape}, {n_bytes} bytes, but it holds {held}"
        )
    return dtype, shape, is_fortran


def _description(text: str, kinds: str) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    try:
        found = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError(f"its header cannot be read: {text[:60]!r}") from None
    if not isinstance(found, dict) or set(found) != {"descr", "fortran_order", "shape"}:
        raise ValueError(f"its header cannot be read: {text[:60]!r}")
    descr, is_fortran, shape = found["descr"], found["fortran_order"], found["shape"]
    if not isinstance(shape, tuple) or not all(type(n) is int and 0 <= n < 2**62 for n in shape):
        raise ValueError(f"its shape {str(shape)[:60]} is none")
    if not isinstance(is_fortran, bool):
        raise ValueError(f"its order {str(is_fortran)[:60]!r} is none")
    if len(shape) > 8:
        raise ValueError(f"it has {len(shape)} axes")
    try:
        dtype = np.dtype(descr) if isinstance(descr, str) else np.dtype(object)
    except (TypeError, ValueError, SyntaxError):
        raise ValueError(f"its type {descr[:60]!r} is none of numpy's") from None
    if dtype.kind not in kinds or not dtype.itemsize or dtype.subdtype is not None:
        wanted = ", ".join(dict.fromkeys(_KINDS[kind] for kind in kinds))
        shown = "objects" if dtype.kind == "O" else repr(dtype.str)
        raise ValueError(f"it holds {shown}; expected {wanted}")
    return dtype, shape, is_fortran


def _fill(member: IO[bytes], array: NDArray[Any]) -> None:
    """Read an array in pieces, to its end, so that zipfile checks its checksum."""
    if array.size:
        view = array.reshape(-1).view(np.uint8)
        at = 0
        while at < len(view):
            piece = member.read(min(_CHUNK, len(view) - at))
            if not piece:
                raise ValueError(f"it is cut: {at} bytes of {len(view)}")
            view[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            at += len(piece)
    member.read(1)


def _check_text(array: NDArray[Any]) -> None:
    """Refuse strings with invalid characters, which would raise errors only much later."""
    if array.dtype.kind != "U" or not array.size:
        return
    codes = np.ascontiguousarray(array).reshape(-1).view(array.dtype.str[0] + "u4")
    bad = (codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        width = array.dtype.itemsize // 4
        raise ValueError(f"element {at // width} holds {int(codes[at])}, which is no character")

"""Opening and replacing files: gzip on the way in, all or nothing on the way out."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias, cast
from uuid import uuid4

__all__ = ["Source", "atomic_write", "numbered_lines", "open_binary", "source_name"]

Source: TypeAlias = "str | os.PathLike[str] | IO[Any]"
"""A path, or a file that is open for reading in text or binary mode."""

_GZIP_MAGIC = b"\x1f\x8b"


def source_name(source: Source) -> str:
    """How errors call `source`: its path, or ``<stream>``."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "<stream>"))


def open_binary(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open `path` for reading bytes; a gzip file is known by its first two bytes, not by its name.

    Examples
    --------
    >>> import gzip, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "packed")
    ...     with gzip.open(path, "wb") as file:
    ...         _ = file.write(b"text")
    ...     with open_binary(path) as file:
    ...         file.read()
    b'text'
    """
    with open(path, "rb") as file:
        is_packed = file.read(2) == _GZIP_MAGIC
    return cast("IO[bytes]", gzip.open(path, "rb")) if is_packed else open(path, "rb")


@contextmanager
def _reading(source: Source) -> Iterator[IO[Any]]:
    """`source` as an open file; what we opened we close."""
    if isinstance(source, (str, os.PathLike)):
        with open_binary(source) as file:
            yield file
    elif hasattr(source, "read"):
        yield source
    else:
        raise TypeError(f"expected a path or an open file, got {type(source).__name__}.")


def numbered_lines(source: Source) -> Iterator[tuple[int, str]]:
    r"""Lines of a UTF-8 text with their numbers from 1, without line ends.

    Only ``\n`` and ``\r\n`` end a line, so that words may hold the other separators of Unicode.

    Examples
    --------
    >>> import io
    >>> list(numbered_lines(io.StringIO("a\nb\n")))
    [(1, 'a'), (2, 'b')]
    """
    name = source_name(source)
    number = 0
    with _reading(source) as file:
        try:
            for number, line in enumerate(file, start=1):
                text = line.decode("utf-8") if isinstance(line, bytes) else line
                if number == 1:
                    text = text.removeprefix("\ufeff")  # a byte order mark is no part of a word
                yield number, text.rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise ValueError(f"{name}, line {number}: not UTF-8 ({error.reason}).") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{name}, after line {number}: broken gzip file: {error}") from None


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that becomes `path` when the block ends well, and vanishes when it does not.

    It is written beside `path`, so that the last step is a rename within one file system. A name
    that ends in ``.gz`` is compressed, with no time stamp: equal contents make equal files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "notes.txt")
    ...     with atomic_write(path) as file:
    ...         _ = file.write(b"whole")
    ...     os.listdir(folder)
    ['notes.txt']
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {target}: the folder {target.parent} does not exist."
        )
    temporary = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as raw:
            if target.suffix == ".gz":
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    yield cast("IO[bytes]", packed)
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

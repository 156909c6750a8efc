"""Opening files and reading their lines: gzip is known by its first bytes, pipes are kept."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, TypeAlias

from maxmargin.io.unpack import Gunzip

__all__ = [
    "Source",
    "Spool",
    "numbered_lines",
    "open_binary",
    "reading",
    "rereadable",
    "shown",
    "source_name",
]

Source: TypeAlias = "str | os.PathLike[str] | IO[Any]"
"""A path, or a file that is open for reading in text or binary mode."""

_GZIP_MAGIC = b"\x1f\x8b"
_PACKED = {
    rb"BZh[1-9]1AY&SY": "bzip2",
    rb"\xfd7zXZ\x00": "xz",
    rb"PK\x03\x04": "zip",
    rb"\x28\xb5\x2f\xfd": "zstd",
}
_SHOWN = 60  # characters of a line that an error repeats


class Spool(io.BytesIO):
    """The contents of a pipe, with its name; every reading starts at the beginning."""

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(content)
        self.name = name


def source_name(source: Source) -> str:
    """How errors call `source`: its path, or ``<stream>``."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "<stream>"))


def shown(text: str) -> str:
    """`text` as an error repeats it: in quotes, and cut where it is long.

    Examples
    --------
    >>> shown("B-NP"), len(shown("x" * 10**7))
    ("'B-NP'", 65)
    """
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


def open_binary(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open `path` for reading bytes; a gzip file is known by its first two bytes, not by its name.

    A pipe, such as ``/dev/stdin``, is read to its end first.

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
    >>> open_binary("none.txt")
    Traceback (most recent call last):
        ...
    FileNotFoundError: no such file: none.txt
    """
    return _unpacked(_open(path))


def _open(path: str | os.PathLike[str]) -> IO[bytes]:
    """The file as it is, without unpacking; it can be sought in."""
    name = os.fspath(path)
    try:
        file = open(path, "rb")  # noqa: SIM115 - the caller closes it
    except FileNotFoundError:
        hint = " (standard input is /dev/stdin)" if str(name) == "-" else ""
        raise FileNotFoundError(f"no such file: {name}{hint}") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{name} is a folder, not a file") from None
    except PermissionError:
        raise PermissionError(f"no permission to read {name}") from None
    if file.seekable():
        return file
    with file:
        return Spool(file.read(), name)


def _unpacked(file: IO[bytes]) -> IO[bytes]:
    """`file` from its beginning, through gzip where its first bytes say so."""
    file.seek(0)
    is_packed = file.read(2) == _GZIP_MAGIC
    file.seek(0)
    return io.BufferedReader(Gunzip(file), 1 << 17) if is_packed else file


def rereadable(source: Source) -> Source:
    """`source` in a form that can be read more than once: the contents of a pipe, else itself.

    Examples
    --------
    >>> rereadable("train.conll")
    'train.conll'
    """
    if not isinstance(source, (str, os.PathLike)) or not os.path.exists(source):
        return source
    if os.path.isfile(source) or os.path.isdir(source):
        return source
    with _open(source) as file:
        return Spool(file.read(), source_name(source))


@contextmanager
def reading(source: Source) -> Iterator[IO[Any]]:
    """`source` as an open file; it is closed at the end only if it was opened here."""
    if isinstance(source, (str, os.PathLike)):
        with open_binary(source) as file:
            yield file
    elif isinstance(source, Spool):
        with _unpacked(Spool(source.getvalue(), source.name)) as file:
            yield file
    elif hasattr(source, "read"):
        yield source
    else:
        raise TypeError(f"expected a path or an open file, got {type(source).__name__}.")


def numbered_lines(source: Source, longest: int | None = None) -> Iterator[tuple[int, str]]:
    r"""Lines of a UTF-8 text with their numbers from 1, without line ends.

    Only ``\n`` and ``\r\n`` end a line, so that words may hold the other separators of Unicode. A
    line of more than `longest` characters is refused before it is read whole.

    Examples
    --------
    >>> list(numbered_lines(io.StringIO("a\nb\n")))
    [(1, 'a'), (2, 'b')]
    """
    name = source_name(source)
    number = 0
    room = -1 if longest is None else 4 * longest + 2  # a character has four bytes at most
    with reading(source) as file:
        try:
            while line := file.readline(room):
                number += 1
                if number == 1 and isinstance(line, bytes):
                    _refuse_packed(name, line)
                is_cut = longest is not None and len(line) >= room
                text = _decoded(line, is_cut)
                # A byte order mark is no part of a word; files that were joined have several.
                text = text.rstrip("\r\n").lstrip("\ufeff")
                if is_cut or (longest is not None and len(text) > longest):
                    raise ValueError(
                        f"{name}, line {number}: the line is longer than {longest} characters: "
                        f"{shown(text)}"
                    )
                if "\0" in text:
                    raise ValueError(
                        f"{name}, line {number}: holds a zero byte, which no text file does."
                    )
                yield number, text
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{name}, line {number}: not UTF-8 ({error.reason} at byte {error.start + 1} of "
                "the line); files of another encoding must be converted first."
            ) from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{name}, after line {number}: broken gzip file: {error}") from None


def _decoded(line: str | bytes, is_cut: bool) -> str:
    """The text of a line; the end of one that is too long may lie within a character."""
    if isinstance(line, str):
        return line
    return line.decode("utf-8", "ignore" if is_cut else "strict")


def _refuse_packed(name: str, line: bytes) -> None:
    for magic, packer in _PACKED.items():
        if re.match(magic, line):
            raise ValueError(f"{name} is packed by {packer}; unpack it first, or pack it by gzip.")

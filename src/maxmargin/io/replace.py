"""Writing a file: all or nothing."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from maxmargin.persistence.replacing import replacing

__all__ = ["atomic_write"]


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that becomes `path` when the block ends well, and vanishes when it does not.

    It is written beside `path`, so that the last step is a rename within one file system. Files
    that a killed process left there are removed. A name that ends in ``.gz`` is compressed, with
    no time stamp: equal contents make equal files. A symbolic link is followed, and a file keeps
    its mode. What is no regular file (a pipe, ``/dev/stdout``) cannot be replaced, and is written
    to.

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
    if _is_device(path):
        with open(path, "ab") as stream, _packed(stream, path) as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {os.fspath(path)}: it is a folder.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {os.fspath(path)}: the folder {target.parent} does not exist."
        )
    with replacing(target) as raw, _packed(raw, path) as file:
        yield file


def _is_device(path: str | os.PathLike[str]) -> bool:
    """Tell whether `path` stands for something open, or for something that is no regular file."""
    if os.path.abspath(path).startswith(("/dev/", "/proc/")):
        return not os.path.abspath(path).startswith("/dev/shm/")
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


@contextmanager
def _packed(raw: IO[bytes], path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    if os.fspath(path).endswith(".gz"):
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
            yield cast("IO[bytes]", packed)
    else:
        yield raw

"""Writing a file: all or nothing."""

from __future__ import annotations

import gzip
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast
from uuid import uuid4

__all__ = ["atomic_write"]


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that becomes `path` when the block ends well, and vanishes when it does not.

    It is written beside `path`, so that the last step is a rename within one file system. A name
    that ends in ``.gz`` is compressed, with no time stamp: equal contents make equal files. A
    symbolic link is followed, and a file keeps its mode. What is no regular file (a pipe,
    ``/dev/stdout``) cannot be replaced, and is written to.

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
        with open(path, "ab") as raw, _packed(raw, path) as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {os.fspath(path)}: the folder {target.parent} does not exist."
        )
    temporary = target.with_name(f".{target.name[:100]}.{uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as raw:
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            with _packed(raw, path) as file:
                yield file
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


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

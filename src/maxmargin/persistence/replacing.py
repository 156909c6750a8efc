"""A file that is replaced in one step, and what killed processes left of such steps.

The bytes go to a temporary file beside the target, which its writer keeps locked. A temporary file
of the same target that nobody has locked belongs to a process that was killed: the next one to
write there removes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any

_LOCKS: Any = import_module("fcntl") if os.name == "posix" else None

#: Seconds after which a temporary file is left over where locks tell nothing.
OLD = 86400.0


def target_of(path: str | os.PathLike[str]) -> Path:
    """Return the file that `path` stands for; refuse one that cannot be replaced."""
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


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """Give a file to write, which takes the name `target` when the block ends well.

    It is flushed to the disk first, so that a reader, or a crash, meets the old file or the new
    one. It has the permissions of the old file, or those that the umask gives.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as file:
    ...         _ = file.write(b"whole")
    ...     os.listdir(folder)
    ['a.txt']
    """
    remove_leftovers(target)
    temporary, file = _create(target)
    try:
        with file:
            yield file
            file.flush()
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            os.fsync(file.fileno())
            if os.name == "posix":  # Windows renames nothing that is open
                os.replace(temporary, target)
        if os.name != "posix":
            os.replace(temporary, target)
    except BaseException:  # Ctrl-C as well must leave nothing behind
        temporary.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        # The new name itself. The file is whole by now; some file systems refuse this, harmlessly.
        with contextlib.suppress(OSError):
            descriptor = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def remove_leftovers(target: Path) -> None:
    """Remove temporary files that killed processes left beside `target`, and no others."""
    for entry in _temporaries(target):
        with contextlib.suppress(OSError):  # gone, or another user's
            _remove_if_left(entry)


def _stem(target: Path) -> str:
    return f".{target.name[:100]}."


def _temporaries(target: Path) -> list[Path]:
    pattern = re.compile(re.escape(_stem(target)) + r"[0-9a-f]{16}\.tmp")
    try:
        return [target.parent / n for n in os.listdir(target.parent) if pattern.fullmatch(n)]
    except OSError:  # a folder that can be written but not listed
        return []


def _remove_if_left(entry: Path) -> None:
    # Never through a link, and never waiting for a pipe: only what `_create` makes is looked at.
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(entry, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return
        is_free = _lock(descriptor)
        is_old = time.time() - status.st_mtime > OLD
        if is_free or (is_free is None and is_old):
            entry.unlink()  # with the lock held: whoever made it just now makes another
    finally:
        os.close(descriptor)


def _create(target: Path) -> tuple[Path, IO[bytes]]:
    """Return a new file beside `target`, locked, and open for writing."""
    while True:
        temporary = target.parent / f"{_stem(target)}{secrets.token_hex(8)}.tmp"
        # 0o666 less the umask, as `open` would make it.
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | _BINARY, 0o666)
        try:
            _lock(descriptor)
            # Between the two steps another process may have taken it for a leftover.
            if os.path.exists(temporary):
                return temporary, os.fdopen(descriptor, "wb")
        except BaseException:
            os.close(descriptor)
            temporary.unlink(missing_ok=True)
            raise
        os.close(descriptor)


_BINARY = getattr(os, "O_BINARY", 0)


def _lock(descriptor: int) -> bool | None:
    """Take the lock of an open file without waiting; None where there are no locks."""
    if _LOCKS is None:
        return None
    try:
        _LOCKS.flock(descriptor, _LOCKS.LOCK_EX | _LOCKS.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system that knows none
        return None
    return True

"""Files that nobody else can have written: the cache of compiled code is run, not only read.

A file is trusted if it belongs to root or to the current user, nobody else can write to it, and the
same is true of its folder and of all folders above. A folder above may be writable for everybody if
it is sticky, as /tmp is: there nobody can replace a file of another user. Folders are checked by
their real paths, without links, and a file is checked after it was opened, so that it cannot be
exchanged in between.
"""

from __future__ import annotations

import contextlib
import os
import stat
import uuid
from typing import IO, Any

__all__ = ["UntrustedError", "open_trusted", "user_folder", "why_untrusted", "write_trusted"]

_IS_POSIX = os.name == "posix"
_WRITERS = stat.S_IWGRP | stat.S_IWOTH


class UntrustedError(Exception):
    """Another user may have written the file, or can write to its folder."""


def why_untrusted(folder: str) -> str | None:
    """Return why a folder is not trusted, or None if it is; the folder need not exist yet.

    Examples
    --------
    >>> why_untrusted("cache")
    "'cache' is a relative path"
    """
    if not os.path.isabs(folder):
        return f"{folder!r} is a relative path"
    if not _IS_POSIX:
        return None
    real = os.path.realpath(folder)
    parts = [real]
    while os.path.dirname(parts[-1]) != parts[-1]:
        parts.append(os.path.dirname(parts[-1]))
    for part in reversed(parts):
        try:
            status = os.lstat(part)
        except FileNotFoundError:
            return None  # yet to be made, in a folder that is trusted
        except OSError as error:
            return f"{part!r}: {error.strerror}"
        if not stat.S_ISDIR(status.st_mode):
            return None  # nothing can be read or written there
        reason = _why(status, part, is_above=part != real)
        if reason is not None:
            return reason
    return None


def _why(status: os.stat_result, name: str, is_above: bool = False) -> str | None:
    if status.st_uid not in (0, os.geteuid()):
        return f"{name!r} belongs to user {status.st_uid}"
    writers = status.st_mode & _WRITERS
    if writers & stat.S_IWGRP and not writers & stat.S_IWOTH and _is_own_group(status.st_gid):
        writers = 0
    if writers and not (is_above and status.st_mode & stat.S_ISVTX):
        return f"others can write to {name!r}"
    return None


def _is_own_group(gid: int) -> bool:
    """Tell whether the current user is the only member of a group.

    Many systems make such a group for every user.
    """
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except (KeyError, OSError):
        return False
    is_named_so = user.pw_gid == gid and group.gr_name == user.pw_name
    return is_named_so and set(group.gr_mem) <= {user.pw_name}


def open_trusted(path: str) -> IO[bytes]:
    """Open a file to read; UntrustedError if others may have written it."""
    if not _IS_POSIX:
        return open(path, "rb")
    folder, name = os.path.split(path)
    reason = why_untrusted(folder)
    if reason is not None:
        raise UntrustedError(reason)
    above = os.open(os.path.realpath(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        reason = _why(os.fstat(above), folder)
        if reason is not None:
            raise UntrustedError(reason)
        # O_NONBLOCK: opening a pipe would wait for ever. O_NOFOLLOW: a link may lead anywhere.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=above)
    finally:
        os.close(above)
    try:
        status = os.fstat(descriptor)
        reason = _why(status, path)
        if reason is None and not stat.S_ISREG(status.st_mode):
            reason = f"{path!r} is no file"
        if reason is not None:
            raise UntrustedError(reason)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def write_trusted(path: str, content: bytes) -> None:
    """Write a file completely or not at all; UntrustedError if others can write to its folder."""
    folder = os.path.dirname(path)
    reason = why_untrusted(folder)
    if reason is not None:
        raise UntrustedError(reason)
    os.makedirs(folder, mode=0o755, exist_ok=True)
    reason = why_untrusted(folder)  # the umask may have let others in
    if reason is not None:
        raise UntrustedError(reason)
    temporary = f"{path}.tmp.{uuid.uuid4().hex[:16]}"
    flags: Any = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(temporary, flags, 0o644), "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def user_folder() -> str | None:
    """Return the user's folder for caches on this platform; None if there is none."""
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA", "")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # the XDG standard says to ignore relative paths
            base = os.path.expanduser("~/.cache")
    # expanduser leaves "~" as it is if HOME is not set and the system does not know the user.
    return base if os.path.isabs(base) else None

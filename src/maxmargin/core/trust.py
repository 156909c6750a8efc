"""Files that nobody else can have written: the cache of compiled code is run, not only read.

A file is trusted if it belongs to root or to us, nobody else can write to it, and the same is true
of its folder and of the folders above. Above, a folder that everybody may write to will do if it is
sticky, as /tmp is: there nobody can exchange what is not his. Where a folder is looked at it is by
its real name, in which there are no links, and what is read is looked at after it was opened.
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
    """Somebody else may have written what was to be read."""


def why_untrusted(folder: str) -> str | None:
    """Return why a folder is not to be trusted, whether it exists yet or not; None if it is.

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
    """Tell whether a group has us alone in it, as many systems make one for every user."""
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
        # A pipe would wait for ever, and a link leads elsewhere.
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
    """Write a file whole or not at all; UntrustedError where others could have their hand in it."""
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
    """Return the user's folder for caches, as the platform has it; None where there is none."""
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA", "")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # as the standard for that variable wants it
            base = os.path.expanduser("~/.cache")
    # Without HOME, and for a user that the system does not know, "~" stays as it is.
    return base if os.path.isabs(base) else None

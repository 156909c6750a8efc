"""What targets share: inputs as files, and the errors that a reader may raise."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


class Unnamed(AssertionError):  # noqa: N818 - a finding, not an error of ours
    """A refusal that does not say which file it is about."""


@contextmanager
def reading(data: bytes, suffix: str) -> Iterator[str]:
    """Give `data` as a file; a ValueError of what is done with it must name that file.

    The file lies in memory where there is such a folder: a hundred thousand inputs need no disk.
    """
    shared = "/dev/shm"
    base = shared if os.path.isdir(shared) and os.access(shared, os.W_OK) else None
    name = f"maxmargin-fuzz-{os.getpid()}{suffix}"
    path = os.path.join(base or tempfile.gettempdir(), name)
    try:
        with open(path, "wb") as file:
            file.write(data)
        yield path
    except ValueError as error:
        if name not in str(error):
            raise Unnamed(f"the error does not name the file: {error!r}") from error
        raise
    finally:
        if os.path.exists(path):
            os.unlink(path)


def is_refusal(error: BaseException) -> bool:
    """Tell whether an error is one that a reader may raise: a ValueError, or a subclass of ours.

    Not those that slip out of a library (UnicodeDecodeError, JSONDecodeError, LinAlgError), whose
    messages speak of something else than the file.
    """
    if not isinstance(error, ValueError):
        return False
    return type(error) is ValueError or type(error).__module__.partition(".")[0] == "maxmargin"

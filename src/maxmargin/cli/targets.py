"""Files to be written, looked at before any work is done."""

from __future__ import annotations

import os
from pathlib import Path


def check_target(
    option: str, path: Path | None, *inputs: Path | None, takes_pipes: bool = False
) -> None:
    """Refuse a place that cannot be written, or that would replace one of the inputs.

    With `takes_pipes` it may be no regular file, such as /dev/stdout.

    Examples
    --------
    >>> check_target("--model", Path("no/such/folder/a.mm"))
    Traceback (most recent call last):
        ...
    FileNotFoundError: --model: the folder no/such/folder does not exist.
    """
    if path is None:
        return
    if path.is_dir():
        raise IsADirectoryError(f"{option}: {path} is a folder.")
    if path.exists() and not path.is_file():
        if not takes_pipes:
            raise ValueError(f"{option}: {path} is not a regular file, so it cannot be replaced.")
        return
    folder = path.resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{option}: the folder {path.parent} does not exist.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{option}: the folder {path.parent} cannot be written to.")
    for other in inputs:
        if other is not None and other.resolve() == path.resolve():
            raise ValueError(f"{option}: {path} would replace {other}, which is to be read.")

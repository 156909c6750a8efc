"""Formats of files by their names."""

from __future__ import annotations

import os
from pathlib import PurePath

__all__ = ["EXTENSIONS", "file_format"]

EXTENSIONS: dict[str, str] = {
    ".conll": "conll",
    ".iob": "conll",
    ".iob2": "conll",
    ".bio": "conll",
    ".txt": "conll",
    ".tsv": "conll",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".npz": "npz",
    ".conllu": "conllu",
    ".arff": "arff",
}
"""Formats by extension; text formats may have ``.gz`` after it."""


def file_format(path: str | os.PathLike[str]) -> str:
    """The format that a file's name announces.

    Examples
    --------
    >>> file_format("train.conll.gz")
    'conll'
    """
    name = PurePath(path)
    suffix = PurePath(name.stem).suffix if name.suffix == ".gz" else name.suffix
    if suffix.lower() not in EXTENSIONS:
        raise ValueError(
            f"{os.fspath(path)}: the extension {suffix!r} names no format. There are: "
            f"{', '.join(EXTENSIONS)}. On the command line --format says it for any name."
        )
    return EXTENSIONS[suffix.lower()]

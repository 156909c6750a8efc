"""One reader for the command line: the file's name says which format it has."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from maxmargin.io.arff import read_arff
from maxmargin.io.conll import read_conll
from maxmargin.io.npz import read_npz
from maxmargin.io.svmlight import read_rankings, read_svmlight

__all__ = ["EXTENSIONS", "FileData", "file_format", "read_any"]

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
    ".arff": "arff",
}
"""Formats by extension; text formats may have ``.gz`` after it."""


@dataclass
class FileData:
    """What a file holds, whatever its format.

    Attributes
    ----------
    format : {"conll", "svmlight", "npz", "arff", "ranking"}
    X : samples: sentences of rows, a sparse matrix, an array, or a list of arrays
    y : their labels, or None
    columns : tuple of str or None
        Names of the columns of a row, for "conll" and "arff".
    is_sequence : bool
        Whether one element of X is a sequence.
    label_names : tuple of str or None
        Names of the columns of y, for "arff".
    qid : ndarray of int64 or None
        The query of each row, for "ranking"; y is then their grades.
    """

    format: str
    X: Any
    y: Any
    columns: tuple[str, ...] | None
    is_sequence: bool
    label_names: tuple[str, ...] | None = None
    qid: Any = None


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
            f"{', '.join(EXTENSIONS)}. format= (--format on the command line) says it for any name."
        )
    return EXTENSIONS[suffix.lower()]


def read_any(path: str | os.PathLike[str], format: str | None = None, **options: Any) -> FileData:
    r"""Read a file by its extension.

    Parameters
    ----------
    path : path
    format : {"conll", "svmlight", "npz", "arff", "ranking"} or None, default None
        None: :func:`file_format` of its name. "ranking", svmlight with qid, has no extension of
        its own and must be named.
    **options
        Passed on to `read_conll`, `read_svmlight`, `read_npz`, `read_arff` or `read_rankings`.
        For ``.tsv`` the separator is a tab unless one is given.

    Returns
    -------
    FileData

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "tiny.conll")
    ...     with open(path, "w") as file:
    ...         _ = file.write("why WRB O\n")
    ...     data = read_any(path)
    >>> data.format, data.X, data.y
    ('conll', [[('why', 'WRB')]], [['O']])
    """
    if format is None:
        format = file_format(path)
    if format == "conll":
        if ".tsv" in PurePath(path).suffixes:
            options.setdefault("separator", "\t")
        data = read_conll(path, **options)
        return FileData(format, data.sentences, data.tags, data.columns, True)
    if format == "svmlight":
        X, y = read_svmlight(path, **options)
        return FileData(format, X, y, None, False)
    if format == "npz":
        X, y = read_npz(path, **options)
        return FileData(format, X, y, None, isinstance(X, list))
    if format == "arff":
        X, y, label_names, columns = read_arff(path, **options)
        names = None if y is None else tuple(label_names)
        return FileData(format, X, y, tuple(columns), False, names)
    if format == "ranking":
        X, grades, qid = read_rankings(path, **options)
        return FileData(format, X, grades, None, False, qid=qid)
    raise ValueError(
        f"format={format!r} is unknown. There are: conll, svmlight, npz, arff, ranking."
    )

"""What a loader returns, and where the local data sets are."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Dataset", "data_folder"]

_VARIABLE = "MAXMARGIN_DATA"


@dataclass
class Dataset:
    """Training and test samples of one data set.

    Attributes
    ----------
    name : str
    X_train, y_train, X_test, y_test : samples and labels
        The loader says of which kind.
    X_dev, y_dev : samples and labels for development, or None
    classes : list
        The distinct labels in order; or, where the loader says that y counts from 0, their names.
    description : str
        Where the data come from, and what was done to them.
    extra : dict
        What belongs to one data set only, such as the transition matrix of a language.
    """

    name: str
    X_train: Any = field(repr=False)
    y_train: Any = field(repr=False)
    X_test: Any = field(repr=False)
    y_test: Any = field(repr=False)
    X_dev: Any = field(default=None, repr=False)
    y_dev: Any = field(default=None, repr=False)
    classes: list[Any] = field(default_factory=list, repr=False)
    description: str = field(default="", repr=False)
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


def data_folder(name: str, data_home: str | os.PathLike[str] | None = None) -> Path:
    """The folder of one local data set.

    Parameters
    ----------
    name : str
        Its folder within the data folder.
    data_home : path or None, default None
        The data folder. None: the environment variable ``MAXMARGIN_DATA``, and where that is not
        set ``../shared/data``, seen from the project's root or else from the working directory.

    Returns
    -------
    Path

    Raises
    ------
    FileNotFoundError
        Saying where it was looked for.
    """
    if data_home is not None:
        candidates = [Path(data_home)]
        source = f"data_home={os.fspath(data_home)!r}"
    elif os.environ.get(_VARIABLE):
        candidates = [Path(os.environ[_VARIABLE])]
        source = f"the environment variable {_VARIABLE}"
    else:
        # The package lies in <root>/src/maxmargin/datasets when it is run from a checkout.
        roots = [Path(__file__).resolve().parents[3], Path.cwd()]
        candidates = [root.parent / "shared" / "data" for root in roots]
        source = "the default place"
    for home in candidates:
        if (home / name).is_dir():
            return home / name
    places = " or ".join(dict.fromkeys(str(home / name) for home in candidates))
    raise FileNotFoundError(
        f"the data set {name!r} is not in {places} ({source}); set {_VARIABLE} to the folder that "
        "holds the data sets."
    )


def describe(folder: Path) -> str:
    """The note on origin and licence that lies beside the data."""
    note = folder / "SOURCE.txt"
    return note.read_text(encoding="utf-8") if note.is_file() else ""


def find_file(folder: Path, name: str) -> Path:
    """`name` in `folder`, perhaps gzipped."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise FileNotFoundError(f"the data set in {folder} lacks the file {name} (or {name}.gz).")

"""Options: those that several commands share, and those that only some kinds have."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

LEARNING, COLUMNS = "Learning", "CoNLL files"  # panels of the help

ModelFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that `maxmargin train` wrote.")
]


def standard_input(path: Path) -> Path:
    """Return the name that the system has for standard input, where it is called "-"."""
    return Path("/dev/stdin") if str(path) == "-" else path


def data_file(*also: str) -> Any:
    """Return the argument that names a file of samples; `also` tells of further names."""
    names = "; ".join([".svm .libsvm", *also])
    return typer.Argument(
        metavar="FILE",
        help="CoNLL columns (.conll .txt .tsv .iob .bio), CoNLL-U for trees (.conllu), svmlight "
        f"({names}), .arff or .npz; text may be gzipped. - is standard input.",
        callback=standard_input,
    )


Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object in place of tables.")
]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress and no notes on stderr.")
]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option("--n-jobs", help="Threads; -1: one per core. Never changes a result."),
]
Format: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="conll, conllu, svmlight, npz, arff or clus; else kind and name of the file say.",
    ),
]
Scheme: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--scheme",
        help="Scheme of the tags: io, iob1, iob2 or bioes; else it is found out. `train` also "
        "holds predictions to it.",
        rich_help_panel=COLUMNS,
    ),
]
Strict: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--strict",
        help="Refuse a file whose tags break their scheme, rather than warn and go on.",
        rich_help_panel=COLUMNS,
    ),
]
TagColumn: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--tag-column",
        help="Column of the tags, from 0, or negative from the end; else the last.",
        rich_help_panel=COLUMNS,
    ),
]
Separator: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--separator",
        help="What parts columns, such as 'tab'; else spaces and tabs.",
        rich_help_panel=COLUMNS,
    ),
]
Hashing: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--hashing",
        help="Hash features into so many columns; those of trees into a power of 2, else 4194304.",
        rich_help_panel=LEARNING,
    ),
]


@dataclass(frozen=True)
class OwnOptions:
    """Options of a command that some kinds have, and others refuse.

    Attributes
    ----------
    options : mapping
        Python's name of each option, and its annotation as typer takes it. An option that is not
        given is None.
    refusal : str
        What is said of one that is given to another kind, after its name; {kind}, {estimator} (in
        `train`) and {model}, {file} (in `predict` and `evaluate`) stand for what was asked for.
    format : str or None
        The format that files must have; None: any.
    """

    options: Mapping[str, Any]
    refusal: str
    format: str | None = None

    def refuse(self, given: Mapping[str, Any], why: str, allowed: Iterable[str] = ()) -> None:
        """Raise if any of these options is given, but for those that are allowed."""
        for name in self.options:
            if given.get(name) is not None and name not in allowed:
                raise ValueError(f"--{name.replace('_', '-')} {why}.")


def with_own_options(
    command: Callable[..., None], groups: Iterable[OwnOptions]
) -> Callable[..., None]:
    """Return a command that takes the options of all groups, for typer to read its signature.

    They stand where the command has ``**own``; a command without takes none.

    Examples
    --------
    >>> def count(file: str, **own): print(file, own)
    >>> group = OwnOptions({"k": Annotated[int | None, typer.Option()]}, "is for rankings")
    >>> list(inspect.signature(with_own_options(count, [group])).parameters)
    ['file', 'k']
    """
    signature = inspect.signature(command, eval_str=True)
    *parameters, last = signature.parameters.values()
    if last.kind is not inspect.Parameter.VAR_KEYWORD:
        return command
    known: dict[str, Any] = {}
    for group in groups:
        for name, annotation in group.options.items():
            if known.setdefault(name, annotation) is not annotation:
                raise TypeError(f"Two kinds have an option {name!r}: they must share one group.")
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters += [
        inspect.Parameter(name, keyword, default=None, annotation=annotation)
        for name, annotation in known.items()
    ]

    @wraps(command)
    def called(**given: Any) -> None:
        command(**given)

    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return called


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

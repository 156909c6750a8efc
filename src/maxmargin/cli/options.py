"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

COLUMNS, RANKINGS = "CoNLL files", "Rankings"  # panels of the help that such options stand in

ModelFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that `maxmargin train` wrote.")
]


def _standard_input(path: Path) -> Path:
    """Return the name that the system has for standard input, where it is called "-"."""
    return Path("/dev/stdin") if str(path) == "-" else path


DataFile: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="CoNLL columns (.conll .txt .tsv .iob .bio), svmlight (.svm .libsvm; for rankings "
        "also .txt), .arff or .npz; text may be gzipped. - is standard input.",
        callback=_standard_input,
    ),
]
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
    typer.Option("--format", help="conll, svmlight, arff or npz; else the file's name says."),
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
    bool,
    typer.Option(
        "--strict",
        help="Refuse a file whose tags break their scheme, rather than warn and go on.",
        rich_help_panel=COLUMNS,
    ),
]
Relevant: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--relevant",
        help="The grade from which a document is relevant, for all but NDCG; else 1, or the "
        "model's own.",
        rich_help_panel=RANKINGS,
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

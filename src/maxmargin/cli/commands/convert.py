"""``maxmargin convert``: the same data in another file format or tag scheme."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import console, options
from maxmargin.cli.readers import separator_for, svmlight_hint
from maxmargin.cli.schemes import convert_file_tags
from maxmargin.cli.targets import check_target

if TYPE_CHECKING:
    from maxmargin.io.files import Source


def convert(
    file: options.DataFile,
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="The file to write; its name says the format.")
    ],
    source: Annotated[
        str | None, typer.Option("--from", help="Scheme of the tags; else it is found out.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--to", help="Scheme to write: io, iob1, iob2 or bioes.")
    ] = None,
    tag_column: options.TagColumn = None,
    separator: options.Separator = None,
    format: Annotated[
        str | None,
        typer.Option("--format", help="Of FILE: conll, svmlight or npz; else its name says."),
    ] = None,
    output_format: Annotated[
        str | None, typer.Option("--output-format", help="Of OUTPUT; else its name says.")
    ] = None,
    strict: options.Strict = False,
    as_json: options.Json = False,
) -> None:
    """Write the same data in another file format or tag scheme.

    CoNLL to CoNLL (other schemes, other separators, gzip), svmlight to npz (with qid, a query
    becomes a sequence, and keeps its number), npz to svmlight.
    """
    from maxmargin.io import file_format

    check_target("OUTPUT", output, file, takes_pipes=True)
    pair = (
        _known("--format", format) or file_format(file),
        _known("--output-format", output_format) or _output_format(output),
    )
    if pair not in _CONVERSIONS:
        known = ", ".join(f"{a} to {b}" for a, b in _CONVERSIONS)
        hint = "" if format else f" If {file} is not {pair[0]}, --format says what it is."
        raise ValueError(
            f"{pair[0]} to {pair[1]} is no conversion there is. There are: {known}.{hint}"
        )
    given = {"from": source, "to": target, "tag-column": tag_column, "separator": separator}
    given["strict"] = strict or None
    if pair[0] != "conll":
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"--{name} is for CoNLL files, but {file} is {pair[0]}.")
    found = _CONVERSIONS[pair](file, output, {**given, "format": format})
    if as_json:
        console.result_json({"command": "convert", "file": file, "output": output, **found})
    else:
        console.result(console.facts(f"{file} to {output}", found))


def _known(option: str, name: str | None) -> str | None:
    known = sorted({format for pair in _CONVERSIONS for format in pair})
    if name is not None and name not in known:
        raise ValueError(f"{option}={name!r} is none that is converted: {', '.join(known)}.")
    return name


def _output_format(output: Path) -> str:
    from maxmargin.io import file_format

    try:
        return file_format(output)
    except ValueError:
        raise ValueError(
            f"{output}: the extension {output.suffix!r} names no format; --output-format says it."
        ) from None


def _conll(file: Path, output: Path, given: dict[str, Any]) -> dict[str, Any]:
    from maxmargin.io import read_conll, write_conll
    from maxmargin.io.files import rereadable

    tag_column = -1 if given["tag-column"] is None else given["tag-column"]
    kept = rereadable(file)
    try:
        data = read_conll(kept, tag_column, separator_for(file, given["separator"]))
    except ValueError as error:
        hint = svmlight_hint(kept) if given["format"] is None else ""
        raise ValueError(f"{error}{hint}") from None
    source, target, tags = given["from"], given["to"], data.tags or []
    if source is not None and target is None:
        raise ValueError("--from needs --to, the scheme to write.")
    if target is None and given["strict"]:
        raise ValueError("--strict needs --to, the scheme to write.")
    n_off = None
    if target is not None:
        source, tags, n_off = convert_file_tags(file, data, source, target, given["strict"])
    try:
        write_conll(
            output,
            data.sentences,
            tags,
            separator=separator_for(output, None) or " ",
            tag_column=data.tag_column,
            document_starts=data.document_starts,
        )
    except ValueError as error:
        raise ValueError(f"{file} to {output}: {error}") from None
    found = {"sentences": len(tags), "tokens": data.n_tokens, "from": source, "to": target}
    return found if n_off is None else {**found, "tags_off": n_off}


def _svmlight_to_npz(file: Path, output: Path, given: dict[str, Any]) -> dict[str, Any]:
    from maxmargin.io import read_svmlight, write_npz
    from maxmargin.io.files import numbered_lines, rereadable
    from maxmargin.io.unpack import to_dense

    source = rereadable(file)
    if any(" qid:" in line.partition("#")[0] for _, line in numbered_lines(source)):
        return _rankings_to_npz(source, file, output)
    X, y = read_svmlight(source)
    write_npz(output, to_dense(X, str(file)), y)
    return {"samples": X.shape[0], "features": X.shape[1]}


def _rankings_to_npz(source: Source, file: Path, output: Path) -> dict[str, Any]:
    """Write a query as a sequence of its documents, in the order of the file."""
    import numpy as np

    from maxmargin.io import read_rankings, write_npz
    from maxmargin.io.unpack import to_dense

    X, grades, qid = read_rankings(source)
    starts = np.flatnonzero(np.append(True, qid[1:] != qid[:-1]))
    names, counts = np.unique(qid[starts], return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"{file}: the documents of query {names[counts > 1][0]} do not lie together, as npz "
            "has those of a query."
        )
    documents = np.split(to_dense(X, str(file)), starts[1:])
    write_npz(output, documents, np.split(grades, starts[1:]), qid=qid[starts])
    return {"queries": len(starts), "documents": X.shape[0], "features": X.shape[1]}


def _npz_to_svmlight(file: Path, output: Path, given: dict[str, Any]) -> dict[str, Any]:
    from maxmargin.io import write_svmlight
    from maxmargin.io.npz import read_npz_queries, stack

    X, y, numbers = read_npz_queries(file)
    qid = None
    if isinstance(X, list):
        if numbers is None:
            raise ValueError(
                f"{file} holds sequences, which svmlight cannot; those of queries it can, but the "
                "file has no array qid with their numbers."
            )
        import numpy as np

        X, offsets = stack(X)
        y = None if y is None else stack(y, "y")[0]
        qid = np.repeat(numbers, np.diff(offsets))
    if y is None or y.dtype.kind not in "iufb":
        what = "no labels" if y is None else f"labels of type {y.dtype}"
        raise ValueError(f"{file} has {what}; svmlight needs numbers.")
    write_svmlight(output, X, y, qid=qid)
    if numbers is not None:
        return {"queries": len(numbers), "documents": X.shape[0], "features": X.shape[1]}
    return {"samples": X.shape[0], "features": X.shape[1]}


_CONVERSIONS: dict[tuple[str, str], Callable[[Path, Path, dict[str, Any]], dict[str, Any]]] = {
    ("conll", "conll"): _conll,
    ("svmlight", "npz"): _svmlight_to_npz,
    ("npz", "svmlight"): _npz_to_svmlight,
}

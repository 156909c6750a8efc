"""File formats, one file each: how they are read, what a training file settles, what is written."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from maxmargin.cli.formats.arff import ArffReader
from maxmargin.cli.formats.base import Batch, Reader
from maxmargin.cli.formats.clus import ClusReader
from maxmargin.cli.formats.conll import ConllReader
from maxmargin.cli.formats.conllu import ConlluReader
from maxmargin.cli.formats.npz import NpzReader
from maxmargin.cli.formats.svmlight import SvmlightReader

__all__ = [
    "READERS",
    "ArffReader",
    "Batch",
    "ClusReader",
    "ConllReader",
    "ConlluReader",
    "NpzReader",
    "Reader",
    "SvmlightReader",
    "reader_from_state",
]

#: A new format is a line here.
READERS: dict[str, type[Reader]] = {
    reader.format: reader
    for reader in (ConllReader, ConlluReader, SvmlightReader, NpzReader, ArffReader, ClusReader)
}


def reader_from_state(state: dict[str, Any]) -> Reader:
    """Return the reader that `Reader.state` was called on."""
    if not isinstance(state, dict) or not isinstance(state.get("format"), str):
        raise ValueError(f"its reader is {state!r:.80}, which names no format")
    options = dict(state)
    name = options.pop("format")
    if name not in READERS:
        raise ValueError(f"The model was trained from a {name!r} file, which is not known here.")
    allowed = {f.name: f.type for f in fields(READERS[name])}
    for option, value in options.items():
        if option not in allowed:
            raise ValueError(f"its {name} reader has the option {option!r}, which is not known")
        if not _is_of(value, str(allowed[option])):
            raise ValueError(
                f"the option {option!r} of its {name} reader must be {allowed[option]}, got "
                f"{value!r:.80}"
            )
    return READERS[name](**options)


def _is_of(value: Any, wanted: str) -> bool:
    """Tell whether a value is of the type that the annotation of a reader's option names."""
    if wanted.startswith("tuple["):
        return type(value) is tuple and all(type(item) is str for item in value)
    names = wanted.split(" | ")
    return ("None" if value is None else type(value).__name__) in names

"""Reading a training file: what is left open by the options is found out, and then kept."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from maxmargin.cli.kinds import Kind
from maxmargin.cli.readers import (
    ArffReader,
    Batch,
    ConllReader,
    NpzReader,
    Reader,
    SvmlightReader,
    first_line,
    separator_for,
    svmlight_hint,
)
from maxmargin.cli.schemes import find_scheme

if TYPE_CHECKING:
    from maxmargin.io import FeatureTemplate
    from maxmargin.io.files import Source

_INDEX_0 = re.compile(r"\s0+:")


@dataclass(frozen=True)
class ColumnOptions:
    """The options that are for CoNLL files only; None where not given."""

    template: str | None = None
    columns: str | None = None
    tag_column: int | None = None
    separator: str | None = None
    scheme: str | None = None
    strict: bool | None = None
    min_count: int | None = None
    hashing: int | None = None

    def refuse(self, why: str) -> None:
        """Raise if any is given: there is no CoNLL file."""
        for option in fields(self):
            if getattr(self, option.name) is not None:
                flag = option.name.replace("_", "-")
                raise ValueError(f"--{flag} is for CoNLL files, {why}.")


def read_training(
    path: Path,
    format: str | None,
    options: ColumnOptions,
    kind: Kind,
    labels: str | None = None,
) -> tuple[Reader, Batch]:
    """Return the samples of a training file, and how further files are to be read.

    ``labels`` says which attributes of an ARFF file are labels, see `label_attributes`.
    """
    from maxmargin.io.files import rereadable

    name = kind.format_of(path) if format is None else format
    kind.check_format(path, name)
    if labels is not None and name != "arff":
        raise ValueError(f"--labels is for ARFF files, but {path} is of format {name}.")
    if name == "conll":
        source = rereadable(path)
        try:
            return _read_conll(source, path, options)
        except ValueError as error:
            hint = svmlight_hint(source) if format is None else ""
            raise ValueError(f"{error}{hint}") from None
    options.refuse(f"but {path} is of format {name}")
    if name == "svmlight":
        return _read_queries(path) if kind.has_queries else _read_svmlight(path, kind)
    if name == "arff":
        return _read_arff(path, labels, kind)
    if name == "npz":
        reader = NpzReader(queries=kind.has_queries)
        return reader, reader.read(path).labelled()
    raise ValueError(f"format={name!r} is unknown. There are: conll, svmlight, npz, arff.")


def _read_arff(path: Path, labels: str | None, kind: Kind) -> tuple[Reader, Batch]:
    from maxmargin.io import read_arff

    if not kind.has_label_sets:
        raise ValueError(
            f"{path} is an ARFF file, which holds label sets: `maxmargin train multilabel` learns "
            "them."
        )
    if labels is None:
        raise ValueError(
            f"--labels must say which attributes of {path} are labels: the xml file of Mulan, a "
            "number (the first so many; negative, the last), or names parted by commas."
        )
    data = read_arff(path, label_attributes(labels))
    reader = ArffReader(tuple(data.label_names), tuple(data.feature_names))
    return reader, Batch(path, data.X, data.Y, False, classes=data.label_names)


def label_attributes(text: str) -> Path | int | list[str]:
    """Return which attributes of an ARFF file are labels, as `read_arff` takes it.

    Examples
    --------
    >>> label_attributes("-14"), label_attributes("sad,happy")
    (-14, ['sad', 'happy'])
    >>> label_attributes("yeast.xml").name
    'yeast.xml'
    """
    if text.lstrip("+-").isdigit():
        return int(text)
    if text.lower().endswith((".xml", ".xml.gz")):
        return Path(text)
    return text.split(",")


def _read_conll(source: Source, path: Path, options: ColumnOptions) -> tuple[Reader, Batch]:
    from maxmargin.io import read_conll

    columns = None if options.columns is None else options.columns.split(",")
    tag_column = -1 if options.tag_column is None else options.tag_column
    data = read_conll(source, tag_column, separator_for(path, options.separator), columns)
    template = _template(options.template, data.columns)
    place = data.tag_column
    if data.tags is None or place is None:
        raise ValueError(f"{path} has no labels.")
    reader = ConllReader(
        template=template.templates,
        columns=data.columns,
        tag_column=place,
        separator=options.separator,
        scheme=options.scheme or find_scheme(data.tags),
    )
    return reader, Batch(path, template.transform(data.sentences), data.tags, True, data)


def _template(given: str | None, columns: tuple[str, ...]) -> FeatureTemplate:
    """Return the template that a file holds, that is given itself, or a preset that fits."""
    from maxmargin.io import FeatureTemplate
    from maxmargin.io.files import numbered_lines

    if given is None:
        given = "chunking" if {"w", "pos"} <= set(columns) else "ner"
    file = Path(given)
    # A template may be too long to be a file's name, which the system says by an error.
    try:
        is_file = file.is_file()
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        return FeatureTemplate.parse(given, columns)
    text = "\n".join(line for _, line in numbered_lines(file))
    try:
        return FeatureTemplate.parse(text, columns)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def _read_svmlight(path: Path, kind: Kind) -> tuple[Reader, Batch]:
    from maxmargin.io import read_svmlight
    from maxmargin.io.files import rereadable

    multilabel = kind.has_label_sets
    source = rereadable(path)
    # Whether indices count from 0 is settled here: in a later file no 0 may happen to occur.
    X, y = read_svmlight(source, multilabel=multilabel, zero_based=True)
    is_zero_based = bool((X.indices == 0).any())
    if not is_zero_based:
        X = X[:, 1:]
    reader = SvmlightReader(zero_based=is_zero_based, multilabel=multilabel)
    has_qid = any(word.startswith("qid:") for word in first_line(source).split())
    return reader, Batch(path, X, y, False, ignores_qid=has_qid)


def _read_queries(path: Path) -> tuple[Reader, Batch]:
    from maxmargin.io.files import numbered_lines, rereadable

    source = rereadable(path)
    # Looked for in the text: a feature that is 0 in all rows is not stored.
    lines = (line.partition("#")[0] for _, line in numbered_lines(source))
    reader = SvmlightReader(zero_based=any(map(_INDEX_0.search, lines)), queries=True)
    return reader, reader.read_source(source, path)

"""How the files of one model are read; kept with the model, so that it and a file are enough.

A reader of each format turns a file into a `Batch`, and writes predictions beside what it read.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from maxmargin.io.files import Source

_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ","}


@dataclass
class Batch:
    """Samples of one file, as an estimator takes them.

    Attributes
    ----------
    path : Path
    X : samples
    y : their labels, or None
    is_sequence : bool
        Whether one element of X is a sequence.
    source : what else the file held, for writing it again
    classes : list of str or None
        Names of the columns of y, where it is an indicator matrix that has them.
    qid : array or None
        The query of each row, where rows are documents and y their grades; None: there are no
        queries, or all rows are one.
    ignores_qid : bool
        Whether the file has queries that rows are read without.
    """

    path: Path
    X: Any
    y: Any
    is_sequence: bool
    source: Any = None
    classes: list[str] | None = None
    qid: Any = None
    ignores_qid: bool = False

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    def labelled(self) -> Self:
        """Return the batch, refused if it has no labels."""
        if self.y is None:
            raise ValueError(f"{self.path} has no labels.")
        return self


@dataclass(frozen=True)
class Reader(ABC):
    """How files of one format are read for one model."""

    format: ClassVar[str]

    @abstractmethod
    def read(self, path: Path, n_features: int | None = None) -> Batch:
        """Read a file for a model of `n_features` columns."""

    def write(self, target: Path | IO[str], batch: Batch, predictions: Any) -> None:
        """Write predictions, one sample a line.

        The labels of a sequence are parted by spaces, those of a label set by commas.
        """
        if batch.is_sequence:
            lines = [" ".join(map(str, labels)) for labels in predictions]
        elif len(predictions) and isinstance(predictions[0], tuple):
            lines = [",".join(map(str, labels)) for labels in predictions]
        else:
            lines = [str(label) for label in predictions]
        _write_text(target, "".join(line + "\n" for line in lines))

    def state(self) -> dict[str, Any]:
        """Return the reader as a model file holds it."""
        return {"format": self.format, **asdict(self)}


@dataclass(frozen=True)
class ConllReader(Reader):
    """CoNLL columns through a feature template.

    `tag_column` is the place of the tags in a file that has them, from 0; `columns` names the
    others. `scheme` is that of the tags, None if they follow none.
    """

    format = "conll"
    template: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    tag_column: int = 0
    separator: str | None = None
    scheme: str | None = None

    def read(self, path: Path, n_features: int | None = None) -> Batch:
        """Read a file that has the columns of the training file, with or without the tags."""
        from maxmargin.io import FeatureTemplate, conll_width, read_conll
        from maxmargin.io.files import rereadable

        source = rereadable(path)
        separator = separator_for(path, self.separator)
        width, expected = conll_width(source, separator=separator), len(self.columns)
        if width not in (expected, expected + 1):
            raise ValueError(
                f"{path} has {width} columns; the model expects {expected} "
                f"({', '.join(self.columns)}), or {expected + 1} with the tags."
            )
        tag = self.tag_column if width > expected else None
        data = read_conll(source, tag, separator, self.columns)
        X = FeatureTemplate.parse(self.template, self.columns).transform(data.sentences)
        return Batch(path, X, data.tags, True, data)

    def write(self, target: Path | IO[str], batch: Batch, predictions: Any) -> None:
        """Write the file again with the predictions as a further column."""
        from maxmargin.io import write_conll

        data = batch.source
        write_conll(
            target,
            data.sentences,
            data.tags,
            predictions,
            separator=separator_for(batch.path, self.separator) or " ",
            tag_column=data.tag_column,
            document_starts=data.document_starts,
        )


@dataclass(frozen=True)
class SvmlightReader(Reader):
    """svmlight, with indices from 0 or from 1 (None: as the file seems to have it).

    With `multilabel` a line has any number of labels, parted by commas; with `queries` a grade and
    a qid.
    """

    format = "svmlight"
    zero_based: bool | None = None
    multilabel: bool = False
    queries: bool = False

    def read(self, path: Path, n_features: int | None = None) -> Batch:
        """Read a file; an index beyond `n_features` is refused."""
        return self.read_source(path, path, n_features)

    def read_source(self, source: Source, path: Path, n_features: int | None = None) -> Batch:
        """Read what is called `path`, which may be a pipe whose contents are kept."""
        from maxmargin.io import read_rankings, read_svmlight

        zero_based = "auto" if self.zero_based is None else self.zero_based
        if self.queries:
            data = read_rankings(source, n_features=n_features, zero_based=zero_based)
            return Batch(path, data.X, data.grades, False, qid=data.qid)
        X, y = read_svmlight(
            source, n_features=n_features, multilabel=self.multilabel, zero_based=zero_based
        )
        return Batch(path, X, y, False)


@dataclass(frozen=True)
class NpzReader(Reader):
    """Dense arrays; with `queries` a sequence is a query, and its rows are documents."""

    format = "npz"
    queries: bool = False

    def read(self, path: Path, n_features: int | None = None) -> Batch:
        """Read a file; the estimator checks the number of features."""
        from maxmargin.io.npz import read_npz_queries, stack

        X, y, names = read_npz_queries(path)
        if self.queries and isinstance(X, list):
            import numpy as np

            rows, offsets = stack(X)
            names = np.arange(len(X)) if names is None else names
            qid = np.repeat(names, np.diff(offsets))
            return Batch(path, rows, None if y is None else stack(y, "y")[0], False, qid=qid)
        return Batch(path, X, y, isinstance(X, list))


@dataclass(frozen=True)
class ArffReader(Reader):
    """ARFF with label sets: which attributes are labels, and the names of the others in order."""

    format = "arff"
    labels: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    def read(self, path: Path, n_features: int | None = None) -> Batch:
        """Read a file that has the attributes of the training file, with or without the labels."""
        from maxmargin.io import read_arff
        from maxmargin.io.files import rereadable

        source = rereadable(path)
        try:
            data = read_arff(source, list(self.labels))
        except ValueError:
            data = read_arff(source)
            if set(self.labels) & set(data.feature_names):
                raise
        self._check_features(path, data.feature_names)
        return Batch(path, data.X, data.Y, False, classes=list(self.labels))

    def _check_features(self, path: Path, names: list[str]) -> None:
        expected = list(self.features)
        if not expected or names == expected:
            return
        if len(names) != len(expected):
            raise ValueError(
                f"{path} has {len(names)} attributes that are no labels; the model expects "
                f"{len(expected)}."
            )
        j = next(j for j, name in enumerate(names) if name != expected[j])
        raise ValueError(
            f"{path} has the attribute {names[j]!r} where the model expects {expected[j]!r}."
        )


READERS: dict[str, type[Reader]] = {
    reader.format: reader for reader in (ConllReader, SvmlightReader, NpzReader, ArffReader)
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


def first_line(source: Source, longest: int | None = None) -> str:
    """Return the first line of a text file that holds more than a comment, without its comment."""
    from maxmargin.io.files import numbered_lines

    lines = (line.partition("#")[0].strip() for _, line in numbered_lines(source, longest))
    return next(filter(None, lines), "")


_FEATURE = re.compile(r"(qid|\d+):\S+")
_LONGEST = 1 << 20  # characters of a line that is looked at for a hint


def svmlight_hint(source: Source) -> str:
    """Say so if a file that was taken for CoNLL, by its name, looks like svmlight.

    Examples
    --------
    >>> import io
    >>> svmlight_hint(io.StringIO("1 qid:3 1:.5 7:2 # text"))
    ' Its first line looks like svmlight: --format svmlight reads it so.'
    >>> svmlight_hint(io.StringIO("The DT B-NP"))
    ''
    """
    try:
        features = first_line(source, _LONGEST).split()[1:]
    except ValueError:  # no text that could be read at all
        return ""
    if not features or not all(map(_FEATURE.fullmatch, features)):
        return ""
    return " Its first line looks like svmlight: --format svmlight reads it so."


def separator_for(path: Path, separator: str | None) -> str | None:
    """Return what parts the columns of a file: what was asked for, and a tab in .tsv files."""
    if separator is not None:
        return _SEPARATORS.get(separator, separator)
    return "\t" if ".tsv" in path.suffixes else None


def _write_text(target: Path | IO[str], text: str) -> None:
    from maxmargin.io import atomic_write

    if isinstance(target, os.PathLike):
        with atomic_write(target) as file:
            file.write(text.encode("utf-8"))
    else:
        target.write(text)

"""Model files as the command line writes them: an estimator, and how its files are read."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from maxmargin.cli.kinds import kind_of
from maxmargin.cli.queries import for_estimator
from maxmargin.cli.readers import (
    READERS,
    ArffReader,
    Batch,
    ConllReader,
    NpzReader,
    Reader,
    SvmlightReader,
    reader_from_state,
)


@dataclass
class Model:
    """A fitted estimator and the reader of its files; None where a script saved it."""

    path: Path
    estimator: Any
    reader: Reader | None

    @property
    def scheme(self) -> str | None:
        """Scheme of the tags that the model was trained on, if they follow one."""
        return self.reader.scheme if isinstance(self.reader, ConllReader) else None

    def reader_for(self, path: Path, format: str | None = None) -> Reader:
        """Return the reader of a file: the model's own unless the file is of another format."""
        own, kind = self.reader, kind_of(self.estimator, self.path)
        if format is None and own is not None:
            try:
                format = kind.format_of(path)
            except ValueError:
                return own
        name = kind.format_of(path) if format is None else format
        kind.check_format(path, name)
        if own is not None and name == own.format:
            return own
        if name not in READERS:
            raise ValueError(f"format={name!r} is unknown. There are: {', '.join(READERS)}.")
        if name == "conll":
            own_name = "svmlight" if own is None else own.format
            raise ValueError(
                f"{self.path} was not trained from a CoNLL file, so that it has no feature "
                f"template to read {path} with; if that is not CoNLL, --format {own_name} says so."
            )
        if isinstance(own, ConllReader):
            raise ValueError(
                f"{self.path} was trained from a CoNLL file; {path} is {name}. If it is CoNLL, "
                "--format conll says so."
            )
        if name == "svmlight":
            return SvmlightReader(multilabel=kind.has_label_sets, queries=kind.has_queries)
        if name == "arff":
            if not kind.has_label_sets:
                raise ValueError(f"{path} is ARFF, which holds label sets; {self.path} has none.")
            return ArffReader(tuple(map(str, self.estimator.classes_)))
        return NpzReader(queries=kind.has_queries)

    def read(self, path: Path, format: str | None = None) -> tuple[Reader, Batch]:
        """Read a file for the model."""
        kind = kind_of(self.estimator, self.path)
        reader = self.reader_for(path, format)
        batch = reader.read(path, int(self.estimator.n_features_in_))
        kind.check(str(self.path), path, batch.is_sequence)
        return reader, for_estimator(batch, self.estimator)


def save_model(path: Path, estimator: Any, reader: Reader) -> None:
    """Write a model in one step; `maxmargin.load` gives its estimator back."""
    from maxmargin.training.storage import save

    save(path, estimator, {"reader": reader.state()})


def load_model(path: Path) -> Model:
    """Read a model file, written by `save_model` or by an estimator's own `save`."""
    import_module("maxmargin.estimators")  # registers the classes that a file may name
    from maxmargin.persistence import damaged, read_estimator

    estimator, meta = read_estimator(path)
    with damaged(path, "is a damaged model file"):
        reader = meta.get("reader")
        return Model(path, estimator, None if reader is None else reader_from_state(reader))

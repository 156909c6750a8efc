"""Model files as the command line writes them: an estimator, and how its files are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maxmargin.cli.formats import Batch, Reader, reader_from_state
from maxmargin.cli.kinds import Kind, kind_of
from maxmargin.cli.kinds.base import NOTHING


@dataclass
class Model:
    """An estimator and the reader of its files; None where a script saved it."""

    path: Path
    estimator: Any
    reader: Reader | None

    @property
    def kind(self) -> Kind:
        """The kind of the estimator, refused if it is of none."""
        return kind_of(self.estimator, self.path)

    def reader_for(self, path: Path, format: str | None = None) -> Reader:
        """Return the reader of a file: the model's own unless the file is of another format."""
        own, kind = self.reader, self.kind
        if format is None and own is not None:
            try:
                format = kind.format_of(path)
            except ValueError:
                return own
        name = kind.format_of(path) if format is None else format
        other = kind.reader_of(path, name, self.path)
        if own is not None and name == own.format:
            return own
        if other.makes_features:
            own_name = "svmlight" if own is None else own.format
            raise ValueError(
                f"{self.path} was not trained from a {other.title} file, so that it has no feature "
                f"template to read {path} with; if that is not {other.title}, --format {own_name} "
                "says so."
            )
        if own is not None and own.makes_features:
            raise ValueError(
                f"{self.path} was trained from a {own.title} file; {path} is {name}. If it is "
                f"{own.title}, --format {own.format} says so."
            )
        return other.for_model(self.estimator)

    def read(self, path: Path, format: str | None = None) -> tuple[Reader, Batch]:
        """Read a file for the model."""
        reader = self.reader_for(path, format)
        batch = reader.read(path, int(self.estimator.n_features_in_))
        self.kind.check_sort(str(self.path), batch)
        return reader, self.kind.adapt(batch, self.estimator)

    def read_held_out(self, path: Path, batch: Batch) -> Batch:
        """Read a labelled file of the same sort as the training file, before the fit."""
        n_features = None if batch.is_sequence else batch.X.shape[1]
        held_out = self.reader_for(path).read(path, n_features).labelled()
        if held_out.is_sequence != batch.is_sequence:
            raise ValueError(f"{path} and {batch.path} do not hold samples of one sort.")
        return self.kind.adapt(held_out, self.estimator)

    def predict(self, batch: Batch, asked: Mapping[str, Any] = NOTHING) -> Any:
        """Return what the estimator predicts; ``asked`` are further arguments of its `predict`."""
        return self.estimator.predict(batch.X, **batch.beside, **asked)

    def save(self, path: Path) -> None:
        """Write the model in one step; `maxmargin.load` gives its estimator back."""
        from maxmargin.training.storage import save

        extra = {} if self.reader is None else {"reader": self.reader.state()}
        save(path, self.estimator, extra)


def load_model(path: Path) -> Model:
    """Read a model file, written by `Model.save` or by an estimator's own `save`."""
    from maxmargin.persistence import damaged
    from maxmargin.training.storage import load

    estimator, meta = load(path)
    with damaged(path, "is a damaged model file"):
        reader = meta.get("reader")
        return Model(path, estimator, None if reader is None else reader_from_state(reader))

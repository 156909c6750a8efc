"""What every format has: a reader that turns files into a `Batch`, and writes predictions."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, ClassVar, Self


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

    @property
    def beside(self) -> dict[str, Any]:
        """What methods of an estimator take beside X and y."""
        return {} if self.qid is None else {"qid": self.qid}

    @property
    def eval_set(self) -> tuple[Any, ...]:
        """The samples as `fit` takes held-out ones."""
        return (self.X, self.y) if self.qid is None else (self.X, self.y, self.qid)

    def labelled(self) -> Self:
        """Return the batch, refused if it has no labels."""
        if self.y is None:
            raise ValueError(f"{self.path} has no labels.")
        return self


@dataclass(frozen=True)
class Reader(ABC):
    """How files of one format are read for one model, which keeps its reader.

    A kind has one reader per format, which leaves open what a training file says; `settle` returns
    the one that the model keeps, so that it and a file are enough.
    """

    format: ClassVar[str]
    #: What messages call the format, and what its files hold if that is of one sort alone.
    title: ClassVar[str]
    holds: ClassVar[str] = ""
    #: Whether features are made by a template, which a model must have been trained with.
    makes_features: ClassVar[bool] = False
    #: Said of the numbers of features, where they are not those of the file.
    numbering: ClassVar[str] = ""

    @abstractmethod
    def read(self, path: Path, n_features: int | None = None) -> Batch:
        """Read a file for a model of `n_features` columns."""

    def settle(self, path: Path, own: Mapping[str, Any], is_named: bool) -> tuple[Self, Batch]:
        """Return how further files are to be read, and the labelled samples of a training file.

        Parameters
        ----------
        path : Path
        own : mapping
            Options of the command by name; None where not given.
        is_named : bool
            Whether the user named the format, so that the file need not look like another.
        """
        return self, self.read(path).labelled()

    def for_model(self, estimator: Any) -> Self:
        """Return how files are read for a model that was not trained from a file of this format."""
        return self

    def write(self, target: Path | IO[str], batch: Batch, predictions: Any) -> None:
        """Write predictions, one sample per line.

        The labels of a sequence are parted by spaces, those of a label set by commas.
        """
        if batch.is_sequence:
            lines = [" ".join(map(str, labels)) for labels in predictions]
        elif len(predictions) and isinstance(predictions[0], tuple):
            lines = [",".join(map(str, labels)) for labels in predictions]
        else:
            lines = [str(label) for label in predictions]
        write_text(target, "".join(line + "\n" for line in lines))

    def state(self) -> dict[str, Any]:
        """Return the reader as a model file holds it."""
        return {"format": self.format, **asdict(self)}

    def facts(self) -> dict[str, Any]:
        """Return what a table says of the reader."""
        return {"read from": self.format}


def write_text(target: Path | IO[str], text: str) -> None:
    """Write text to a file, which it replaces, or to an open one."""
    from maxmargin.io import atomic_write

    if isinstance(target, os.PathLike):
        with atomic_write(target) as file:
            file.write(text.encode("utf-8"))
    else:
        target.write(text)

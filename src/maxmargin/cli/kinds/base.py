"""What the command line knows of one sort of output; each is a subclass in a file of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from maxmargin.cli.formats import READERS, Batch, ConllReader, NpzReader, Reader, SvmlightReader
from maxmargin.cli.options import OwnOptions

if TYPE_CHECKING:
    from maxmargin.cli.models import Model

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Kind(ABC):
    """Options, readers, measures, tables and a tiny sample of what one estimator learns.

    The defaults are those of rows that have labels of their own, read from svmlight and npz. In all
    methods `own` holds the options that only some kinds have, by name; None where not given.

    Attributes
    ----------
    name : str
        What follows ``maxmargin train``.
    estimator : str
        Name of the class, which is registered for model files. No two kinds share one.
    about : str
        What is learnt, in a few words.
    is_sequence : bool
        Whether a sample is a sequence.
    options : mapping
        Groups of options that commands have for this kind, by the name of the command.
    parameters : mapping
        Options that are parameters of the estimator, and what it calls them.
    readers : mapping
        How files are read, by format.
    told : mapping
        What help says of this kind: about a command, an option ("C", "scoring") or "file".
    blocks : tuple of str
        Attributes with weights besides `coef_`, which ``inspect --json`` gives.
    """

    name: ClassVar[str]
    estimator: ClassVar[str]
    about: ClassVar[str]
    is_sequence: ClassVar[bool] = False
    options: ClassVar[Mapping[str, tuple[OwnOptions, ...]]] = NOTHING
    parameters: ClassVar[Mapping[str, str]] = NOTHING
    # CoNLL is read by all, so that a file of single samples that is called .txt is told apart.
    readers: ClassVar[Mapping[str, Reader]] = {
        "conll": ConllReader(),
        "svmlight": SvmlightReader(),
        "npz": NpzReader(),
    }
    told: ClassVar[Mapping[str, str]] = NOTHING
    blocks: ClassVar[tuple[str, ...]] = ("intercept_",)

    # -- the estimator -----------------------------------------------------------------------------

    def new_estimator(self, params: Mapping[str, Any], own: Mapping[str, Any] = NOTHING) -> Any:
        """Return the estimator that a script would make, checked before a long file is read.

        What is None is left to the estimator. A solver may be a name with options in brackets.
        """
        import_module("maxmargin.estimators")  # registers them
        from maxmargin.persistence import estimator_class
        from maxmargin.training.race import named_solver
        from maxmargin.training.settings import check_settings

        cls: Any = estimator_class(self.estimator)
        given = {k: v for k, v in params.items() if v is not None}
        if isinstance(given.get("solver"), str):
            given["solver"] = named_solver(given["solver"])
        estimator = cls(**self.settings(given, own))
        check_settings(estimator)
        self.check_estimator(estimator)
        return estimator

    def settings(self, params: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of the estimator."""
        given = {name: own.get(option) for option, name in self.parameters.items()}
        return {**params, **{name: value for name, value in given.items() if value is not None}}

    def check_estimator(self, estimator: Any) -> None:  # noqa: B027 - most kinds have nothing to add
        """Refuse settings that `check_settings` does not know of."""

    # -- files -------------------------------------------------------------------------------------

    def format_of(self, path: Path) -> str:
        """Return the format that a file's name announces."""
        from maxmargin.io import file_format

        return file_format(path)

    def reader_of(self, path: Path, format: str, model: Path | None = None) -> Reader:
        """Return the reader of a format, refused if it cannot hold samples of this kind."""
        if format in self.readers:
            return self.readers[format]
        if format not in READERS:
            raise ValueError(f"format={format!r} is unknown. There are: {', '.join(READERS)}.")
        raise ValueError(self.unreadable(path, READERS[format], model))

    def unreadable(self, path: Path, reader: type[Reader], model: Path | None) -> str:
        """Say why a file of another format cannot be read, for training or for a model."""
        from maxmargin.cli.kinds import KINDS

        if model is not None:
            return f"{path} is {reader.title}, which holds {reader.holds}; {model} has none."
        able = [name for name, kind in KINDS.items() if reader.format in kind.readers]
        article = "an" if reader.title[0] in "AEIO" else "a"
        return (
            f"{path} is {article} {reader.title} file, which holds {reader.holds}: "
            f"`maxmargin train {' or '.join(able)}` learns them."
        )

    def read_training(
        self, path: Path, format: str | None, own: Mapping[str, Any]
    ) -> tuple[Reader, Batch]:
        """Return how further files are to be read, and the samples of a training file."""
        name = self.format_of(path) if format is None else format
        open_reader = self.reader_of(path, name)
        for group in self.options.get("train", ()):
            if group.format not in (None, name):
                title = READERS[group.format].title
                group.refuse(own, f"is for {title} files, but {path} is of format {name}")
        reader, batch = open_reader.settle(path, own, is_named=format is not None)
        self.check_sort(f"train {self.name}", batch)
        return reader, batch

    def check_sort(self, who: str, batch: Batch) -> None:
        """Refuse samples of the wrong sort."""
        if batch.is_sequence != self.is_sequence:
            sorts = {True: "sequences", False: "single samples"}
            # CoNLL goes by names that other files have too.
            is_text = batch.is_sequence and ".txt" in batch.path.name.lower()[-7:]
            hint = " If it is no CoNLL file, --format says what it is." if is_text else ""
            raise ValueError(
                f"{who} takes {sorts[self.is_sequence]}, but {batch.path} holds "
                f"{sorts[batch.is_sequence]}.{hint}"
            )

    def adapt(self, batch: Batch, estimator: Any) -> Batch:
        """Return samples in the form that the estimator wants."""
        return batch

    def advise(self, batch: Batch, kind: str) -> str | None:
        """Say so if a file that another kind is trained from holds what this one is for."""
        return None

    # -- training ----------------------------------------------------------------------------------

    def check_training(  # noqa: B027 - most kinds have nothing to look at
        self, reader: Reader, batch: Batch, own: Mapping[str, Any]
    ) -> None:
        """Look at the labels of a training or held-out file before the fit."""

    def scoring(self, estimator: Any, held_out: Batch) -> Any:
        """Return what held-out samples are scored by."""
        return estimator.scoring

    def content(self, reader: Reader | None, batch: Batch) -> str:
        """Say how much a training file holds."""
        return f"{batch.n_samples} {'sequences' if self.is_sequence else 'samples'}"

    def warn_of(self, batch: Batch, estimator: Any) -> str | None:
        """Say what may make training hard, in the samples as they are."""
        return None

    def sizes(self, estimator: Any, batch: Batch) -> dict[str, int]:
        """Return what was learnt from, in numbers."""
        return {
            "n_samples": batch.n_samples,
            "n_labels": len(estimator.classes_),
            "n_features": int(estimator.n_features_in_),
        }

    # -- predictions -------------------------------------------------------------------------------

    def prediction(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """Return what options ask of the estimator's `predict`, by the names of its arguments."""
        return {}

    def as_written(self, guess: Any, estimator: Any) -> Any:
        """Return predictions as they are written to a file, one entry per sample."""
        return guess

    def check_evaluation(  # noqa: B027 - as above
        self, reader: Reader, batch: Batch, own: Mapping[str, Any]
    ) -> None:
        """Look at the labels of a file before they are compared with predictions."""

    @abstractmethod
    def measure(
        self, model: Model, batch: Batch, guess: Any, own: Mapping[str, Any] = NOTHING
    ) -> dict[str, Any]:
        """Return how good predictions are, as JSON shows it."""

    @abstractmethod
    def tables(
        self, found: dict[str, Any], title: str, own: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return the tables that show what `measure` found; `own` is None after training."""

    # -- what a model has learnt -------------------------------------------------------------------

    def weights(self, path: Path, estimator: Any, labels: list[str] | None) -> Any:
        """Return the weights of each label by its name; one row alone if there are no labels."""
        names = [str(name) for name in estimator.classes_]
        for label in labels or ():
            if label not in names:
                raise ValueError(f"--label: {label!r} is none of {', '.join(names)}.")
        rows = zip(names, estimator.coef_, strict=True)
        return {name: row for name, row in rows if not labels or name in labels}

    def facts(self, estimator: Any) -> dict[str, Any]:
        """Return what a table says of a model, besides its result."""
        return {"labels": len(estimator.classes_)}

    def weight_tables(self, estimator: Any, top: int) -> list[Any]:
        """Return tables of weights besides `coef_`; a few times `top` of them at most."""
        return []

    # -- a tiny sample -----------------------------------------------------------------------------

    def sample(self, storage: str, dtype: str) -> tuple[Any, Any]:
        """Return a few samples by which training and prediction can be compiled ahead."""
        return noise(storage, dtype)


def noise(storage: str, dtype: str) -> tuple[Any, Any]:
    """Return twelve rows, and one of four labels for each, which have nothing to do with them."""
    import numpy as np
    import scipy.sparse as sp

    X = np.random.default_rng(0).normal(size=(12, 3)).astype(dtype)
    y = np.arange(12) % 4
    return (sp.csr_matrix(X) if storage == "sparse" else X), y

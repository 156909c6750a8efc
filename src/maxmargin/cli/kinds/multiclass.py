"""Classes: one label per row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import console
from maxmargin.cli.console import percent
from maxmargin.cli.formats import Batch
from maxmargin.cli.kinds.base import NOTHING, Kind
from maxmargin.cli.options import LEARNING, OwnOptions

if TYPE_CHECKING:
    from maxmargin.cli.models import Model

_MOST_CLASSES = 20  # classes up to which a confusion matrix fits a terminal

#: For kinds whose estimator fills in missing values.
MISSING = OwnOptions(
    {
        "missing": Annotated[
            str | None,
            typer.Option(
                help="What is done about missing values (NaN) of single rows: indicator "
                "(the mean, and a column that says where), mean, zero or error; else indicator.",
                rich_help_panel=LEARNING,
            ),
        ],
    },
    refusal="is not for {estimator}, which has no such parameter",
)


class Multiclass(Kind):
    """Rows that are of one class each."""

    name = "multiclass"
    estimator = "MulticlassSVM"
    about = "one class"
    options = {"train": (MISSING,)}
    parameters = {"missing": "missing"}
    told = {"evaluate": "Classes: accuracy, and which was taken for which."}

    def measure(
        self, model: Model, batch: Batch, guess: Any, own: Mapping[str, Any] = NOTHING
    ) -> dict[str, Any]:
        """Return accuracy, precision and recall of each class, and what was taken for what."""
        import numpy as np
        from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

        truth, guess = np.asarray(batch.y), np.asarray(guess)
        confusion = confusion_matrix(truth, guess)
        classes = np.unique(np.concatenate([truth, guess])).tolist()
        columns = precision_recall_fscore_support(truth, guess, zero_division=0.0)
        names = ("precision", "recall", "f1", "n_true")
        by_class = {
            str(label): dict(zip(names, row, strict=True))
            for label, *row in zip(classes, *(column.tolist() for column in columns), strict=True)
        }
        return {
            "n_samples": len(truth),
            "accuracy": float(np.mean(truth == guess)),
            "classes": classes,
            "by_class": by_class,
            "confusion": confusion.tolist(),
        }

    def tables(
        self, found: dict[str, Any], title: str, own: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return a table of accuracy, one of classes, and the confusion matrix of a few."""
        rows = {"samples": found["n_samples"], "accuracy": percent(found["accuracy"])}
        by_class = [
            [name, *(percent(score[key]) for key in ("precision", "recall", "f1")), score["n_true"]]
            for name, score in found["by_class"].items()
        ]
        heads = ["class", "precision", "recall", "F1", "samples"]
        tables = [console.facts(title, rows), console.grid("Classes", heads, by_class)]
        names = [str(label) for label in found["classes"]]
        if len(names) <= _MOST_CLASSES:
            cells = [[name, *row] for name, row in zip(names, found["confusion"], strict=True)]
            tables.append(console.grid("Confusion", ["true \\ predicted", *names], cells))
        return tables

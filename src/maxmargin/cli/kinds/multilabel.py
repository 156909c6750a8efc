"""Label sets: any number of labels per row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import console
from maxmargin.cli.formats import ArffReader, Batch, SvmlightReader
from maxmargin.cli.kinds.base import NOTHING, Kind, noise
from maxmargin.cli.options import OwnOptions

if TYPE_CHECKING:
    from maxmargin.cli.models import Model

_PANEL = "Label sets"
_REFUSAL = "is for label sets (`train multilabel`), which `train {kind}` does not learn"

_LABELS = OwnOptions(
    {
        "labels": Annotated[
            str | None,
            typer.Option(
                help="Which attributes of an ARFF file are labels: Mulan's xml file, a number (the "
                "first so many; negative, the last), or names parted by commas.",
                rich_help_panel=_PANEL,
            ),
        ],
    },
    _REFUSAL,
    format="arff",
)
_SETS = OwnOptions(
    {
        "pairwise": Annotated[
            str | None,
            typer.Option(
                help="Pairs of labels that have a weight: none, full or tree (learnt); else none.",
                rich_help_panel=_PANEL,
            ),
        ],
        "inference": Annotated[
            str | None,
            typer.Option(
                help="How label sets are searched in training: auto, listed, tree, pairwise, "
                "relaxed, program, relaxed_program.",
                rich_help_panel=_PANEL,
            ),
        ],
    },
    _REFUSAL,
)


class Multilabel(Kind):
    """Rows that have a set of labels each."""

    name = "multilabel"
    estimator = "MultilabelSVM"
    about = "a set of labels"
    options = {"train": (_LABELS, _SETS)}
    parameters = {"pairwise": "pairwise", "inference": "inference"}
    readers = {**Kind.readers, "svmlight": SvmlightReader(multilabel=True), "arff": ArffReader()}
    blocks = ("intercept_", "edges_", "pairwise_", "thresholds_")
    told = {
        "evaluate": "Label sets: accuracy of examples (Jaccard), Hamming loss, micro- and "
        "macro-F1, subset accuracy.",
    }

    def as_written(self, guess: Any, estimator: Any) -> Any:
        """Return predicted label sets as tuples of labels."""
        if isinstance(guess, list):
            return guess
        from maxmargin.inputs.label_sets import SETS, SetForm

        cells = guess.toarray() if hasattr(guess, "toarray") else guess
        return SetForm(SETS).write(cells, estimator.classes_)

    def measure(
        self, model: Model, batch: Batch, guess: Any, own: Mapping[str, Any] = NOTHING
    ) -> dict[str, Any]:
        """Return the scores of label sets."""
        return measure_sets(batch.y, guess, model.estimator.classes_.tolist())

    def tables(
        self, found: dict[str, Any], title: str, own: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return one table of all scores."""
        rows = {
            "samples": found["n_samples"],
            "labels": found["n_labels"],
            "example accuracy": found["example_accuracy"],
            "Hamming loss": found["hamming_loss"],
            "micro-F1": found["micro_f1"],
            "macro-F1": found["macro_f1"],
            "example F1": found["example_f1"],
            "subset accuracy": found["subset_accuracy"],
        }
        return [console.facts(title, rows)]

    def weight_tables(self, estimator: Any, top: int) -> list[Any]:
        """Return the pairs of labels of largest weight, if pairs have weights."""
        import numpy as np

        weights = estimator.pairwise_
        if not len(weights):
            return []
        order = np.argsort(-np.abs(weights), kind="stable")[: 5 * top]
        cells = [[*map(str, estimator.edges_[e]), f"{weights[e]:+.4f}"] for e in order]
        return [console.grid("Largest pairs", ["label", "label", "weight"], cells, n_text=2)]

    def sample(self, storage: str, dtype: str) -> tuple[Any, Any]:
        """Return rows, and an indicator matrix of their labels."""
        X, y = noise(storage, dtype)
        return X, (y[:, None] == range(4)).astype(int)


def measure_sets(truth: Any, guess: Any, classes: list[Any]) -> dict[str, Any]:
    """Return the scores of label sets, as JSON shows them.

    Examples
    --------
    >>> measure_sets([("a",), ("b", "c")], [("a",), ("b",)], ["a", "b"])["n_labels"]
    3
    """
    from maxmargin.metrics import label_set_report

    known = list(classes)
    if isinstance(truth, list):  # labels that the model never saw count as missed
        others = {label for labels in truth for label in labels} - set(known)
        known += sorted(others, key=str)
    n_samples = int(truth.shape[0]) if hasattr(truth, "shape") else len(truth)
    report = label_set_report(truth, guess, classes=known)
    return {"n_samples": n_samples, "n_labels": len(known), **report}

"""Label sets: their names, and how good they are."""

from __future__ import annotations

from typing import Any

from maxmargin.cli import console
from maxmargin.cli.kinds import KINDS


def has_label_sets(estimator: Any) -> bool:
    """Tell whether an estimator predicts label sets."""
    kinds = (kind for kind in KINDS.values() if kind.has_label_sets)
    return type(estimator).__name__ in {kind.estimator for kind in kinds}


def as_sets(guess: Any, estimator: Any) -> Any:
    """Return predicted label sets as tuples of labels; other predictions as they are."""
    if not has_label_sets(estimator) or isinstance(guess, list):
        return guess
    from maxmargin.inputs.label_sets import SETS, SetForm

    cells = guess.toarray() if hasattr(guess, "toarray") else guess
    return SetForm(SETS).write(cells, estimator.classes_)


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


def set_tables(found: dict[str, Any], title: str) -> list[Any]:
    """Return the table that shows what `measure_sets` found."""
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

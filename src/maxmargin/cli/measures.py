"""How good predictions are, as numbers and as tables."""

from __future__ import annotations

from typing import Any

from maxmargin.cli import console
from maxmargin.cli.queries import has_queries, measure_queries, query_tables
from maxmargin.cli.readers import Batch
from maxmargin.cli.schemes import readable
from maxmargin.cli.sets import has_label_sets, measure_sets, set_tables

_MOST_CLASSES = 20  # classes up to which a confusion matrix fits a terminal


def measure(batch: Batch, guess: Any, estimator: Any, scheme: str | None = None) -> dict[str, Any]:
    """Return the scores of predictions, as JSON shows them.

    Parameters
    ----------
    batch : Batch, with labels
    guess : what the estimator predicts
    estimator : fitted estimator
    scheme : str or None
        Scheme of the tags of sequences; None: there are no segments to be counted. What is no tag
        counts as O.

    Examples
    --------
    >>> from pathlib import Path
    >>> truth = Batch(Path("a.conll"), [["x", "y"]], [["a", "b"]], is_sequence=True)
    >>> measure(truth, [["a", "a"]], None)
    {'n_sequences': 1, 'n_tokens': 2, 'token_accuracy': 0.5, 'sequence_accuracy': 0.0}
    """
    if batch.is_sequence:
        return _of_sequences(batch.y, guess, scheme)
    if has_queries(estimator):
        return measure_queries(batch, guess, estimator)
    if has_label_sets(estimator):
        return measure_sets(batch.y, guess, estimator.classes_.tolist())
    return _of_classes(batch.y, guess)


def _of_sequences(truth: Any, guess: Any, scheme: str | None) -> dict[str, Any]:
    from maxmargin.metrics import ChunkScore, chunk_scores, sequence_accuracy, token_accuracy
    from maxmargin.tags import find_violations

    found: dict[str, Any] = {
        "n_sequences": len(truth),
        "n_tokens": sum(map(len, truth)),
        "token_accuracy": token_accuracy(truth, guess),
        "sequence_accuracy": sequence_accuracy(truth, guess),
    }
    if scheme is None:
        return found
    scores = chunk_scores(readable(truth), readable(guess), scheme=scheme)
    counts = [(s.n_true, s.n_pred, s.n_correct) for s in scores.values()] or [(0, 0, 0)]
    total = ChunkScore(*map(sum, zip(*counts, strict=True)))
    found["scheme"] = scheme
    found["n_off_scheme"] = {
        "true": len(find_violations(truth, scheme)),
        "predicted": len(find_violations(guess, scheme)),
    }
    found["chunks"] = _chunk(total)
    found["chunks_by_type"] = {name: _chunk(score) for name, score in scores.items()}
    return found


def _chunk(score: Any) -> dict[str, Any]:
    names = ("precision", "recall", "f1", "n_true", "n_pred", "n_correct")
    return {name: getattr(score, name) for name in names}


def _of_classes(truth: Any, guess: Any) -> dict[str, Any]:
    import numpy as np
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    truth, guess = np.asarray(truth), np.asarray(guess)
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


def measure_tables(found: dict[str, Any], title: str) -> list[Any]:
    """Return the tables that show what `measure` found."""
    if "by_query" in found:
        return query_tables(found, title)
    if "subset_accuracy" in found:
        return set_tables(found, title)
    if "accuracy" in found:
        return _class_tables(found, title)
    rows = {
        "sequences": found["n_sequences"],
        "tokens": found["n_tokens"],
        "token accuracy": percent(found["token_accuracy"]),
        "sequence accuracy": percent(found["sequence_accuracy"]),
    }
    if "chunks" in found:
        n_off = found["n_off_scheme"]
        rows |= {
            "chunk F1": percent(found["chunks"]["f1"]),
            "tag scheme": found["scheme"],
            "true tags off it": n_off["true"] or None,
            "predicted tags off it": n_off["predicted"] or None,
        }
    tables = [console.facts(title, rows)]
    if "chunks" in found:
        scores = {**found["chunks_by_type"], "all": found["chunks"]}
        heads = ["type", "precision", "recall", "F1", "true", "predicted", "correct"]
        cells = [_chunk_row(name, score) for name, score in scores.items()]
        tables.append(console.grid(f"Segments ({found['scheme']})", heads, cells))
    return tables


def _chunk_row(name: str, score: dict[str, Any]) -> list[Any]:
    shares = [percent(score[key]) for key in ("precision", "recall", "f1")]
    return [name, *shares, *(score[key] for key in ("n_true", "n_pred", "n_correct"))]


def _class_tables(found: dict[str, Any], title: str) -> list[Any]:
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


def percent(share: float) -> str:
    """Return a share as text.

    Examples
    --------
    >>> percent(0.98765)
    '98.77%'
    """
    return f"{100 * share:.2f}%"

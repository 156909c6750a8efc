"""``maxmargin inspect``: what a model has learnt, as tables."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from maxmargin.cli import console, options
from maxmargin.cli.models import Model, load_model
from maxmargin.cli.reports import result_facts, result_values


def inspect_model(
    model: options.ModelFile,
    top: Annotated[int, typer.Option("--top", "-n", help="Weights to show of each label.")] = 5,
    label: Annotated[
        list[str] | None, typer.Option(help="Only this label; may be given several times.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show what a model has learnt: its largest weights, and its transitions or pairs of labels."""
    if top < 1:
        raise ValueError(f"--top must be at least 1, got {top}.")
    loaded = load_model(model)
    estimator = loaded.estimator
    if not hasattr(estimator, "coef_"):
        raise ValueError(f"{model} holds a {type(estimator).__name__}, which has no coef_ to show.")
    rows = loaded.kind.weights(model, estimator, label)
    weights: Any
    if isinstance(rows, dict):
        weights = {name: _top(loaded, row, top) for name, row in rows.items()}
    else:
        weights = _top(loaded, rows, top)
    if as_json:
        console.result_json(_values(loaded, weights))
    else:
        console.result(*_tables(loaded, weights, top))


def _feature_names(model: Model) -> list[str]:
    estimator = model.estimator
    table = getattr(estimator, "features_", None)
    if table is not None and table.names is not None:
        names = list(table.names)
    elif hasattr(estimator, "feature_names_in_"):
        names = [str(name) for name in estimator.feature_names_in_]
    else:
        names = [f"x[{j}]" for j in range(estimator.n_features_in_)]
    columns = getattr(estimator, "columns_", None)
    return names if columns is None else columns.names(names)


def _top(model: Model, row: Any, top: int) -> list[dict[str, Any]]:
    """Return the weights of largest magnitude of a label, from the most positive down."""
    import numpy as np

    names = _feature_names(model)
    largest = np.argsort(-np.abs(row), kind="stable")[:top]
    largest = largest[np.argsort(-row[largest], kind="stable")]
    return [{"feature": names[j], "weight": float(row[j])} for j in largest if row[j] != 0.0]


def _values(model: Model, weights: Any) -> dict[str, Any]:
    estimator = model.estimator
    return {
        "command": "inspect",
        "model": model.path,
        "estimator": type(estimator).__name__,
        "reader": None if model.reader is None else model.reader.state(),
        "classes": getattr(estimator, "classes_", None),
        "n_features": int(estimator.n_features_in_),
        "result": result_values(estimator.result_),
        "weights": weights,
        **{
            name: getattr(estimator, name) for name in model.kind.blocks if hasattr(estimator, name)
        },
    }


def _tables(model: Model, weights: Any, top: int) -> list[Any]:
    estimator, kind = model.estimator, model.kind
    rows = {
        "estimator": type(estimator).__name__,
        "C": estimator.C,
        **kind.facts(estimator),
        "features": int(estimator.n_features_in_),
        **result_facts(estimator.result_),
        **({} if model.reader is None else model.reader.facts()),
    }
    numbering = "" if model.reader is None else model.reader.numbering
    if isinstance(weights, dict):
        lines = [
            [label if first == 0 else "", entry["feature"], f"{entry['weight']:+.4f}"]
            for label, entries in weights.items()
            for first, entry in enumerate(entries)
        ]
        title, heads = f"Largest weights, {top} a label{numbering}", ["label", "feature", "weight"]
    else:
        lines = [[entry["feature"], f"{entry['weight']:+.4f}"] for entry in weights]
        title, heads = f"Largest weights{numbering}", ["feature", "weight"]
    tables = [console.facts(str(model.path), rows)]
    if lines:
        tables.append(console.grid(title, heads, lines, n_text=len(heads) - 1))
    return [*tables, *kind.weight_tables(estimator, top)]

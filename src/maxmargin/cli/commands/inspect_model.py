"""``maxmargin inspect``: what a model has learnt, as tables."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from maxmargin.cli import console, options
from maxmargin.cli.fitting import result_facts, result_values
from maxmargin.cli.models import Model, load_model
from maxmargin.cli.queries import has_queries
from maxmargin.cli.readers import SvmlightReader

_MOST_LABELS = 24  # labels up to which a transition matrix fits a terminal


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
    weights: Any
    if has_queries(estimator):
        if label:
            raise ValueError(f"--label: {model} ranks documents, and has no labels.")
        weights = _top(loaded, estimator.coef_, top)
    elif not hasattr(estimator, "coef_") or not hasattr(estimator, "classes_"):
        raise ValueError(f"{model} holds a {type(estimator).__name__}, which has no coef_ to show.")
    else:
        places = _places(estimator, label)
        names = [str(estimator.classes_[k]) for k in places]
        rows = [_top(loaded, estimator.coef_[k], top) for k in places]
        weights = dict(zip(names, rows, strict=True))
    if as_json:
        console.result_json(_values(loaded, weights))
    else:
        console.result(*_tables(loaded, weights, top))


def _places(estimator: Any, labels: list[str] | None) -> list[int]:
    names = [str(name) for name in estimator.classes_]
    for name in labels or ():
        if name not in names:
            raise ValueError(f"--label: {name!r} is none of {', '.join(names)}.")
    return [k for k, name in enumerate(names) if not labels or name in labels]


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
    blocks = ("intercept_", "transitions_", "start_", "end_", "edges_", "pairwise_", "thresholds_")
    return {
        "command": "inspect",
        "model": model.path,
        "estimator": type(estimator).__name__,
        "reader": None if model.reader is None else model.reader.state(),
        "classes": getattr(estimator, "classes_", None),
        "n_features": int(estimator.n_features_in_),
        "result": result_values(estimator.result_),
        "weights": weights,
        **{name: getattr(estimator, name) for name in blocks if hasattr(estimator, name)},
    }


def _tables(model: Model, weights: Any, top: int) -> list[Any]:
    estimator = model.estimator
    ranks = has_queries(estimator)
    rows = {
        "estimator": type(estimator).__name__,
        "C": estimator.C,
        "cost": estimator.cost if ranks else None,
        "relevant": _relevant(estimator) if ranks else None,
        "normalize": estimator.normalize_queries if ranks else None,
        "labels": None if ranks else len(estimator.classes_),
        "features": int(estimator.n_features_in_),
        **result_facts(estimator.result_),
    }
    if model.reader is not None:
        state = model.reader.state()
        rows["read from"] = state["format"]
        for name in ("columns", "template"):
            rows[name] = " ".join(state[name]) if state.get(name) else None
        rows["tag scheme"] = state.get("scheme")
    tables = [console.facts(str(model.path), rows)]
    if ranks:
        cells = [[entry["feature"], f"{entry['weight']:+.4f}"] for entry in weights]
        title = f"Largest weights{_numbering(model)}"
        return [*tables, console.grid(title, ["feature", "weight"], cells)]
    lines = [
        [label if first == 0 else "", entry["feature"], f"{entry['weight']:+.4f}"]
        for label, entries in weights.items()
        for first, entry in enumerate(entries)
    ]
    heads = ["label", "feature", "weight"]
    title = f"Largest weights, {top} a label{_numbering(model)}"
    tables.append(console.grid(title, heads, lines, n_text=2))
    if hasattr(estimator, "transitions_"):
        tables.append(_transitions(estimator, top))
    if len(getattr(estimator, "pairwise_", ())):
        tables.append(_pairs(estimator, top))
    return tables


def _relevant(estimator: Any) -> str | None:
    """Say from which grade documents are relevant, if the cost goes by that and not by grades."""
    return (
        None
        if hasattr(estimator._cost(), "gain")
        else f"grade >= {estimator.relevance_threshold:g}"
    )


def _numbering(model: Model) -> str:
    """Say so where the columns of X are not numbered as in the file."""
    reader = model.reader
    is_from_1 = isinstance(reader, SvmlightReader) and reader.zero_based is False
    return "; x[0] is index 1 of the file" if is_from_1 else ""


def _pairs(estimator: Any, top: int) -> Any:
    """Return the pairs of labels of largest weight."""
    import numpy as np

    weights = estimator.pairwise_
    order = np.argsort(-np.abs(weights), kind="stable")[: 5 * top]
    cells = [[*map(str, estimator.edges_[e]), f"{weights[e]:+.4f}"] for e in order]
    return console.grid("Largest pairs", ["label", "label", "weight"], cells, n_text=2)


def _transitions(estimator: Any, top: int) -> Any:
    """Return the matrix of transitions or, where it would be too large, its largest cells."""
    import numpy as np

    names = [str(label) for label in estimator.classes_]
    matrix = estimator.transitions_
    if len(names) <= _MOST_LABELS:
        body = [*zip(names, matrix, strict=True), ("(start)", estimator.start_)]
        rows = [[name, *(f"{value:+.2f}" for value in row)] for name, row in body]
        ends = zip(rows, [*estimator.end_, None], strict=True)
        rows = [[*row, "" if end is None else f"{end:+.2f}"] for row, end in ends]
        return console.grid("Transitions", ["from \\ to", *names, "(end)"], rows)
    order = np.argsort(-np.abs(matrix), axis=None, kind="stable")[: 5 * top]
    pairs = [divmod(int(cell), len(names)) for cell in order]
    cells = [[names[a], names[b], f"{matrix[a, b]:+.4f}"] for a, b in pairs]
    return console.grid("Largest transitions", ["from", "to", "weight"], cells, n_text=2)

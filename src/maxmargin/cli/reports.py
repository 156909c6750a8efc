"""What commands say of a run: its result, and the scores of its model."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from maxmargin.cli import console
from maxmargin.cli.formats import Batch
from maxmargin.cli.models import Model


def report(
    model: Model,
    batch: Batch,
    held_out: Batch | None,
    path: Path | None,
    as_json: bool,
    patience: int | None = None,
) -> None:
    """Print what was learnt."""
    from maxmargin.training.scoring import measure_title

    estimator, result = model.estimator, model.estimator.result_
    found, scored = None, {}
    if held_out is not None:
        found = model.kind.measure(model, held_out, model.predict(held_out))
        value = _score(model, held_out)
        found |= {"measure": result.validation_measure, "score": value}
        title = f"{measure_title(result.validation_measure)} on {held_out.path}"
        scored = {title: _held_out_score(result, value, patience)}
    sizes = model.kind.sizes(estimator, batch)
    columns = getattr(estimator, "columns_", None)
    missing = str(columns) if columns is not None and columns.n_missing.any() else None
    if as_json:
        console.result_json(
            {
                "command": "train",
                "estimator": type(estimator).__name__,
                "params": estimator.get_params(deep=False),
                "model": path,
                **sizes,
                "missing": missing,
                "result": result_values(result),
                "dev": found,
            }
        )
        return
    rows = {
        **{name.removeprefix("n_").replace("_", " "): value for name, value in sizes.items()},
        "missing": missing,
        **result_facts(result),
        **scored,
        "model": path,
    }
    console.result(console.facts(f"{type(estimator).__name__} from {batch.path}", rows))
    if held_out is not None and found is not None:
        console.result(*model.kind.tables(found, str(held_out.path)))


def _score(model: Model, held_out: Batch) -> float:
    """Return the score of the weights that are kept, by the measure of the run."""
    from maxmargin.inputs.request import Request
    from maxmargin.training.scoring import measure_for

    request = Request(held_out.X, held_out.y, **held_out.beside)
    score = measure_for(model.estimator, request).score
    return math.nan if score is None else score(model.estimator.result_.w)


def _held_out_score(result: Any, value: float, patience: int | None) -> str:
    """Return the score of the weights that are kept, and that of the best pass if it is better."""
    scores = [record.validation_score for record in result.history]
    best = max(range(len(scores)), key=lambda k: scores[k], default=None)
    if best is None or scores[best] <= value:
        return f"{value:.4f}"
    said = f"{value:.4f} (best {scores[best]:.4f}, after pass {result.history[best].pass_}"
    return said + (")" if patience is not None else "; --patience keeps the best)")


def result_values(result: Any) -> dict[str, Any]:
    """Return a `Result` for JSON, without its weights, which are the model."""
    values = {name: value for name, value in vars(result).items() if name not in ("w", "history")}
    values["relative_gap"] = result.relative_gap
    values["is_certified"] = result.is_certified
    values["history"] = [asdict(record) for record in result.history]
    return values


def result_facts(result: Any) -> dict[str, Any]:
    """Return a `Result` for a table."""
    gap = f"{result.relative_gap:.3g}" if result.is_certified else "not known"
    facts = {
        "solver": result.solver,
        "status": result.status,
        "passes": result.n_iter,
        "oracle calls": result.n_oracle_calls,
        "primal": result.primal,
        "dual": result.dual,
        "relative gap": gap,
        "seconds": f"{result.seconds:.2f}",
    }
    if result.objective != "integral":
        facts["gap is of"] = f"the {result.objective} objective"
    return facts

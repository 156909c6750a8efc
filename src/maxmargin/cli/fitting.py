"""The steps of ``maxmargin train``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from maxmargin.cli import console
from maxmargin.cli.kinds import Kind
from maxmargin.cli.measures import measure, measure_tables
from maxmargin.cli.models import Model
from maxmargin.cli.progress import progress
from maxmargin.cli.queries import (
    as_eval_set,
    as_request,
    check_ranking,
    for_estimator,
    has_queries,
    n_queries,
    predict_batch,
    scale_note,
)
from maxmargin.cli.readers import Batch
from maxmargin.cli.schemes import find_scheme


def new_estimator(kind: Kind, params: dict[str, Any]) -> Any:
    """Return the estimator that a script would make; what was not given is left to it."""
    import maxmargin
    from maxmargin.training.settings import check_settings

    given = {name: value for name, value in params.items() if value is not None}
    if given.get("normalize_queries") == "none":
        given["normalize_queries"] = None
    learner = getattr(maxmargin, kind.estimator)
    for option in ("missing", "zeros", "steps"):
        if option in given and option not in learner._get_param_names():
            raise ValueError(
                f"--{option} is not for {kind.estimator}, which has no such parameter."
            )
    estimator = learner(**given)
    check_settings(estimator)  # before a long file is read
    if kind.has_queries:
        check_ranking(estimator)
    return estimator


def checkpoint_to_resume(checkpoint: Path | None) -> Path:
    """Return the checkpoint, which must exist."""
    if checkpoint is None:
        raise ValueError("--resume needs --checkpoint, the file to go on from.")
    if not checkpoint.exists():
        raise FileNotFoundError(f"--resume: there is no checkpoint {checkpoint}.")
    return checkpoint


def read_held_out(model: Model, path: Path, batch: Batch) -> Batch:
    """Read a file of the same sort as the training file."""
    n_features = None if batch.is_sequence else batch.X.shape[1]
    held_out = for_estimator(
        model.reader_for(path).read(path, n_features).labelled(), model.estimator
    )
    if held_out.is_sequence != batch.is_sequence:
        raise ValueError(f"{path} and {batch.path} do not hold samples of one sort.")
    return held_out


def sequence_scoring(estimator: Any, held_out: Batch) -> Any:
    """Return what held-out sequences are scored by: what was asked for, or what the table shows.

    Without a wish that is F1 of segments where there are some (None: the estimator's own choice),
    else the accuracy of tokens, where the cost counts them.
    """
    from maxmargin.costs import Hamming
    from maxmargin.estimators.chain.scores import looks_like_chunks
    from maxmargin.training.settings import resolve_cost

    cost = resolve_cost(estimator.cost, "positions")
    if estimator.scoring is not None or not isinstance(cost, Hamming):
        return estimator.scoring
    labels = [label for sequence in held_out.y for label in sequence]
    return None if looks_like_chunks(labels) else "token_accuracy"


def fit(
    estimator: Any,
    batch: Batch,
    held_out: Batch | None,
    resume: Path | None,
    quiet: bool,
    scheme: str | None = None,
    *,
    patience: int | None = None,
    callbacks: Sequence[Any] = (),
) -> None:
    """Fit, with progress on stderr."""
    from maxmargin.training.scoring import ABOUT_EVAL_SET
    from maxmargin.training.settings import resolve_solver

    if not quiet:
        tags = "" if scheme is None else f", tags in {scheme}"
        console.note(f"{batch.path}: {_content(estimator, batch)}{tags}.")
        if (said := scale_note(batch, estimator)) is not None:
            console.note(said)
    eval_set = None if held_out is None else as_eval_set(held_out)
    queries = {"qid": batch.qid} if has_queries(estimator) else {}
    every_pass = not resolve_solver(estimator._named_solver()).minimizes
    with progress(quiet, every_pass=every_pass) as shown:
        try:
            estimator.fit(
                batch.X,
                batch.y,
                eval_set=eval_set,
                patience=patience,
                callbacks=[*callbacks, *shown],
                resume=resume,
                **queries,
            )
        except (TypeError, ValueError) as error:
            if held_out is None or not str(error).startswith(ABOUT_EVAL_SET):
                raise
            said = str(error).removeprefix(ABOUT_EVAL_SET)
            raise ValueError(f"--dev {held_out.path}: {said}") from error


def _content(estimator: Any, batch: Batch) -> str:
    if has_queries(estimator):
        return f"{batch.n_samples} documents of {n_queries(batch)} queries"
    return f"{batch.n_samples} {'sequences' if batch.is_sequence else 'samples'}"


def interruption(n_passes: int, model: Path | None, checkpoint: Path | None) -> str:
    """Say what Ctrl-C left.

    Examples
    --------
    >>> interruption(3, Path("a.mm"), None)
    'Interrupted after 3 passes: the best model so far is in a.mm.'
    >>> interruption(0, Path("a.mm"), None)
    'Interrupted before the first pass was over: no model is saved.'
    """
    if n_passes == 0:
        return "Interrupted before the first pass was over: no model is saved."
    kept = f"the best model so far is in {model}" if model else "no --model, so none is saved"
    more = "; --resume goes on from the checkpoint" if checkpoint and checkpoint.exists() else ""
    return f"Interrupted after {n_passes} passes: {kept}{more}."


def report(
    model: Model,
    batch: Batch,
    held_out: Batch | None,
    path: Path | None,
    as_json: bool,
    patience: int | None = None,
) -> None:
    """Print what was learnt."""
    from maxmargin.training.scoring import measure_for, measure_title

    estimator, result = model.estimator, model.estimator.result_
    found, scored = None, {}
    if held_out is not None:
        guess = predict_batch(estimator, held_out)
        found = measure(held_out, guess, estimator, scheme_of(model, held_out))
        score = measure_for(estimator, as_request(held_out)).score
        value = math.nan if score is None else score(result.w)
        found |= {"measure": result.validation_measure, "score": value}
        title = f"{measure_title(result.validation_measure)} on {held_out.path}"
        scored = {title: _held_out_score(result, value, patience)}
    sizes = _sizes(estimator, batch)
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
        console.result(*measure_tables(found, str(held_out.path)))


def scheme_of(model: Model, batch: Batch) -> str | None:
    """Return the scheme of the tags of a file: the model's, or what the tags themselves follow."""
    if not batch.is_sequence:
        return None
    return model.scheme or find_scheme(batch.y)


def _held_out_score(result: Any, value: float, patience: int | None) -> str:
    """Return the score of the weights that are kept, and that of the best pass if it is better."""
    scores = [record.validation_score for record in result.history]
    best = max(range(len(scores)), key=lambda k: scores[k], default=None)
    if best is None or scores[best] <= value:
        return f"{value:.4f}"
    said = f"{value:.4f} (best {scores[best]:.4f}, after pass {result.history[best].pass_}"
    return said + (")" if patience is not None else "; --patience keeps the best)")


def _sizes(estimator: Any, batch: Batch) -> dict[str, int]:
    n_features = int(estimator.n_features_in_)
    if has_queries(estimator):
        return {
            "n_queries": n_queries(batch),
            "n_skipped_queries": int(estimator.n_skipped_),
            "n_documents": batch.n_samples,
            "n_features": n_features,
        }
    return {
        "n_samples": batch.n_samples,
        "n_labels": len(estimator.classes_),
        "n_features": n_features,
    }


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
    return {
        "solver": result.solver,
        "status": result.status,
        "passes": result.n_iter,
        "oracle calls": result.n_oracle_calls,
        "primal": result.primal,
        "dual": result.dual,
        "relative gap": gap,
        "seconds": f"{result.seconds:.2f}",
    }

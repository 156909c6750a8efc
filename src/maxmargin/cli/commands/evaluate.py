"""``maxmargin evaluate``: compare a model's predictions with the labels of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from maxmargin.cli import console, options
from maxmargin.cli.kinds import refuse_foreign, told
from maxmargin.cli.models import load_model
from maxmargin.core.news import compiling_shown


def evaluate(
    model: options.ModelFile,
    file: Annotated[Path, options.data_file(*told("file"))],
    format: options.Format = None,
    n_jobs: options.Jobs = None,
    as_json: options.Json = False,
    **own: Any,
) -> None:
    """Compare a model's predictions with the labels of a file."""
    loaded = load_model(model)
    kind = loaded.kind
    loaded.estimator.n_jobs = n_jobs
    refuse_foreign("evaluate", kind, own, model=model, file=file)
    reader, batch = loaded.read(file, format)
    batch.labelled()
    kind.check_evaluation(reader, batch, own)
    with compiling_shown():
        guess = loaded.predict(batch, kind.prediction(own))
    found = kind.measure(loaded, batch, guess, own)
    if as_json:
        console.result_json({"command": "evaluate", "model": model, "file": file, **found})
    else:
        console.result(*kind.tables(found, f"{model} on {file}", own))

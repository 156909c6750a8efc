"""``maxmargin predict``: label the samples of a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli import console, options
from maxmargin.cli.kinds import refuse_foreign, told
from maxmargin.cli.models import load_model
from maxmargin.cli.options import check_target
from maxmargin.core.news import compiling_shown


def predict(
    model: options.ModelFile,
    file: Annotated[Path, options.data_file(*told("file"))],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here rather than to stdout.")
    ] = None,
    format: options.Format = None,
    n_jobs: options.Jobs = None,
    as_json: options.Json = False,
    **own: Any,
) -> None:
    """Label the samples of a file.

    A CoNLL file is written again with the predictions as a further column, which conlleval reads;
    of other files the labels are written, one line per sample, those of a label set parted by
    commas.
    """
    check_target("--output", output, model, file, takes_pipes=True)
    loaded = load_model(model)
    kind = loaded.kind
    loaded.estimator.n_jobs = n_jobs
    refuse_foreign("predict", kind, own, model=model, file=file)
    reader, batch = loaded.read(file, format)
    with compiling_shown():
        guess = kind.as_written(loaded.predict(batch, kind.prediction(own)), loaded.estimator)
    if output is not None:
        reader.write(output, batch, guess)
    if as_json:
        values = {"command": "predict", "model": model, "file": file, "output": output}
        console.result_json({**values, "predictions": None if output else guess})
    elif output is None:
        reader.write(sys.stdout, batch, guess)

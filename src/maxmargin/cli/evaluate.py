"""``maxmargin evaluate``: compare a model's predictions with the labels of a file."""

from __future__ import annotations

from maxmargin.cli import console, options
from maxmargin.cli.measures import measure, measure_tables
from maxmargin.cli.models import load_model


def evaluate(
    model: options.ModelFile,
    file: options.DataFile,
    format: options.Format = None,
    scheme: options.Scheme = None,
    n_jobs: options.Jobs = None,
    as_json: options.Json = False,
) -> None:
    """Compare a model's predictions with the labels of a file.

    Sequences: token and sequence accuracy and, where tags follow a scheme, precision, recall and
    F1 of segments as conlleval counts them. Classes: accuracy, and which was taken for which. Label
    sets: accuracy of examples (Jaccard), Hamming loss, micro- and macro-F1, subset accuracy.
    """
    loaded = load_model(model)
    loaded.estimator.n_jobs = n_jobs
    _, batch = loaded.read(file, format)
    batch.labelled()
    if scheme is not None and not batch.is_sequence:
        raise ValueError(f"--scheme is for sequences, but {file} holds single samples.")
    guess = loaded.estimator.predict(batch.X)
    found = measure(batch, guess, loaded.estimator, scheme or loaded.scheme)
    if as_json:
        console.result_json({"command": "evaluate", "model": model, "file": file, **found})
    else:
        console.result(*measure_tables(found, f"{model} on {file}"))

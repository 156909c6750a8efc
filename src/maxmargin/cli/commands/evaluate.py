"""``maxmargin evaluate``: compare a model's predictions with the labels of a file."""

from __future__ import annotations

from typing import Annotated

import typer

from maxmargin.cli import console, options
from maxmargin.cli.fitting import scheme_of
from maxmargin.cli.measures import measure, measure_tables
from maxmargin.cli.models import load_model
from maxmargin.cli.queries import (
    MOST_QUERIES,
    cuts,
    has_queries,
    measure_queries,
    predict_batch,
    query_tables,
)
from maxmargin.cli.schemes import check_scheme
from maxmargin.core.news import compiling_shown


def evaluate(
    model: options.ModelFile,
    file: options.DataFile,
    format: options.Format = None,
    scheme: options.Scheme = None,
    strict: options.Strict = False,
    k: Annotated[
        str | None,
        typer.Option(
            "--k",
            help="For NDCG@k and precision@k: numbers parted by commas; else 1,3,5,10.",
            rich_help_panel=options.RANKINGS,
        ),
    ] = None,
    relevant: options.Relevant = None,
    queries: Annotated[
        int | None,
        typer.Option(
            help=f"Queries to show one by one; else {MOST_QUERIES}.",
            rich_help_panel=options.RANKINGS,
        ),
    ] = None,
    n_jobs: options.Jobs = None,
    as_json: options.Json = False,
) -> None:
    """Compare a model's predictions with the labels of a file.

    Sequences: token and sequence accuracy and, where labels are tags such as B-NP and O, precision,
    recall and F1 of segments as conlleval counts them, whether or not all tags keep to the scheme.
    Classes: accuracy, and which was taken for which. Label sets: accuracy of
    examples (Jaccard), Hamming loss, micro- and macro-F1, subset accuracy.
    Rankings: average precision, AUC, NDCG, NDCG@k and precision@k, on average and query by query.
    """
    n_shown = MOST_QUERIES if queries is None else queries
    if n_shown < 0:
        raise ValueError(f"--queries must be at least 0, got {queries}.")
    at = cuts(k)
    loaded = load_model(model)
    loaded.estimator.n_jobs = n_jobs
    if not has_queries(loaded.estimator):
        for name, value in {"k": k, "relevant": relevant, "queries": queries}.items():
            if value is not None:
                raise ValueError(f"--{name} is for rankings, but {model} does not rank.")
    _, batch = loaded.read(file, format)
    batch.labelled()
    for name, is_given in (("scheme", scheme is not None), ("strict", strict)):
        if is_given and not batch.is_sequence:
            raise ValueError(f"--{name} is for sequences, but {file} holds single samples.")
    tags = scheme or scheme_of(loaded, batch)
    if batch.is_sequence:
        check_scheme(batch, tags, strict)
    with compiling_shown():
        guess = predict_batch(loaded.estimator, batch)
    if has_queries(loaded.estimator):
        found = measure_queries(batch, guess, loaded.estimator, at, relevant)
    else:
        found = measure(batch, guess, loaded.estimator, tags)
    if as_json:
        console.result_json({"command": "evaluate", "model": model, "file": file, **found})
    elif has_queries(loaded.estimator):
        console.result(*query_tables(found, f"{model} on {file}", n_shown))
    else:
        console.result(*measure_tables(found, f"{model} on {file}"))

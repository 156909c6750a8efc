"""``maxmargin train``: learn a model from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli import console, options
from maxmargin.cli.fitting import (
    checkpoint_to_resume,
    fit,
    interruption,
    new_estimator,
    read_held_out,
    report,
    sequence_scoring,
)
from maxmargin.cli.kinds import kind_called
from maxmargin.cli.learning import ColumnOptions, read_training
from maxmargin.cli.models import Model, save_model
from maxmargin.cli.queries import for_estimator, ranking_cost
from maxmargin.cli.schemes import check_scheme
from maxmargin.cli.targets import check_target

_INTERRUPTED = 130
_LEARNING, _RUN, _SETS = "Learning", "Checkpoints", "Label sets"


def train(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="chain (a label for each position of a sequence), multiclass (one class), "
            "multilabel (a set of labels) or ranking (the documents of queries).",
        ),
    ],
    file: options.DataFile,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="Where to write the model.")
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(help="Held-out file, scored after each pass and at the end.")
    ] = None,
    format: options.Format = None,
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            help="Weight of the losses: larger fits the training data more closely. Try powers of "
            "10 with --dev. Else the estimator's own, 1 (0.1 for rankings).",
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    solver: Annotated[
        str,
        typer.Option(
            help="As `maxmargin info` lists them; auto: the one that suits what is learnt.",
            rich_help_panel=_LEARNING,
        ),
    ] = "auto",
    cost: Annotated[
        str | None,
        typer.Option(
            help="What a mistake costs, as `maxmargin info` lists them; else the usual one.",
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    surrogate: Annotated[
        str,
        typer.Option(
            help="What is minimised in place of the cost: margin, slack, ... as `maxmargin info` "
            "lists them.",
            rich_help_panel=_LEARNING,
        ),
    ] = "margin",
    search: Annotated[
        str | None,
        typer.Option(
            help="How the most violating output is found, as `maxmargin info` lists them; else the "
            "fastest that is exact.",
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    tol: Annotated[
        float,
        typer.Option(
            help="Stop when the objective is proven to be within this share of the optimum.",
            rich_help_panel=_LEARNING,
        ),
    ] = 1e-2,
    max_iter: Annotated[int, typer.Option(help="Most passes.", rich_help_panel=_LEARNING)] = 1000,
    time_budget: Annotated[
        float | None, typer.Option(help="Most seconds.", rich_help_panel=_LEARNING)
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            help="Stop after so many passes without a better score on --dev; keep the best.",
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="What --dev is scored by, for progress and --patience: chunk_f1, token_accuracy, "
            "accuracy, micro_f1, ndcg@10, ...; else F1 of segments where tags have a scheme, token "
            "accuracy of other sequences, and what the cost stands for.",
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Of all that is random.", rich_help_panel=_LEARNING)
    ] = 0,
    n_jobs: options.Jobs = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="Which attributes of an ARFF file are labels: Mulan's xml file, a number (the "
            "first so many; negative, the last), or names parted by commas.",
            rich_help_panel=_SETS,
        ),
    ] = None,
    pairwise: Annotated[
        str | None,
        typer.Option(
            help="Pairs of labels that have a weight: none, full or tree (learnt); else none.",
            rich_help_panel=_SETS,
        ),
    ] = None,
    inference: Annotated[
        str | None,
        typer.Option(
            help="How label sets are searched in training: auto, listed, tree, pairwise, relaxed, "
            "program, relaxed_program.",
            rich_help_panel=_SETS,
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            help="Places that count, for the costs ndcg_at_k and precision_at_k; else 10.",
            rich_help_panel=options.RANKINGS,
        ),
    ] = None,
    gain: Annotated[
        str | None,
        typer.Option(
            help="What a grade g is worth to NDCG: exponential (2^g - 1) or linear (g).",
            rich_help_panel=options.RANKINGS,
        ),
    ] = None,
    relevant: options.Relevant = None,
    normalize: Annotated[
        str | None,
        typer.Option(
            help="Make features comparable: maxabs over all documents, standard or minmax query by "
            "query, none as they are; else maxabs.",
            rich_help_panel=options.RANKINGS,
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            help="What is done about missing values (NaN) of classes and rankings: indicator (the "
            "mean, and a column that says where), mean, zero or error; else indicator.",
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    zeros: Annotated[
        str | None,
        typer.Option(
            help="What a zero is: a value, or by indicator also a column that says where a feature "
            "is not zero; else indicator.",
            rich_help_panel=options.RANKINGS,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Columns that say where a feature is beyond a quantile of its values, at most so "
            "many per feature; else 5.",
            rich_help_panel=options.RANKINGS,
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            help="Features: a preset (chunking, ner), templates such as 'w[0] w[-1]|w[0]', or a "
            "file of them. Else chunking if there is a column pos, and ner if not.",
            rich_help_panel=options.COLUMNS,
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Names of the columns besides the tags; else w,pos,c2,c3,...",
            rich_help_panel=options.COLUMNS,
        ),
    ] = None,
    tag_column: options.TagColumn = None,
    separator: options.Separator = None,
    scheme: options.Scheme = None,
    strict: options.Strict = False,
    min_count: Annotated[
        int | None, typer.Option(help="Leave out rarer features.", rich_help_panel=options.COLUMNS)
    ] = None,
    hashing: Annotated[
        int | None,
        typer.Option(help="Hash features into so many columns.", rich_help_panel=options.COLUMNS),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Write the run here now and then, and at its end, Ctrl-C included.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    checkpoint_every: Annotated[
        int, typer.Option(help="Passes between two checkpoints.", rich_help_panel=_RUN)
    ] = 10,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on from --checkpoint, and end where the run would have ended.",
            rich_help_panel=_RUN,
        ),
    ] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn a model from a file, to a certified gap.

    With --scheme predictions keep to it; training tags that break it are named, and what they do
    is allowed (--strict refuses them). Ctrl-C ends the run early and keeps the best model so far.
    """
    from maxmargin import Checkpoint
    from maxmargin.training.settings import check_patience

    chosen = kind_called(kind)
    files = ColumnOptions(
        template, columns, tag_column, separator, scheme, strict or None, min_count, hashing
    )
    if not chosen.is_sequence:
        files.refuse(f"which `train {kind}` does not read")
    own = {"relevant": relevant, "normalize": normalize}
    if not chosen.has_label_sets:
        given = {"labels": labels, "pairwise": pairwise, "inference": inference}
        _refuse(given, "label sets (`train multilabel`)", kind)
    if not chosen.has_queries:
        of_queries = {"k": k, "gain": gain, "zeros": zeros, "steps": steps, **own}
        _refuse(of_queries, "rankings (`train ranking`)", kind)
    check_target("--model", model, file, dev, checkpoint)
    check_target("--checkpoint", checkpoint, file, dev)
    params = {
        "C": C,
        "solver": solver,
        "cost": ranking_cost(cost, k, gain) if chosen.has_queries else cost,
        "surrogate": surrogate,
        "search": search,
        "tol": tol,
        "max_iter": max_iter,
        "time_budget": time_budget,
        "scoring": scoring,
        "random_state": seed,
        "n_jobs": n_jobs,
        "constraints": scheme,
        "min_count": min_count,
        "n_hashed_features": hashing,
        "pairwise": pairwise,
        "inference": inference,
        "relevance_threshold": relevant,
        "normalize_queries": normalize,
        "missing": missing,
        "zeros": zeros,
        "steps": steps,
    }
    callbacks = [] if checkpoint is None else [Checkpoint(checkpoint, checkpoint_every)]
    estimator = new_estimator(chosen, params)
    check_patience(patience, eval_set=file)  # the number alone: --dev is the next to be looked at
    for name, value in {"patience": patience, "scoring": scoring}.items():
        if value is not None and dev is None:
            raise ValueError(f"--{name} needs --dev, the file that is scored after each pass.")
    start = checkpoint_to_resume(checkpoint) if resume else None
    reader, batch = read_training(file, format, files, chosen, labels)
    batch = for_estimator(batch, estimator)
    chosen.check(f"train {kind}", file, batch.is_sequence)
    if batch.ignores_qid and not quiet:
        console.note(
            f"{file} has qid, which `train {kind}` ignores: all rows are samples of their own. "
            "`train ranking` learns to rank the documents of queries."
        )
    if batch.classes is not None:
        estimator.set_params(classes=batch.classes)
    trained = Model(model or file, estimator, reader)
    tags = trained.scheme
    if batch.is_sequence:
        check_scheme(batch, tags, strict)
    held_out = None if dev is None else read_held_out(trained, dev, batch)
    if held_out is not None and held_out.is_sequence:
        check_scheme(held_out, tags, strict)
        estimator.set_params(scoring=sequence_scoring(estimator, held_out))
    fit(estimator, batch, held_out, start, quiet, tags, patience=patience, callbacks=callbacks)
    is_interrupted = estimator.result_.status == "interrupted"
    if model is not None and (estimator.n_iter_ or not is_interrupted):
        save_model(model, estimator, reader)
    if is_interrupted:
        console.note(interruption(estimator.n_iter_, model, checkpoint))
    report(trained, batch, held_out, model, as_json, patience)
    if is_interrupted:
        raise typer.Exit(_INTERRUPTED)


def _refuse(given: dict[str, Any], what: str, kind: str) -> None:
    """Refuse options that are for other outputs than a kind has."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"--{name} is for {what}, which `train {kind}` does not learn.")

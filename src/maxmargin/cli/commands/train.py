"""``maxmargin train``: learn a model from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli import console, options
from maxmargin.cli.formats import Batch
from maxmargin.cli.kinds import KINDS, kind_called, listed, refuse_foreign, told
from maxmargin.cli.models import Model
from maxmargin.cli.options import LEARNING, check_target
from maxmargin.cli.progress import progress
from maxmargin.cli.reports import report

_INTERRUPTED = 130
_RUN = "Checkpoints"


def train(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=kinds_help())],
    file: Annotated[Path, options.data_file(*told("file"))],
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
            f"10 with --dev. Else the estimator's own, 1 ({', '.join(told('C'))}).",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            help="As `maxmargin info` lists them, with options as in Python if any: "
            "'bcfw(cache=0)'; auto: the one that suits what is learnt. Else the estimator's own, "
            f"auto ({', '.join(told('solver'))}).",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(
            help="What a mistake costs, as `maxmargin info` lists them; else the usual one.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    surrogate: Annotated[
        str | None,
        typer.Option(
            help="What is minimised in place of the cost: margin, slack, ... as `maxmargin info` "
            "lists them; else margin.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            help="How the most violating output is found, as `maxmargin info` lists them; else the "
            "fastest that is exact.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            help="Stop when the objective is proven to be within this share of the optimum; else "
            "0.01.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    max_iter: Annotated[
        int | None,
        typer.Option(
            help=f"Most passes. Else the estimator's own, 1000 ({', '.join(told('max_iter'))}).",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    time_budget: Annotated[
        float | None, typer.Option(help="Most seconds.", rich_help_panel=LEARNING)
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            help="Stop after so many passes without a better score on --dev; keep the best.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="What --dev is scored by, for progress and --patience: chunk_f1, token_accuracy, "
            f"accuracy, micro_f1, ndcg@10, ...; else {', '.join(told('scoring'))}, and what the "
            "cost stands for.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all that is random.", rich_help_panel=LEARNING)] = 0,
    n_jobs: options.Jobs = None,
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
    **own: Any,
) -> None:
    """Learn a model from a file, to a certified gap.

    Ctrl-C ends the run early and keeps the best model so far.
    """
    from maxmargin import Checkpoint
    from maxmargin.training.settings import check_patience, resolve_solver

    learner = kind_called(kind)
    refuse_foreign("train", learner, own, kind=kind, estimator=learner.estimator)
    check_target("--model", model, file, dev, checkpoint)
    check_target("--checkpoint", checkpoint, file, dev)
    params = {
        "C": C,
        "solver": solver,
        "cost": cost,
        "surrogate": surrogate,
        "search": search,
        "tol": tol,
        "max_iter": max_iter,
        "time_budget": time_budget,
        "scoring": scoring,
        "random_state": seed,
        "n_jobs": n_jobs,
    }
    saved = [] if checkpoint is None else [Checkpoint(checkpoint, checkpoint_every)]
    estimator = learner.new_estimator(params, own)
    check_patience(patience, eval_set=file)  # the number alone: --dev is the next to be looked at
    for name, value in {"patience": patience, "scoring": scoring}.items():
        if value is not None and dev is None:
            raise ValueError(f"--{name} needs --dev, the file that is scored after each pass.")
    start = _checkpoint_to_resume(checkpoint) if resume else None
    reader, batch = learner.read_training(file, format, own)
    batch = learner.adapt(batch, estimator)
    if batch.classes is not None:
        estimator.set_params(classes=batch.classes)
    trained = Model(model or file, estimator, reader)
    learner.check_training(reader, batch, own)
    held_out = None
    if dev is not None:
        held_out = trained.read_held_out(dev, batch)
        learner.check_training(reader, held_out, own)
        estimator.set_params(scoring=learner.scoring(estimator, held_out))
    if not quiet:
        _announce(trained, batch)
    minimizes = resolve_solver(estimator._named_solver()).minimizes
    with progress(quiet, every_pass=not minimizes) as shown:
        callbacks = [*saved, *shown]
        _fit(estimator, batch, held_out, patience=patience, callbacks=callbacks, resume=start)
    is_interrupted = estimator.result_.status == "interrupted"
    if model is not None and (estimator.n_iter_ or not is_interrupted):
        trained.save(model)
    if is_interrupted:
        console.note(interruption(estimator.n_iter_, model, checkpoint))
    report(trained, batch, held_out, model, as_json, patience)
    if is_interrupted:
        raise typer.Exit(_INTERRUPTED)


def kinds_help() -> str:
    """Return what KIND can be."""
    return listed([f"{name} ({kind.about})" for name, kind in KINDS.items()]) + "."


def _checkpoint_to_resume(checkpoint: Path | None) -> Path:
    """Return the checkpoint, which must exist."""
    if checkpoint is None:
        raise ValueError("--resume needs --checkpoint, the file to go on from.")
    if not checkpoint.exists():
        raise FileNotFoundError(f"--resume: there is no checkpoint {checkpoint}.")
    return checkpoint


def _announce(model: Model, batch: Batch) -> None:
    """Say what is learnt from, and what may be amiss with it."""
    kind = model.kind
    advice = (other.advise(batch, kind.name) for other in KINDS.values() if other is not kind)
    content = f"{batch.path}: {kind.content(model.reader, batch)}."
    for said in (*advice, content, kind.warn_of(batch, model.estimator)):
        if said is not None:
            console.note(said)


def _fit(estimator: Any, batch: Batch, held_out: Batch | None, **options: Any) -> None:
    """Fit, and call what is wrong with the held-out file by its name."""
    from maxmargin.training.scoring import ABOUT_EVAL_SET

    eval_set = None if held_out is None else held_out.eval_set
    try:
        estimator.fit(batch.X, batch.y, eval_set=eval_set, **options, **batch.beside)
    except (TypeError, ValueError) as error:
        if held_out is None or not str(error).startswith(ABOUT_EVAL_SET):
            raise
        said = str(error).removeprefix(ABOUT_EVAL_SET)
        raise ValueError(f"--dev {held_out.path}: {said}") from error


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

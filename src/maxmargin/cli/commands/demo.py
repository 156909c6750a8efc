"""``maxmargin demo``: strings of digits, read with and without their language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli import console, options
from maxmargin.cli.commands.demo_tables import demo_tables
from maxmargin.cli.commands.warmup import compile_case
from maxmargin.cli.console import percent
from maxmargin.cli.kinds import KINDS
from maxmargin.cli.options import check_target
from maxmargin.cli.progress import progress
from maxmargin.cli.reports import result_values

_NOISE = 0.3  # of pixels in 0..1: single digits become hard, so that the language shows
_C, _TOL = 0.1, 1e-3


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the picture.")] = (
        Path("maxmargin-demo.png")
    ),
    seed: Annotated[int, typer.Option(help="Of the strings and of the training.")] = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn to read strings of handwritten digits in a few seconds, and draw what was learnt."""
    from maxmargin.datasets import load_digit_strings

    check_target("--output", output)
    format = _picture_format(output)
    if seed < 0:
        raise ValueError(f"--seed must be >= 0, got {seed}.")
    data = load_digit_strings(noise=_NOISE, seed=seed)
    _compile(quiet)
    models = _learn(data, seed, quiet)
    guesses = {
        "chain": models["chain"].predict(data.X_test),
        "per_character": _predict_each(models["per_character"], data.X_test),
    }
    scores = {name: _scores(data.y_test, guess) for name, guess in guesses.items()}
    _draw(models["chain"], scores, output, format)
    if as_json:
        found = {
            name: {**scores[name], "result": result_values(model.result_)}
            for name, model in models.items()
        }
        console.result_json({"command": "demo", "picture": output, **found})
    else:
        console.result(*demo_tables(data, models, guesses, scores), f"Picture: {output}")


def _compile(quiet: bool) -> None:
    """Compile apart from training, so that the seconds of the run are its own."""
    for kind in ("chain", "multiclass"):
        compile_case(KINDS[kind], "dense", "float64", is_shown=not quiet)


def _learn(data: Any, seed: int, quiet: bool) -> dict[str, Any]:
    import numpy as np

    from maxmargin import ChainSVM, MulticlassSVM

    X, y = np.concatenate(data.X_train), np.concatenate(data.y_train)
    if not quiet:
        console.note(
            f"Learning from {len(data.X_train)} strings, {len(y)} digits in all; noise of "
            f"deviation {_NOISE} in every pixel makes single digits hard."
        )
    chain = ChainSVM(C=_C, tol=_TOL, random_state=seed)
    with progress(quiet) as shown:
        chain.fit(data.X_train, data.y_train, callbacks=shown)
    alone = MulticlassSVM(C=_C, tol=_TOL, random_state=seed).fit(X, y)
    return {"chain": chain, "per_character": alone}


def _predict_each(model: Any, X: list[Any]) -> list[Any]:
    """Return what a model of rows says of each of several matrices, asked once for all."""
    import numpy as np

    return np.split(model.predict(np.concatenate(X)), np.cumsum([len(x) for x in X])[:-1])


def _scores(truth: Any, guess: Any) -> dict[str, Any]:
    from maxmargin.metrics import sequence_accuracy, token_accuracy

    return {
        "character_accuracy": token_accuracy(truth, guess),
        "string_accuracy": sequence_accuracy(truth, guess),
    }


def _picture_format(output: Path) -> str:
    from matplotlib.backend_bases import FigureCanvasBase

    found = output.suffix.lstrip(".").lower() or "png"
    known = FigureCanvasBase.get_supported_filetypes()
    if found not in known:
        names = ", ".join(sorted(known))
        raise ValueError(f"--output: there is no picture format {found!r}. There are: {names}.")
    return found


def _draw(chain: Any, scores: dict[str, Any], output: Path, format: str) -> None:
    from maxmargin.io import atomic_write
    from maxmargin.plots import demo_figure

    shares = [percent(scores[name]["character_accuracy"]) for name in ("chain", "per_character")]
    title = f"Strings of digits: {shares[0]} of characters right, {shares[1]} without the language"
    figure = demo_figure(chain, (8, 8), tol=_TOL, title=title)
    with atomic_write(output) as file:
        figure.savefig(file, format=format)

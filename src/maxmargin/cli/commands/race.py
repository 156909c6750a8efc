"""``maxmargin race``: solvers on one file, each in a process of its own, by one clock."""

from __future__ import annotations

import hashlib
import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import console, options
from maxmargin.cli.commands.train import kinds_help
from maxmargin.cli.kinds import kind_called, refuse_foreign, told
from maxmargin.cli.options import LEARNING, check_target

if TYPE_CHECKING:
    from maxmargin.training.race import Case, Course, Optimum

_SOLVERS = ("auto", "bcfw", "one_slack", "n_slack", "sgd")


def race(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=kinds_help())],
    file: Annotated[Path, options.data_file(*told("file"))],
    solver: Annotated[
        list[str] | None,
        typer.Option(
            help="Who races, with options as in Python: 'partial_linearization(tau=0.1)'. May be "
            f"repeated; else {', '.join(_SOLVERS)}."
        ),
    ] = None,
    format: options.Format = None,
    C: Annotated[float | None, typer.Option("--C", rich_help_panel=LEARNING)] = None,
    cost: Annotated[str | None, typer.Option(rich_help_panel=LEARNING)] = None,
    surrogate: Annotated[str, typer.Option(rich_help_panel=LEARNING)] = "margin",
    tol: Annotated[
        float, typer.Option(help="The certified relative gap at which a run ends.")
    ] = 1e-4,
    seconds: Annotated[float, typer.Option(help="Most CPU seconds of a run.")] = 60.0,
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 0,
    optimum: Annotated[
        Path | None,
        typer.Option(help="Where the optimum is kept, so that it is computed once."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Where to draw the race, as PNG.")] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    **own: Any,
) -> None:
    """Let solvers race on one file: seconds, passes and oracle calls to certified gaps.

    Each runs in a process of its own, one after the other. The optimum is looked for by auto, to
    a relative gap of 1e-8 or for ten times the seconds of a run.
    """
    from maxmargin.training import race as racing

    if not (0.0 < seconds < float("inf")):
        raise ValueError(f"--seconds must be a number > 0, got {seconds!r}.")
    learner = kind_called(kind)
    refuse_foreign("train", learner, own, kind=kind, estimator=learner.estimator)
    check_target("--plot", plot, file)
    check_target("--optimum", optimum, file)
    if not file.is_file():
        raise FileNotFoundError(f"no such file: {file}")
    solvers = {text: racing.named_solver(text) for text in solver or _SOLVERS}
    params = {"C": C, "cost": cost, "surrogate": surrogate, "random_state": seed}
    for each in solvers.values():
        learner.new_estimator(params | {"solver": each}, own)  # refuses what cannot be
    make = partial(read_case, kind, file, format, params, own)
    make()  # what is wrong with the file is told once, here

    def tell(course: Course) -> None:
        if not quiet:
            console.note(f"{course.label}: {course.error or course.status}")

    courses = racing.race(make, solvers, racing.Limits(tol, seconds=seconds), tell)
    key = hashlib.sha256(file.read_bytes() + repr((kind, format, params, own)).encode())
    best = racing.known_optimum(optimum, key.hexdigest()[:24], make, 10.0 * seconds, courses)
    if plot is not None:
        from maxmargin.plots import race_panels

        race_panels(courses, best, f"{kind}, {file.name}").savefig(plot, format="png")
    if as_json:
        console.result_json({"command": "race", **racing.as_json(courses, best)})
        return
    console.result(console.grid(_title(best), *_table(courses, best)))
    for course in courses:
        if course.error:
            console.note(f"{course.solver}: {course.error}")


def read_case(
    kind: str, file: Path, format: str | None, params: dict[str, Any], own: dict[str, Any]
) -> Case:
    """Read a file as `train` does, and return the problem; in the process that solves it."""
    from maxmargin.training.race import Case

    learner = kind_called(kind)
    estimator = learner.new_estimator(dict(params), own)
    _, batch = learner.read_training(file, format, own)
    batch = learner.adapt(batch, estimator)
    if batch.classes is not None:
        estimator.set_params(classes=batch.classes)
    return Case(estimator, batch.X, batch.y, dict(batch.beside))


def _title(best: Optimum) -> str:
    return (
        f"CPU seconds to relative gaps; the optimum lies in [{best.dual:.9g}, {best.primal:.9g}], "
        f"relative gap {best.relative_gap:.1e}"
    )


def _table(courses: list[Course], best: Optimum) -> tuple[list[str], list[list[Any]]]:
    from maxmargin.training.race import LEVELS

    heads = ["solver", *(f"gap {level:g}" for level in LEVELS), "primal 1%", "passes", "calls"]
    heads += ["primal above", "dual below"]
    rows: list[list[Any]] = []
    for course in courses:
        if not course.points:
            rows.append([course.solver, *[""] * (len(heads) - 2), "does not fit"])
            continue
        reached = [course.to_gap(level) for level in LEVELS] + [course.to_primal(0.01, best)]
        last = course.points[-1]
        row: list[Any] = [
            course.label,
            *("" if point is None else f"{point.seconds:.3g}" for point in reached),
            last.pass_,
            last.oracle_calls,
            f"{(last.primal - best.dual) / abs(best.dual):.1e}",
            f"{(best.primal - last.dual) / abs(best.primal):.1e}"
            if math.isfinite(last.dual)
            else "",
        ]
        rows.append(row)
    return heads, rows

"""One fit: settings checked, the request encoded, the problem run, the result kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from maxmargin.core.news import compiling_shown
from maxmargin.core.problem import Problem, lam_from_C
from maxmargin.inputs.request import Request
from maxmargin.solvers import Solver, run
from maxmargin.training.automatic import settle
from maxmargin.training.checkpoint import Checkpoint, Watch, bind_callbacks, read_checkpoint
from maxmargin.training.partial import OnlineRun
from maxmargin.training.progress import ProgressLine
from maxmargin.training.scoring import eval_measure
from maxmargin.training.settings import check_callbacks, check_patience, check_settings, generator
from maxmargin.training.warm import Memory, Start, recall
from maxmargin.training.weighing import Units, weigh


def fit(
    estimator: Any,
    request: Request,
    eval_set: Any = None,
    patience: int | None = None,
    callbacks: Any = None,
    resume: str | os.PathLike[str] | None = None,
) -> Any:
    """Fit an estimator, or leave it as it was; see `BaseSVM.fit`."""
    with unchanged_on_error(estimator):
        settings = check_settings(estimator)
        check_patience(patience, eval_set)
        check_callbacks(callbacks)
        watch = Watch(Request.held_out(estimator.beside, eval_set), patience)
        task, units = weigh(estimator, estimator._encode(request, reset=True))
        settings, task = settle(estimator, settings, task)
        check_weights_fit(settings.solver, units, callbacks, resume)
        lam = lam_from_C(float(estimator.C), task.n_examples)
        problem = task.problem(settings.surrogate, lam, settings.n_jobs, settings.search)
        measure = eval_measure(estimator, watch.eval_set)
        snapshot = None if resume is None else read_checkpoint(resume, estimator, problem, watch)
        start, state, w = None, None, None
        if estimator.warm_start:
            start = Start.of(estimator, problem, settings.solver)
            if snapshot is None:
                state, w = recall(estimator._memory, start, problem)
                w = units.solved(w)
        rng = generator(estimator.random_state)
        result, state = run(
            problem,
            settings.solver,
            rng=rng,
            tol=estimator.tol,
            max_iter=estimator.max_iter,
            time_budget=estimator.time_budget,
            state=state,
            w=w,
            callbacks=units.callbacks(bound(callbacks, estimator, problem, watch)),
            validate=units.score(measure.score),
            measure=measure.name,
            patience=patience,
            snapshot=snapshot,
        )
        result = units.result(result)
        estimator._memory = estimator._online = None
        if start is not None:
            estimator._memory = Memory(start, state, result.w)
        if settings.solver.is_online:
            estimator._online = OnlineRun(settings.solver, rng, state, lam, result)
        return estimator._adopt(estimator._kept(result, problem))


def check_weights_fit(solver: Solver, units: Units, callbacks: Any, resume: Any) -> None:
    """Refuse what needs dense weights, where a solver has none."""
    if solver.has_dense_weights:
        return
    writes = resume is not None or any(isinstance(each, Checkpoint) for each in callbacks or ())
    for what, is_asked in (
        ("a checkpoint", writes),
        ("a regularizer with weights of features", units.factors is not None),
    ):
        if is_asked:
            raise ValueError(
                f"solver={solver.name!r} keeps no dense weights, which {what} needs; "
                "solver='sdca' does."
            )


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Restore an estimator as it was if the block fails.

    Otherwise a fit that fails could leave classes or features that do not match the weights, and
    compiled code, which checks no bounds, would read past the end of an array.
    """
    before = estimator.__dict__.copy()
    try:
        with compiling_shown(bool(estimator.verbose)):
            yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        estimator._memory = estimator._online = None  # their arrays may be half changed
        raise


def bound(callbacks: Any, estimator: Any, problem: Problem, watch: Watch) -> list[Any]:
    """Return the callbacks of a run, the progress line among them, as `run` calls them."""
    found = list(callbacks or ())
    if estimator.verbose:
        found.append(ProgressLine(every_pass=estimator.verbose > 1))
    return bind_callbacks(found, estimator, problem, watch)

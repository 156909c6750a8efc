"""The loop around every solver, as the rest of the package calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from threadpoolctl import threadpool_limits

from maxmargin.core.news import compiling_watched
from maxmargin.core.problem import Problem
from maxmargin.solvers.contract import Solver, State
from maxmargin.solvers.endings import warn_of_ending
from maxmargin.solvers.events import Callback, Snapshot
from maxmargin.solvers.loop import Loop
from maxmargin.solvers.needs import check_problem
from maxmargin.solvers.result import Result


def run(
    problem: Problem,
    solver: Solver,
    *,
    rng: np.random.Generator,
    tol: float = 1e-2,
    max_iter: int = 1000,
    time_budget: float | None = None,
    state: State | None = None,
    w: np.ndarray | None = None,
    callbacks: Iterable[Callback] = (),
    validate: Callable[[np.ndarray], float] | None = None,
    measure: str = "",
    patience: int | None = None,
    snapshot: Snapshot | None = None,
) -> tuple[Result, State]:
    """Run a solver until the certified relative gap is at most `tol`.

    Parameters
    ----------
    problem, solver : what to solve and how
    rng : the source of all randomness
    tol : stop when gap / primal, both at one w, is at most this; 0 runs until rounding or another
        limit ends the run
    max_iter : largest number of passes over the examples
    time_budget : most seconds of this run, without compiling; None for no limit. The clock is read
        between the compiled calls of passes and certificates. One last certificate may follow,
        which is not cut short
    state : where to go on (warm start), as an earlier run returned it
    w : weights to start from where there is no state
    callbacks : called with an `Iteration` after each pass; if a callback has a method `end`, it
        is called when the passes are over
    validate : scores weights on held-out data, larger is better; recorded after each pass
    measure : what `validate` measures, by name
    patience : stop when the validation score has not risen for this many passes, and return the
        weights that scored best
    snapshot : go on where this was taken: the run ends as if it had never stopped

    Returns
    -------
    result, state
    """
    check_problem(solver, problem)
    solver = solver.engine(problem)
    loop = Loop(problem, solver, rng, tol, validate, measure)
    with threadpool_limits(1, "blas"), compiling_watched() as loop.compiling:
        loop.begin(state, w, snapshot)
        callbacks = list(callbacks)
        status = loop.repeat(max_iter, time_budget, callbacks, patience)
        loop.tell_end(callbacks)
        result = loop.finish(status, patience)
    warn_of_ending(result, solver, tol, loop.was_interrupted)
    return result, loop.state

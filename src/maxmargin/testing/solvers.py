"""The contract of a solver, checked on problems whose optimum is known."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin.core.problem import Problem
from maxmargin.solvers import Iteration, Result, Snapshot, Solver, State, run
from maxmargin.testing._require import require, require_parameters
from maxmargin.testing.exact import optimum
from maxmargin.testing.outputs import OutputSource
from maxmargin.testing.tiny import tiny_problem


def check_solver(
    solver: Solver,
    problem: Problem | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int = 2000,
    outputs: OutputSource | None = None,
    seed: int = 0,
) -> None:
    """Check a solver against the contract of `maxmargin.solvers.Solver`.

    Its bounds hold the optimum between them, and if it has a certificate the gap closes; the primal
    is that of the weights it returns; the same seed gives the same weights; a run that is taken up
    again from a snapshot ends where the uninterrupted one does, to the last bit (unless it keeps no
    dense weights); compiled code
    gives what Python gives; it can go on at another regularisation, and begin with given weights.

    Parameters
    ----------
    solver : Solver
    problem : Problem, or None for a small problem of classes and, if they fit, one of chains
        Its outputs are all listed, so it must be small, and its surrogate affine in h.
    tol : float
        Relative gap that a solver with a certificate must reach within `max_iter` passes, unless
        its `reach` is larger.
    max_iter : int
    outputs : as for `check_structure`, where the problem is not of classes or chains
    seed : int

    Raises
    ------
    AssertionError
        That says what does not hold.

    Examples
    --------
    >>> from maxmargin.solvers import BlockFrankWolfe
    >>> from maxmargin.testing import check_solver, tiny_problem
    >>> check_solver(BlockFrankWolfe(), tiny_problem("multiclass", compile=False))
    """
    require_parameters(solver)
    tol = max(tol, solver.reach)
    for given in _fitting_problems(solver) if problem is None else [problem]:
        best = optimum(given, outputs)
        result, state = _run(given, solver, seed, tol=tol, max_iter=max_iter)
        _check_result(given, solver, result)
        _check_bounds(result, best.lower, best.upper)
        if result.is_certified:
            require(
                result.status == "converged" and result.relative_gap <= tol,
                f"{solver.name} has a certificate, so its gap must close: after {result.n_iter} "
                f"passes the relative gap is {result.relative_gap:.3g}, above tol={tol:g}.",
            )
        elif solver.minimizes:
            _check_descent(given, solver, result)
        _check_repeats(given, solver, seed)
        if solver.has_dense_weights:
            _check_snapshot(given, solver, seed)
        if given.is_compiled:
            _check_plain(given, solver, seed)
        _check_adapt(given, solver, state, seed, tol, max_iter, outputs)


def _fitting_problems(solver: Solver) -> list[Problem]:
    """Return small problems whose structures provide what the solver needs of them."""
    problems = [tiny_problem("multiclass"), tiny_problem("chain")]
    of_structures = solver.needs - {"convex", "linear", "unit_slope", "euclidean"}
    return [each for each in problems if of_structures <= each.capabilities]


def _run(problem: Problem, solver: Solver, seed: int, **options: Any) -> tuple[Result, State]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return run(problem, solver, rng=np.random.default_rng(seed), **options)


def _check_result(problem: Problem, solver: Solver, result: Result) -> None:
    name, w = solver.name, np.asarray(result.w)
    require(
        w.shape == (problem.n_weights,) and np.isfinite(w).all(),
        f"{name} must return {problem.n_weights} finite weights, got {w}.",
    )
    require(
        len(result.history) == result.n_iter,
        f"{name} made {result.n_iter} passes but recorded {len(result.history)}.",
    )
    require(result.n_oracle_calls > 0, f"{name} did not count its oracle calls.")
    if solver.minimizes:
        primal = problem.primal(w)
        require(
            abs(primal - result.primal) <= 1e-9 * (1.0 + abs(primal)),
            f"{name} says that its primal is {result.primal:.12g}, but that of its weights is "
            f"{primal:.12g}.",
        )
    duals = [record.dual for record in result.history if math.isfinite(record.dual)]
    require(
        all(a <= b for a, b in pairwise(duals)),
        f"{name}: the best dual value so far fell.",
    )


def _check_bounds(result: Result, lower: float, upper: float) -> None:
    slack = 1e-9 * (1.0 + abs(upper))
    if math.isfinite(result.primal):
        require(
            result.primal >= lower - slack,
            f"{result.solver}: primal {result.primal:.12g} is below the optimum, which is at least "
            f"{lower:.12g}.",
        )
    if math.isfinite(result.dual):
        require(
            result.dual <= upper + slack,
            f"{result.solver}: dual {result.dual:.12g} is above the optimum, which is at most "
            f"{upper:.12g}.",
        )


def _check_descent(problem: Problem, solver: Solver, result: Result) -> None:
    start = problem.primal(np.zeros(problem.n_weights))
    require(
        result.primal < start or result.primal == 0.0,
        f"{solver.name} says it minimises, but after {result.n_iter} passes its primal is "
        f"{result.primal:.6g}, and that of w = 0 is {start:.6g}.",
    )


def _check_repeats(problem: Problem, solver: Solver, seed: int) -> None:
    first, second = (_run(problem, solver, seed, tol=0.0, max_iter=4)[0] for _ in range(2))
    require(
        (np.asarray(first.w) == np.asarray(second.w)).all(),
        f"{solver.name}: two runs with seed {seed} gave different weights.",
    )


def _check_snapshot(problem: Problem, solver: Solver, seed: int) -> None:
    taken: list[Snapshot] = []

    def take(event: Iteration) -> None:
        if event.record.pass_ == 2:
            # Copy the snapshot, as a file does: the run goes on and may overwrite its arrays.
            snapshot = event.snapshot()
            arrays = {name: array.copy() for name, array in snapshot.arrays.items()}
            taken.append(Snapshot(snapshot.meta, arrays))

    whole, state = _run(problem, solver, seed, tol=0.0, max_iter=6, callbacks=[take])
    if not taken:  # it ended in one pass
        return
    # Use another seed: it must not matter, since the snapshot has the state of the generator.
    rest, state_again = _run(problem, solver, seed + 1, tol=0.0, max_iter=6, snapshot=taken[0])
    require(
        (whole.w == rest.w).all() and whole.n_oracle_calls == rest.n_oracle_calls,
        f"{solver.name}: a run taken up again after 2 of {whole.n_iter} passes ends at other "
        "weights, or after another number of oracle calls, than the uninterrupted one.",
    )
    arrays, arrays_again = state.arrays(), state_again.arrays()
    for name, array in arrays.items():
        require(
            _same_array(array, arrays_again.get(name)),
            f"{solver.name}: {name!r} of the state differs after it was taken up again.",
        )
    histories = [
        [{**asdict(record), "seconds": 0.0} for record in r.history] for r in (whole, rest)
    ]
    require(
        repr(histories[0]) == repr(histories[1]),
        f"{solver.name}: the history differs after the run was taken up again.",
    )


def _same_array(a: np.ndarray, b: np.ndarray | None) -> bool:
    if b is None or a.shape != b.shape:
        return False
    # Compare objects by !=, which `Box` defines, and numbers bit for bit.
    return not (a != b).any() if a.dtype == object else a.tobytes() == b.tobytes()


def _check_plain(problem: Problem, solver: Solver, seed: int) -> None:
    plain = object.__new__(Problem)
    plain.__dict__.update(problem.__dict__, is_compiled=False)
    fast, slow = (_run(p, solver, seed, tol=0.0, max_iter=3)[0].w for p in (problem, plain))
    require(
        np.allclose(np.asarray(fast), np.asarray(slow), rtol=1e-7, atol=1e-9),
        f"{solver.name}: after 3 passes the weights are {slow} in Python but {fast} compiled.",
    )


def _check_adapt(
    problem: Problem,
    solver: Solver,
    state: State,
    seed: int,
    tol: float,
    max_iter: int,
    outputs: OutputSource | None,
) -> None:
    """Go on at half the regularisation, and begin anew with given weights."""
    other = problem.with_lam(0.5 * problem.lam)
    best = optimum(other, outputs)
    given = state.w.copy()
    solver.engine(other).adapt(other, state, problem.lam)
    starts: list[dict[str, Any]] = [{"state": state}, {"w": given}]
    for options in starts:
        result, _ = _run(other, solver, seed, tol=tol, max_iter=max_iter, **options)
        _check_result(other, solver, result)
        _check_bounds(result, best.lower, best.upper)
        if result.is_certified:
            require(
                result.relative_gap <= tol,
                f"{solver.name}: from {next(iter(options))} of an earlier run at another "
                f"regularisation the relative gap stays at {result.relative_gap:.3g}.",
            )

"""States of solvers over laws from a file: laws are laws, and w is what they make of it."""

from __future__ import annotations

import copy
from typing import Any, cast

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import marginals, potentials
from maxmargin.core.problem import Problem
from maxmargin.solvers.contract import Solver, State
from maxmargin.solvers.marginal import mmcrf
from maxmargin.solvers.marginal.exponentiated_gradient import ExponentiatedGradient, GibbsState
from maxmargin.solvers.marginal.frank_wolfe import FrankWolfeState
from maxmargin.solvers.marginal.laws import bench_of, places
from maxmargin.solvers.marginal.partial_linearization import LawState, sum_up
from maxmargin.solvers.restore.checked import Arrays
from maxmargin.solvers.restore.shared import ROUNDING, check_close, vector


def check_laws(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return the arrays of laws, if they have the sizes of this problem."""
    found = _check_shared(problem, arrays)
    found["laws"] = arrays.take("laws", (int(places(problem).law_at[-1]),), low=0.0)
    return found


def check_gibbs(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return the arrays of potentials, if they have the sizes of this problem."""
    found, size = _check_shared(problem, arrays), int(places(problem).flat_at[-1])
    found["means"] = arrays.take("means", (size,))
    found["sums"] = arrays.take("sums", (size,), finite=False)
    if not (found["sums"] < np.inf).all():
        raise ValueError("array 'sums' must be below inf everywhere, and a number")
    n = problem.n_examples if cast(ExponentiatedGradient, solver).block else 1
    found["eta"] = arrays.take("eta", (n,), low=0.0)
    return found


def check_frank_wolfe(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return the arrays of Frank-Wolfe."""
    found = {"w": vector(problem, arrays, "w"), "offer": vector(problem, arrays, "offer", True)}
    return found | {"bounds": arrays.take("bounds", (3,))}


def check_marginals(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return the arrays of marginals, if they have the sizes of this problem."""
    found, size = _check_shared(problem, arrays), int(mmcrf.places(problem).flat_at[-1])
    # A difference of two means of counts: no cell is used more often than an output has cells.
    most = float(problem.sizes.max(initial=1)) ** 2 + 1.0
    found["marginals"] = arrays.take("marginals", (size,), low=-most, high=most)
    found["gap"] = arrays.take("gap", (problem.n_examples,), low=0.0, finite=False)
    return found


def audit_marginals(problem: Problem, solver: Solver, state: State) -> None:
    """Check that w follows from the marginals, and their plane is nowhere above the risk."""
    state = cast(mmcrf.MarginalState, state)
    mended = copy.copy(state)
    mmcrf.sum_up(problem, mended)
    check_close("w", state.w, mended.w)
    offset = float(problem.view.weight @ state.linear) / problem.n_examples
    for w in (state.w, np.zeros(problem.n_weights)):
        risk = problem.risk(w).value
        plane = offset - problem.lam * problem.inner(state.w, w)
        if not plane <= risk + ROUNDING * (1.0 + abs(risk)):
            raise ValueError("array 'linear' has costs that no mean of outputs has")


def _check_shared(problem: Problem, arrays: Arrays) -> dict[str, np.ndarray]:
    found = {"w": vector(problem, arrays, "w")}
    for name in ("w_mean", "offer"):
        found[name] = vector(problem, arrays, name, maybe=True)
    found["linear"] = arrays.take("linear", (problem.n_examples,))
    found["n_passes"] = arrays.take("n_passes", (), np.int64, 0)
    return found


def audit_laws(problem: Problem, solver: Solver, state: State) -> None:
    """Check that every law is one, and that w and expected costs follow from them.

    `marginals` without scores returns the law of its prior, if that is a law.
    """
    state = cast(LawState, state)
    again, n = np.zeros_like(state.laws), problem.n_examples
    run, where, w = problem.bind(repeat_laws), places(problem), np.zeros(problem.n_weights)
    for first, last in problem.strides(0, n):
        run(
            problem.view, first, last, w, state.laws, again, where, problem.desk(),
            bench_of(problem),
        )  # fmt: skip
    if not np.allclose(again, state.laws, rtol=ROUNDING, atol=ROUNDING):
        raise ValueError("array 'laws' has cells that are the probabilities of no law")
    mended = copy.copy(state)
    mended.linear = np.zeros(n)
    sum_up(problem, mended)
    _compare(state, mended)


def audit_gibbs(problem: Problem, solver: Solver, state: State) -> None:
    """Check that expected parts, w and expected costs follow from the potentials."""
    state = cast(GibbsState, state)
    mended = copy.copy(state)
    mended.sums, mended.means = state.sums.copy(), np.zeros_like(state.means)
    cast(ExponentiatedGradient, solver).repair(problem, mended)
    if not np.isfinite(mended.means).all():
        raise ValueError("array 'sums' has potentials under which no output is allowed")
    check_close("means", state.means, mended.means)
    _compare(state, mended)


def _compare(state: Any, mended: Any) -> None:
    check_close("w", state.w, mended.w)
    check_close("linear", state.linear, mended.linear)


def audit_frank_wolfe(problem: Problem, solver: Solver, state: State) -> None:
    """Check that the mean of planes is nowhere above the risk, at w and at 0."""
    state = cast(FrankWolfeState, state)
    for w in (state.w, np.zeros(problem.n_weights)):
        plane = float(state.bounds[0]) - problem.lam * problem.inner(state.w, w)
        risk = problem.risk(w).value
        if not plane <= risk + ROUNDING * (1.0 + abs(risk)):
            raise ValueError("array 'bounds' has an offset that no plane below the losses has")


@jitable
def repeat_laws(
    problem: Any, first: int, last: int, w: Any, laws: Any, again: Any, where: Any, desk: Any,
    bench: Any,
) -> None:  # fmt: skip
    """Write the laws of examples first..last-1 whose priors are these laws, without scores."""
    for i in range(first, last):
        potentials(problem.data, i, w, 1.0, desk.theta)
        at = where.law_at[i]
        marginals(problem.data, i, desk.theta, bench.own, 1.0, laws, at, again, at)

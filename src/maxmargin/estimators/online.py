"""partial_fit: an online solver fed batch by batch."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from maxmargin.estimators.settings import check_number, resolve_solver
from maxmargin.problem import Problem, lam_from_C
from maxmargin.solvers import SOLVERS, Record, Result, Solver, State


def is_online(estimator: Any) -> bool:
    """Tell whether an estimator's solver can go batch by batch; if not, say which can."""
    solver = resolve_solver(estimator.solver)
    if not solver.is_online:
        online = [name for name, cls in SOLVERS.items() if cls.is_online]
        raise AttributeError(
            f"solver {solver.name!r} is not online, so there is no partial_fit. Online solvers: "
            f"{', '.join(map(repr, online)) or 'none'}."
        )
    return True


def batch_lam(estimator: Any, solver: Solver, lam: float | None, n_total: int | None) -> float:
    """Return the regularisation of a batch."""
    if lam is not None and n_total is not None:
        raise ValueError("partial_fit takes lam or n_total, not both.")
    if lam is not None:
        return check_number("lam", lam)
    if n_total is not None:
        return lam_from_C(
            estimator.C, check_number("n_total", n_total, 1, closed=True, integer=True)
        )
    if solver.minimizes:
        raise ValueError(
            f"solver {solver.name!r} needs the regularisation: give partial_fit lam, or n_total, "
            "the number of examples there will be in all."
        )
    return 1.0  # read by nobody


class OnlineRun:
    """The state of an online solver between two batches."""

    def __init__(self, solver: Solver, rng: np.random.Generator) -> None:
        self.solver = solver
        self.rng = rng
        self.state: State | None = None
        self.lam = np.nan
        self.n_oracle_calls = 0
        self.seconds = 0.0
        self.history: list[Record] = []

    def advance(self, problem: Problem) -> Result:
        """Make one pass over a batch."""
        started = time.perf_counter()
        if self.state is None:
            self.state = self.solver.start(problem)
        elif problem.lam != self.lam:
            self.solver.adapt(problem, self.state, self.lam)
        self.lam = problem.lam
        self.solver.advance(problem, self.state, self.rng)
        w = self.solver.iterates(problem, self.state)[0][0].copy()
        self.n_oracle_calls += problem.n_oracle_calls
        self.seconds += time.perf_counter() - started
        nan = float("nan")
        n = len(self.history) + 1
        self.history.append(Record(n, nan, nan, nan, self.n_oracle_calls, self.seconds))
        # One pass is all that was asked for.
        return Result(
            w, nan, nan, nan, "max_iter", n, self.n_oracle_calls, self.seconds,
            list(self.history), self.solver.name,
        )  # fmt: skip

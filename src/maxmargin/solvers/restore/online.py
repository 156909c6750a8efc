"""States of online solvers from a file: sums and clocks, and no dual."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.solvers.contract import Solver
from maxmargin.solvers.restore.checked import Arrays
from maxmargin.solvers.restore.shared import (
    vector,
)


def check_sgd(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return the arrays of SGD, if its clock is that of this problem."""
    found = {name: vector(problem, arrays, name) for name in ("w", "total")}
    found["lag"] = _lag(problem, solver, arrays)
    found["clock"] = arrays.take("clock", (6,), low=0.0)
    t, t0, lam, area, rate, scale = found["clock"].tolist()
    if lam != problem.lam or t != int(t) or rate != (cast(Any, solver).rate or 0.0):
        raise ValueError("array 'clock' must begin with the steps; lam and the rate are the run's")
    is_fixed = rate > 0.0
    if (t0 != 0.0 or not 0.0 < scale <= 1.0) if is_fixed else (t0 < 1.0 or area <= 0.0):
        raise ValueError("array 'clock' must have a first step and an area, or a rate and a scale")
    return found


def check_perceptron(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return the arrays of a perceptron."""
    found = {"w": vector(problem, arrays, "w"), "lag": _lag(problem, solver, arrays)}
    found["clock"] = arrays.take("clock", (1,), np.int64, 0)
    return found


def _lag(problem: Problem, solver: Solver, arrays: Arrays) -> np.ndarray:
    size = problem.n_weights if cast(Any, solver).average else 0
    return arrays.take("lag", (size,))

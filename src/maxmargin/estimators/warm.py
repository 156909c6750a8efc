"""Going on where an earlier fit ended."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np

from maxmargin.problem import Problem
from maxmargin.solvers import Result, Solver, State


def fingerprint(problem: Problem) -> str:
    """Return a hash of all that a dual depends on: data, cost, surrogate and weights, not lam.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.estimators.warm import digest
    >>> digest(np.arange(3)) == digest(np.arange(3)), digest(np.arange(3)) == digest(np.ones(3))
    (True, False)
    """
    view = problem.view
    return digest((view.data, view.cost, view.surrogate, view.search, view.weight))


def digest(value: Any) -> str:
    """Return a hash of arrays, numbers, text, tuples and lists of them, and picklable objects."""
    hasher = hashlib.blake2b(digest_size=16)
    _feed(hasher, value)
    return hasher.hexdigest()


def _feed(hasher: Any, value: Any) -> None:
    if isinstance(value, (tuple, list)):
        hasher.update(f"{type(value).__name__}{len(value)}".encode())
        for item in value:
            _feed(hasher, item)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        hasher.update(f"{value.dtype.str}{value.shape}".encode())
        hasher.update(np.ascontiguousarray(value).data)
    elif isinstance(value, (str, int, float, bool, type(None), np.generic)):
        hasher.update(f"{type(value).__name__}{value!r};".encode())
    else:
        hasher.update(str(joblib.hash(value)).encode())


@dataclass
class Memory:
    """What a fit leaves for the next one."""

    fingerprint: str
    solver: Solver
    lam: float
    state: State
    w: np.ndarray

    @classmethod
    def of(cls, problem: Problem, solver: Solver, state: State, result: Result) -> Memory:
        """Remember a fit."""
        return cls(fingerprint(problem), solver, problem.lam, state, result.w)


def recall(
    estimator: Any, problem: Problem, solver: Solver, before: tuple[Memory, Any] | None
) -> tuple[State | None, np.ndarray | None]:
    """Return (state, w) for a run to begin with; warn where the dual could not be kept."""
    if before is None or not estimator.warm_start:
        return None, None
    memory, layout = before
    if layout != estimator._layout():
        _warn("The classes or features differ from those of the last fit: starting anew.")
        return None, None
    if memory.solver != solver:
        _warn("The solver differs from that of the last fit: w is kept, the dual restarts.")
        return None, memory.w
    if memory.fingerprint != fingerprint(problem):
        _warn("The data differ from those of the last fit: w is kept, the dual restarts.")
        return None, memory.w
    if memory.lam != problem.lam:
        solver.adapt(problem, memory.state, memory.lam)
    return memory.state, None


def _warn(message: str) -> None:
    warnings.warn(f"warm_start: {message}", UserWarning, stacklevel=4)

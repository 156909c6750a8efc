"""Going on where an earlier fit ended."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import joblib
import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.solvers import Solver, State

#: The state at which a run goes on; and weights to begin with, if there is no such state.
Recalled: TypeAlias = "tuple[State | None, np.ndarray | None]"


def fingerprint(problem: Problem, given: tuple[Any, ...] = ()) -> str:
    """Return a hash of all that a dual depends on: data, cost, surrogate and weights, not lam.

    Of the search only its kind is hashed: what it remembers changes from pass to pass. ``given`` is
    what the solver was given besides the problem (`Solver.given`).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.training.warm import digest
    >>> digest(np.arange(3)) == digest(np.arange(3)), digest(np.arange(3)) == digest(np.ones(3))
    (True, False)
    """
    view = problem.view
    parts = (view.data, view.cost, view.surrogate, type(view.search).__name__, view.weight)
    return digest((*parts, *given))


def digest(value: Any) -> str:
    """Return a hash of arrays, numbers, text, tuples and lists of them, and picklable objects."""
    hasher = hashlib.blake2b(digest_size=16)
    _feed(hasher, value)
    return hasher.hexdigest()


def _feed(hasher: Any, value: Any) -> None:
    if hasattr(value, "identity"):  # features by a kernel: what is cached of them changes
        _feed(hasher, value.identity())
    elif isinstance(value, (tuple, list)):
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


class Start(NamedTuple):
    """What identifies a fit, for the next one to compare; recorded before the run."""

    fingerprint: str
    layout: Any
    solver: Solver
    lam: float
    #: The factor of each weight that makes it fit the features as the user gave them; None: all 1.
    units: np.ndarray | None = None

    @classmethod
    def of(cls, estimator: Any, problem: Problem, solver: Solver) -> Start:
        """Return it for a fit that is about to run."""
        try:
            mark = fingerprint(problem, solver.given())
        except Exception as error:  # whatever a user's object raises when it is pickled
            structure = type(estimator._structure()).__name__
            raise TypeError(
                "warm_start=True tells data apart by a hash of them, for which the structure, X "
                f"and y must be picklable; with this {structure} they are not ({error})."
            ) from error
        return cls(mark, estimator._layout(), solver, problem.lam, estimator._units())


@dataclass
class Memory:
    """What a fit leaves for the next one."""

    start: Start
    state: State
    w: np.ndarray


def recall(memory: Memory | None, start: Start, problem: Problem) -> Recalled:
    """Return (state, w) for a run to begin with; warn where the dual could not be kept."""
    if memory is None:
        return None, None
    before, solver = memory.start, start.solver
    if before.layout != start.layout:
        _warn("The classes or features differ from those of the last fit: starting anew.")
        return None, None
    is_same = before.solver == solver and before.fingerprint == start.fingerprint
    if not is_same and not (before.solver.has_dense_weights and solver.has_dense_weights):
        _warn("The solver or the data differ from those of the last fit: starting anew.")
        return None, None
    if not is_same:
        what = "solver differs from that" if before.solver != solver else "data differ from those"
        w = _in_units(memory.w, before.units, start.units)
        if not np.isfinite(w).all():
            _warn("The scales of the features differ too much from those of the last fit: starting "
                  "anew.")  # fmt: skip
            return None, None
        _warn(f"The {what} of the last fit: w is kept, the dual restarts.")
        return None, w
    if before.lam != start.lam:
        solver.engine(problem).adapt(problem, memory.state, before.lam)
    return memory.state, None


def _in_units(w: np.ndarray, old: np.ndarray | None, new: np.ndarray | None) -> np.ndarray:
    """Return the weights in the new units: scores of the features as given stay the same."""
    if old is None or new is None:
        return w
    with np.errstate(over="ignore", invalid="ignore"):
        return w * (old / new)


def _warn(message: str) -> None:
    warnings.warn(f"warm_start: {message}", UserWarning, stacklevel=5)

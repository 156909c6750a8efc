"""States of solvers over listed outputs from a file: coefficients, planes, and w their sum."""

from __future__ import annotations

from typing import cast

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.solvers.contract import Solver, State
from maxmargin.solvers.listed import dual as listed
from maxmargin.solvers.listed.dual import ListedState
from maxmargin.solvers.restore.checked import Arrays
from maxmargin.solvers.restore.shared import (
    ROUNDING,
    bound,
    check_close,
    gaps,
    vector,
)


def check_listed(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return the arrays of listed outputs, if they are those of this problem."""
    own = listed.new_state(problem).arrays()
    found = {name: arrays.take(name, own[name].shape) for name in ("beta", "slope", "offset")}
    found["linear"] = arrays.take("linear", (problem.n_examples,))
    found["gap"] = gaps(problem, arrays, "gap")
    found["w"] = vector(problem, arrays, "w")
    found["pace"] = own["pace"]
    if "pace" in arrays:  # older files have none
        found["pace"] = _pace(arrays.take("pace", (2,), finite=False))
    for name in ("w_mean", "offer"):
        found[name] = vector(problem, arrays, name, maybe=True)
    if problem.is_linear:  # then planes are never turned
        for name in ("slope", "offset"):
            if not np.array_equal(found[name], own[name]):
                raise ValueError(f"array {name!r} is not that of the losses of the outputs")
    elif (found["slope"] < 0.0).any():
        raise ValueError("array 'slope' must be >= 0 everywhere")
    return found


def _pace(pace: np.ndarray) -> np.ndarray:
    """Check the gap that the last pass met, infinite before the first, and sigma."""
    if not ((pace >= 0.0).all() and np.isfinite(pace[1])):
        raise ValueError(f"array 'pace' must be a gap and a number >= 0, got {pace.tolist()}")
    return pace


def audit_listed(problem: Problem, solver: Solver, state: State) -> None:
    """Check coefficients, w and the linear part against what they are computed from."""
    state = cast(ListedState, state)
    mended = ListedState(state.w.copy(), state.beta.copy(), state.slope.copy(), state.offset.copy())
    parts, n_cells = listed.blocks_of(problem, mended), mended.beta.size
    bends, y = not problem.is_linear, problem.desk().y
    bound(problem, listed.mend, n_cells)(problem.view, bends, parts, y)
    mended.w = np.zeros(problem.n_weights)
    factor = 1.0 / (problem.lam * problem.n_examples)
    bound(problem, listed.sum_listed, n_cells)(problem.view, factor, parts, mended.w)
    if not np.allclose(state.beta, mended.beta, rtol=ROUNDING, atol=ROUNDING):
        raise ValueError("array 'beta' has coefficients that are below 0 or do not sum to 1")
    # The offsets that belong to the slopes are the largest possible: the state's are no larger.
    room = ROUNDING * (1.0 + np.abs(mended.linear))
    if not (state.linear <= mended.linear + room).all():
        raise ValueError("array 'linear' is above what the losses of the outputs allow")
    check_close("w", state.w, mended.w)

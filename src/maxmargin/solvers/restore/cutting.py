"""States of cutting planes from a file: no plane is above the risk where it is known."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from maxmargin.core.contract import (
    times_metric,
)
from maxmargin.core.problem import Problem
from maxmargin.solvers.contract import Solver, State
from maxmargin.solvers.cutting.one_slack import OneSlackState
from maxmargin.solvers.cutting.one_slack_rows import MET, OneSlackRows, OneSlackRowsState
from maxmargin.solvers.restore.checked import Arrays
from maxmargin.solvers.restore.shared import (
    ROUNDING,
    check_close,
    vector,
)


def check_planes(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return the arrays of cutting planes, if their shapes and bounds go together."""
    found = {"offset": arrays.take("offset", (None,))}
    m, d = len(found["offset"]), problem.n_weights
    found["alpha"] = arrays.take("alpha", (m,), low=0.0)
    found["idle"] = arrays.take("idle", (m,), np.int64, 0)
    found["noise"] = arrays.take("noise", (m,), low=0.0)
    found["gram"] = arrays.take("gram", (m, m))
    found["w"], found["best"] = vector(problem, arrays, "w"), vector(problem, arrays, "best")
    found["bounds"] = arrays.take("bounds", (4,), finite=False)
    upper, lower, share, noise = found["bounds"].tolist()
    is_run = 0.0 <= lower < math.inf and upper > -math.inf and 0.0 < share <= 1.0
    if m < 1 or not (is_run and 0.0 <= noise < math.inf):
        raise ValueError("array 'bounds' must be the bounds of a run")
    if isinstance(listed_planes(d), dict):
        found |= _sparse_planes(arrays, m, d)
    else:
        found["planes"] = arrays.take("planes", (m, d))
    return found


def listed_planes(n_weights: int) -> dict[str, np.ndarray] | None:
    """Return the arrays of the first plane where planes this long are kept as lists; else None."""
    from maxmargin.solvers.cutting.planes import SparsePlanes, zero_plane

    planes = zero_plane(n_weights)
    return planes.arrays() if isinstance(planes, SparsePlanes) else None


def _sparse_planes(arrays: Arrays, m: int, d: int) -> dict[str, np.ndarray]:
    ends = arrays.take("planes.ends", (m,), np.int64, 0)
    values = arrays.take("planes.values", (None,))
    indices = arrays.take("planes.indices", values.shape, np.int64, 0, d)
    if not (np.diff(ends) >= 0).all() or ends[-1] != len(values):
        raise ValueError("array 'planes.ends' must rise to the number of values")
    return {"planes.ends": ends, "planes.values": values, "planes.indices": indices}


def check_planes_rows(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return the arrays of planes and hard rows; the weights kept must miss no row."""
    found = check_planes(problem, solver, arrays)
    rows = cast(OneSlackRows, solver).rows
    n_rows = len(rows.margins(found["w"]))
    found["row"] = arrays.take("row", found["offset"].shape, np.int64, -1, n_rows)
    found["kept"] = vector(problem, arrays, "kept")
    if not rows.margins(found["kept"]).min() >= 1.0 - 2.0 * MET:
        raise ValueError("array 'kept' misses a row")
    found["numbers"] = arrays.take("numbers", (2,), finite=False)
    primal, is_kept = found["numbers"].tolist()
    if not primal > -math.inf or is_kept not in (0.0, 1.0):
        raise ValueError("array 'numbers' must be a primal and 0 or 1")
    return found


def audit_cuts(problem: Problem, solver: Solver, state: State) -> None:
    """Check planes against the risk where it is known, and their Gram matrix against the planes.

    A plane is a mean over all examples, and a file does not say of which outputs. But at the
    weights of the state no plane may be above the risk.
    """
    state = cast(OneSlackState, state)
    m = len(state.offset)
    is_row = state.row >= 0 if isinstance(state, OneSlackRowsState) else np.zeros(m, dtype=bool)
    units = np.eye(m)
    vectors = [state.planes.combine(unit) for unit in units] if m * m < 10**6 else []
    if state.offset[0] != 0.0 or state.planes.combine(units[0]).any():
        raise ValueError("the first plane must be 0")
    metric = problem.regularizer
    gram = np.array([state.planes.products(times_metric(metric, v)) for v in vectors])
    if vectors:
        check_close("gram", state.gram[:m, :m], gram)
    for k in np.flatnonzero(is_row):
        row = -cast(OneSlackRows, solver).rows.signed(int(cast(Any, state).row[k]))
        if state.offset[k] != 1.0 or not np.array_equal(state.planes.combine(units[k]), row):
            raise ValueError(f"plane {k} is not the row that it says")
    if not abs(float(state.alpha[~is_row].sum()) - 1.0) <= ROUNDING:
        raise ValueError("the coefficients of its planes do not sum to 1")
    for w in (state.w, state.best):
        risk = problem.risk(w).value
        height = state.offset + state.planes.products(times_metric(metric, w))
        room = ROUNDING * (1.0 + abs(risk) + np.abs(state.offset))
        if (height > risk + room)[~is_row].any():
            raise ValueError("a plane of its state is above the losses")

"""States under the shared norm from a file, each in the norm of its own weights of nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.regularizers.hierarchy import HierarchyPaths
from maxmargin.solvers.contract import Solver, State
from maxmargin.solvers.restore.checked import Arrays
from maxmargin.solvers.restore.shared import ROUNDING
from maxmargin.solvers.shared import FLOOR, PEAK, divided

Check = Callable[[Problem, Solver, Arrays], dict[str, np.ndarray]]
Audit = Callable[[Problem, Solver, State], None]


def with_alpha(check: Check) -> Check:
    """Return the check of a state with weights of nodes, and a peak where it has one."""

    def checked(problem: Problem, solver: Any, arrays: Arrays) -> dict[str, np.ndarray]:
        own, peak = divided(arrays.rest())
        found = _checked_point(problem, solver, Arrays(own))
        if peak:
            of_peak = _checked_point(problem, solver, Arrays(peak))
            found |= {f"{PEAK}{name}": array for name, array in of_peak.items()}
        return found

    def _checked_point(problem: Problem, solver: Any, arrays: Arrays) -> dict[str, np.ndarray]:
        alpha = arrays.take("alpha", (len(solver.paths.columns),))
        _check_alpha(solver.paths, alpha)
        found = check(problem, solver, arrays)
        arrays.close()
        return {**found, "alpha": alpha}

    return checked


def at_alpha(audit: Audit) -> Audit:
    """Return the audit of a state and of its peak, each in the norm of its own weights of nodes."""

    def audited(problem: Problem, solver: Any, state: Any) -> None:
        for point in (state.peak, state):  # the problem is left at the weights of the state
            solver.use(problem, point)
            audit(problem, solver, point)

    return audited


def _check_alpha(paths: HierarchyPaths, alpha: np.ndarray) -> None:
    """Refuse weights outside of S; of a node without weight the dual could not be told from w."""
    if alpha[paths.columns < 0].any():
        raise ValueError("array 'alpha' has a weight at a node that no label is told apart by")
    if not (alpha[paths.columns >= 0] >= 0.5 * FLOOR).all():
        raise ValueError(f"array 'alpha' has a weight below {FLOOR:g}")
    if float((paths.matrix @ paths.sums_of(alpha)).max(initial=0.0)) > 1.0 + ROUNDING:
        raise ValueError("array 'alpha' sums to more than 1 along a path")

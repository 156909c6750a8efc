"""How HiGHS is asked: its options, a run that does not give up at once, and scaled prices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["OPTIONS", "is_feasible", "limit_time", "run", "scaled"]

OPTIONS = {
    "output_flag": False,
    "threads": 1,
    "parallel": "off",
    "random_seed": 0,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "mip_feasibility_tolerance": 1e-9,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 0.0,
}

#: Statuses of HiGHS by their names, since HiGHS itself is imported when it is used.
_STATUS = {
    "kOptimal": "optimal",
    "kTimeLimit": "time_limit",
    "kInfeasible": "infeasible",
    # All variables lie between 0 and 1, so no programme is unbounded.
    "kUnboundedOrInfeasible": "infeasible",
}


def run(highs: Any) -> str:
    """Solve the model; return "optimal", "time_limit" or "infeasible"."""
    if highs.run().name == "kError":
        # HiGHS has one pool of threads per process. If other code has set its size, use that.
        highs.setOptionValue("threads", 0)
        highs.run()
    found = highs.getModelStatus()
    if found.name not in _STATUS:
        # The basis may have become singular: solve again without a basis.
        highs.clearSolver()
        highs.run()
        found = highs.getModelStatus()
    if found.name not in _STATUS:
        raise RuntimeError(f"HiGHS gave up: {highs.modelStatusToString(found)}.")
    return _STATUS[found.name]


def limit_time(highs: Any, seconds: float | None, integral: bool) -> None:
    """Let the next run take so many seconds; None for no limit.

    The clock of linear programmes goes on from run to run, that of integer programmes begins anew.
    """
    if seconds is None:
        highs.setOptionValue("time_limit", math.inf)
    else:
        passed = 0.0 if integral else highs.getRunTime()
        highs.setOptionValue("time_limit", passed + float(seconds))


def is_feasible(info: Any) -> bool:
    """Return whether HiGHS has a feasible solution."""
    from highspy import SolutionStatus

    return bool(info.primal_solution_status == int(SolutionStatus.kSolutionStatusFeasible))


def scaled(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], float]:
    """Return values / factor and factor, the power of two that makes the largest size 1/2 to 1.

    To divide by a power of two is exact.
    """
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return values, 1.0
    factor = 2.0 ** min(math.frexp(largest)[1], 1023)
    return values / factor, factor

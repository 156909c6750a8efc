"""What users are told when a run ends short of its tolerance: the gap, why, and a remedy."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from maxmargin.solvers.contract import Solver
from maxmargin.solvers.result import Result, relative


def warn_of_ending(result: Result, solver: Solver, tol: float, was_interrupted: bool) -> None:
    """Warn of a run that ended short of its tolerance; the warning names the caller of `run`."""
    if result.status == "oracle_bound":
        warnings.warn(
            f"{solver.name} stopped after {result.n_iter} passes at relative gap "
            f"{result.relative_gap:.3g}, above tol={tol:g}, because the search only bounds the "
            f"losses{_bound_share(result)}. Choose an exact search or oracle (a structure of your "
            "own: maximize with forbid), the relaxed objective, or accept a larger tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    if result.status == "rounding":
        warnings.warn(
            f"{solver.name} stopped after {result.n_iter} passes at relative gap "
            f"{result.relative_gap:.3g}, above tol={tol:g}, at the limit of rounding: "
            f"{relative(result.rounding, result.primal):.3g} of it is what rounding can hide. "
            "Scale the features, lower C, or accept a larger tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    if solver.minimizes and result.status in ("max_iter", "time_budget") and result.is_certified:
        warnings.warn(
            f"{solver.name} stopped after {result.n_iter} passes ({result.status}) at relative gap "
            f"{result.relative_gap:.3g}, above tol={tol:g}{_bound_share(result)}: scale the "
            "features or lower C, raise max_iter or time_budget, or accept a larger tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    if was_interrupted:
        warnings.warn(
            f"{solver.name} was interrupted after {result.n_iter} passes, and the best weights so "
            "far are kept; whatever called it goes on.",
            ConvergenceWarning,
            stacklevel=4,
        )


def _bound_share(result: Result) -> str:
    """Say which part of the gap is a bound of the search, which more training cannot reduce."""
    share = relative(result.search_gap, result.primal)
    if share <= 1e-9:  # rounding
        return ""
    return (
        f"; {share:.3g} of the gap ({share / result.relative_gap:.0%} of it) is the bound of the "
        f"search, which left {result.n_open} examples open; further passes may not take it off"
    )

"""What solvers need of surrogate, data and regulariser: compared here, for all of them.

Estimators ask before any work, as far as the surrogate tells, and again when the data are known.
`run` asks once more, because a problem need not come from an estimator, and it alone has a
regulariser.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from maxmargin.core.contract import capabilities, has, listed_gram, metric, name_of
from maxmargin.core.problem import Problem
from maxmargin.solvers.contract import Solver

#: What a solver may need, in the words of errors; other needs go by their own names.
_WORDS = {
    "convex": "a loss that is convex",
    "linear": "a loss that is affine in the margin error",
    "unit_slope": "a loss of slope 1",
    "listed": "outputs that can be listed",
    "marginals": "expectations of outputs (marginals)",
    "paths": "one path of a forest per example",
    "euclidean": "the Euclidean norm",
    "rows": "features in rows, not a kernel of them",
}
#: Needs that a surrogate meets, by its attribute that says so. The regulariser meets "euclidean",
#: or the data do if they list inner products in their own norm (`listed_gram`). The data meet the
#: others.
_FLAGS = {"convex": "is_convex", "linear": "is_linear", "unit_slope": "has_unit_slope"}


def check_fit_together(solver: Solver, surrogate: Any, data: Any = None, cost: Any = None) -> None:
    """Refuse a solver whose needs are not met under the norm of the data; say which would do.

    If no data are given, only the needs that a surrogate meets are checked.

    Examples
    --------
    >>> from maxmargin.solvers import PartialLinearization
    >>> from maxmargin.surrogates import MarginRescaling
    >>> from maxmargin.testing import tiny_problem
    >>> view = tiny_problem("ranking").view
    >>> check_fit_together(PartialLinearization(), MarginRescaling(), view.data, view.cost)
    Traceback (most recent call last):
    ValueError: PartialLinearization needs expectations of outputs (marginals), which ...
    """
    offered = None if data is None else capabilities(data, cost)
    lacking = lacking_needs(solver, surrogate, offered)
    if lacking:
        culprit = type(surrogate).__name__ if lacking[0] in _FLAGS else name_of(data)
        fitting = [name for name, kind in _solvers() if not lacking_needs(kind, surrogate, offered)]
        raise _refusal(solver, lacking[0], culprit, fitting)


def lacking_needs(
    solver: Solver | type[Solver], surrogate: Any, offered: frozenset[str] | None
) -> list[str]:
    """Return what a solver needs and neither the surrogate nor the data have.

    ``offered`` is what the data have; None, before they are known, stands for all.
    """
    met = {need for need, flag in _FLAGS.items() if getattr(surrogate, flag, False)}
    met.add("euclidean")  # estimators have no other norm than that of their data
    known = solver.needs & _FLAGS.keys() if offered is None else solver.needs - offered
    return sorted((known - met) | _lacking_rows(solver, offered or frozenset()))


def check_problem(solver: Solver, problem: Problem) -> None:
    """Refuse a solver that a problem does not fit; say which would do."""
    met = set(problem.capabilities)
    met.add("unit_slope")  # a problem does not know that of its surrogate
    met.update(need for need in ("convex", "linear", "euclidean") if _is(problem, need))
    data = problem.view.data
    if has(listed_gram, type(data)) and type(problem.regularizer) is type(metric(data)):
        met.add("euclidean")
    if problem.kernel is not None:
        met.add("euclidean")  # who takes kernels takes their norm
    lacking = sorted((solver.needs - met) | _lacking_rows(solver, met))
    if lacking:
        culprits = dict.fromkeys(_FLAGS, "the surrogate")
        culprits["euclidean"] = f"the regularizer {type(problem.regularizer).__name__}"
        culprit = culprits.get(lacking[0]) or name_of(data)
        fitting = [
            name for name, kind in _solvers() if kind.needs <= met and not _lacking_rows(kind, met)
        ]
        raise _refusal(solver, lacking[0], culprit, fitting)


def _lacking_rows(solver: Solver | type[Solver], offered: Set[str]) -> set[str]:
    """Return "rows" as a need if the data have a kernel in their place, and the solver no use."""
    return set() if solver.takes_kernels or "kernel" not in offered else {"rows"}


def _is(problem: Problem, need: str) -> bool:
    return bool(getattr(problem, f"is_{need}"))


def _solvers() -> Any:
    from maxmargin.solvers import SOLVERS  # here, because that module imports this one

    return SOLVERS.items()


def _refusal(solver: Solver, need: str, culprit: str, fitting: list[str]) -> ValueError:
    return ValueError(
        f"{type(solver).__name__} needs {_WORDS.get(need, need)}, which {culprit} does not "
        f"provide. Solvers that fit: {', '.join(fitting) or 'none'}."
    )

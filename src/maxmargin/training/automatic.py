"""What ``solver="auto"`` stands for, decided here for every estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from maxmargin.core.contract import capabilities, kernel_use, name_of
from maxmargin.solvers import SDCA, SGD, BlockFrankWolfe, NSlack, OneSlack, Solver
from maxmargin.solvers.needs import check_fit_together, lacking_needs
from maxmargin.training.settings import (
    Settings,
    knows_enough,
    resolve_search,
    resolve_surrogate,
)
from maxmargin.training.task import Task

#: The solvers that "auto" tries, best first. OneSlack, with planes over all examples together, is
#: best where examples are few and long. SDCA, with exact steps over all outputs, is fastest where
#: outputs can be listed. BlockFrankWolfe needs a convex loss, NSlack also knows the slack of each
#: example, and SGD needs nothing.
LONG_EXAMPLES = (OneSlack(inwards=True),)
ANY_EXAMPLES = (SDCA(), BlockFrankWolfe(), NSlack(), SGD())


def is_automatic(solver: Any) -> bool:
    """Tell whether the parameter `solver` is "auto"."""
    return isinstance(solver, str) and solver == "auto"


def automatic_solver(estimator: Any, offered: frozenset[str] = frozenset()) -> Solver:
    """Return the solver that "auto" stands for: the first that fits what is to be learnt.

    ``offered`` is what the data offer; None before the data are known.

    ===========================================  ==========================
    rankings                                     ``OneSlack(inwards=True)``
    outputs that can be listed, such as classes  ``SDCA()``
    all others                                   ``BlockFrankWolfe()``
    searches that ask for a known slack          ``NSlack()``
    losses that are not convex                   ``SGD()``, no certificate
    ===========================================  ==========================

    Examples
    --------
    >>> from maxmargin import ChainSVM, MulticlassSVM
    >>> from maxmargin.surrogates import ProbLoss
    >>> automatic_solver(ChainSVM()).name
    'bcfw'
    >>> automatic_solver(MulticlassSVM(), frozenset({"listed"})).name
    'sdca'
    >>> automatic_solver(MulticlassSVM(surrogate=ProbLoss(convex=False))).name
    'sgd'
    """
    surrogate, search = resolve_surrogate(estimator.surrogate), resolve_search(estimator.search)
    solvers: tuple[Solver, ...] = (
        (*LONG_EXAMPLES, *ANY_EXAMPLES) if estimator.has_long_examples else ANY_EXAMPLES
    )
    if offered is not None and "listed" not in offered:
        solvers = tuple(solver for solver in solvers if not isinstance(solver, SDCA))
    fitting = [solver for solver in solvers if not lacking_needs(solver, surrogate, offered)]
    informed = [solver for solver in fitting if knows_enough(solver, search)]
    return (informed or fitting)[0]


def settle(estimator: Any, settings: Settings, task: Task) -> tuple[Settings, Task]:
    """Return settings and task as they are solved: "auto" resolved, and the solver's needs met."""
    if is_automatic(estimator.solver):
        solver = automatic_solver(estimator, capabilities(task.data, task.cost))
        settings = replace(settings, solver=solver)
    check_fit_together(settings.solver, settings.surrogate, task.data, task.cost)
    if getattr(estimator, "kernel", None) is not None and kernel_use(task.data) is None:
        raise ValueError(
            f"kernel={estimator.kernel!r} does not go with {name_of(task.data)}, which reads "
            "features: take another inference, or kernel=None."
        )
    return estimator._stage(settings, task)

"""What ``solver="auto"`` stands for, decided here for every estimator."""

from __future__ import annotations

from typing import Any

from maxmargin.solvers import SDCA, SGD, BlockFrankWolfe, NSlack, OneSlack, Solver
from maxmargin.training.settings import (
    knows_enough,
    lacking_needs,
    resolve_search,
    resolve_surrogate,
)

#: Best first. Planes of all examples together say more where examples are few and long. Exact steps
#: over all outputs are fastest where these can be listed. Block steps need a convex loss, NSlack
#: also knows the slack of each example, and SGD needs nothing.
LONG_EXAMPLES = (OneSlack(inwards=True),)
ANY_EXAMPLES = (SDCA(), BlockFrankWolfe(), NSlack(), SGD())


def is_automatic(solver: Any) -> bool:
    """Tell whether the choice is left to us."""
    return isinstance(solver, str) and solver == "auto"


def automatic_solver(estimator: Any) -> Solver:
    """Return the solver that "auto" stands for: the first that fits what is to be learnt.

    ===========================================  ==========================
    rankings                                     ``OneSlack(inwards=True)``
    outputs that can be listed, such as classes  ``SDCA()``
    all others                                   ``BlockFrankWolfe()``
    searches that ask for a known slack          ``NSlack()``
    losses that are not convex                   ``SGD()``, no certificate
    ===========================================  ==========================

    Examples
    --------
    >>> from maxmargin import ChainSVM, MulticlassSVM, ProbLoss
    >>> [automatic_solver(kind()).name for kind in (ChainSVM, MulticlassSVM)]
    ['bcfw', 'sdca']
    >>> automatic_solver(MulticlassSVM(surrogate=ProbLoss(convex=False))).name
    'sgd'
    """
    surrogate, search = resolve_surrogate(estimator.surrogate), resolve_search(estimator.search)
    structure = estimator._structure()
    solvers = (*LONG_EXAMPLES, *ANY_EXAMPLES) if estimator.has_long_examples else ANY_EXAMPLES
    fitting = [solver for solver in solvers if not lacking_needs(solver, surrogate, structure)]
    informed = [solver for solver in fitting if knows_enough(solver, search)]
    return (informed or fitting)[0]

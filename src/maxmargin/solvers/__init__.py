"""Solvers: one algorithm a file; the loop around them is `run`."""

from __future__ import annotations

from maxmargin.solvers.base import Progress, Solver, State
from maxmargin.solvers.bcfw import BlockFrankWolfe
from maxmargin.solvers.n_slack import NSlack
from maxmargin.solvers.one_slack import OneSlack
from maxmargin.solvers.perceptron import Perceptron
from maxmargin.solvers.result import Record, Result
from maxmargin.solvers.run import Iteration, Snapshot, run
from maxmargin.solvers.sdca import SDCA
from maxmargin.solvers.sgd import SGD

#: Solvers by name. A new one is a file of its own and a line here.
SOLVERS: dict[str, type[Solver]] = {
    "bcfw": BlockFrankWolfe,
    "sdca": SDCA,
    "one_slack": OneSlack,
    "n_slack": NSlack,
    "sgd": SGD,
    "perceptron": Perceptron,
}

__all__ = [
    "SDCA",
    "SGD",
    "SOLVERS",
    "BlockFrankWolfe",
    "Iteration",
    "NSlack",
    "OneSlack",
    "Perceptron",
    "Progress",
    "Record",
    "Result",
    "Snapshot",
    "Solver",
    "State",
    "run",
]

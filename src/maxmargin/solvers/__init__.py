"""Solvers: one algorithm per file; the loop around them is `run`."""

from __future__ import annotations

from maxmargin.solvers.blocks.bcfw import BlockFrankWolfe
from maxmargin.solvers.contract import Progress, Solver, State
from maxmargin.solvers.cutting.n_slack import NSlack
from maxmargin.solvers.cutting.one_slack import OneSlack
from maxmargin.solvers.events import Iteration, Snapshot
from maxmargin.solvers.listed.sdca import SDCA
from maxmargin.solvers.listed.sparse.sparse_sdca import SparseSDCA
from maxmargin.solvers.marginal.exponentiated_gradient import ExponentiatedGradient
from maxmargin.solvers.marginal.frank_wolfe import FrankWolfe
from maxmargin.solvers.marginal.mmcrf import MMCRF
from maxmargin.solvers.marginal.partial_linearization import PartialLinearization
from maxmargin.solvers.online.mira import MIRA
from maxmargin.solvers.online.perceptron import Perceptron
from maxmargin.solvers.online.sgd import SGD
from maxmargin.solvers.result import Record, Result
from maxmargin.solvers.run import run

#: Solvers by name. A new one is a file of its own and a line here.
SOLVERS: dict[str, type[Solver]] = {
    "bcfw": BlockFrankWolfe,
    "sdca": SDCA,
    "sparse_sdca": SparseSDCA,
    "one_slack": OneSlack,
    "n_slack": NSlack,
    "frank_wolfe": FrankWolfe,
    "partial_linearization": PartialLinearization,
    "exponentiated_gradient": ExponentiatedGradient,
    "mmcrf": MMCRF,
    "sgd": SGD,
    "perceptron": Perceptron,
    "mira": MIRA,
}

__all__ = [
    "MIRA",
    "MMCRF",
    "SDCA",
    "SGD",
    "SOLVERS",
    "BlockFrankWolfe",
    "ExponentiatedGradient",
    "FrankWolfe",
    "Iteration",
    "NSlack",
    "OneSlack",
    "PartialLinearization",
    "Perceptron",
    "Progress",
    "Record",
    "Result",
    "Snapshot",
    "Solver",
    "SparseSDCA",
    "State",
    "run",
]

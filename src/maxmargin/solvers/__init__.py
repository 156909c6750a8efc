"""Solvers: one algorithm a file; the loop around them is `run`."""

from __future__ import annotations

from maxmargin.solvers.base import Progress, Solver, State
from maxmargin.solvers.bcfw import BlockFrankWolfe
from maxmargin.solvers.result import Record, Result
from maxmargin.solvers.run import Iteration, Snapshot, run

#: Solvers by name. A new one is a file of its own and a line here.
SOLVERS: dict[str, type[Solver]] = {"bcfw": BlockFrankWolfe}

__all__ = [
    "SOLVERS",
    "BlockFrankWolfe",
    "Iteration",
    "Progress",
    "Record",
    "Result",
    "Snapshot",
    "Solver",
    "State",
    "run",
]

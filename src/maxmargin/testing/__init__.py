"""Checks for one's own structures, costs, surrogates and solvers, and the brute force behind them.

Each check runs on small cases where everything can be listed, and raises an AssertionError that
says which part of the contract is broken and shows where::

    from maxmargin.testing import check_structure
    check_structure(MyStructure(), X, Y, outputs=lambda i: all_outputs_of(X[i]))

Our own registries go through the same checks.
"""

from __future__ import annotations

from maxmargin.testing.clouds import cloud_problem
from maxmargin.testing.costs import check_cost
from maxmargin.testing.exact import Optimum, optimum
from maxmargin.testing.features import check_features
from maxmargin.testing.oracles import check_oracles
from maxmargin.testing.outputs import all_outputs
from maxmargin.testing.solvers import check_solver
from maxmargin.testing.structures import check_structure
from maxmargin.testing.surrogates import check_surrogate
from maxmargin.testing.tiny import tiny_cost, tiny_problem

__all__ = [
    "Optimum",
    "all_outputs",
    "check_cost",
    "check_features",
    "check_oracles",
    "check_solver",
    "check_structure",
    "check_surrogate",
    "cloud_problem",
    "optimum",
    "tiny_cost",
    "tiny_problem",
]

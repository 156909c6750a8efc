"""States of solvers that come from a file: which there can be, and what dual they prove."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.solvers.blocks import dual as block_dual
from maxmargin.solvers.blocks.bcfw import BlockState
from maxmargin.solvers.blocks.shared import SharedBlockState
from maxmargin.solvers.contract import Solver, State
from maxmargin.solvers.cutting.one_slack import OneSlack, OneSlackState
from maxmargin.solvers.cutting.one_slack_rows import OneSlackRowsState
from maxmargin.solvers.listed import dual as listed
from maxmargin.solvers.listed.dual import ListedState
from maxmargin.solvers.listed.shared import SharedState
from maxmargin.solvers.marginal.exponentiated_gradient import GibbsState
from maxmargin.solvers.marginal.frank_wolfe import FrankWolfeState
from maxmargin.solvers.marginal.laws import dual_value as law_dual
from maxmargin.solvers.marginal.mmcrf import MarginalState
from maxmargin.solvers.marginal.partial_linearization import LawState
from maxmargin.solvers.online.perceptron import PerceptronState
from maxmargin.solvers.online.sgd import SgdState
from maxmargin.solvers.restore.blocks import audit_blocks, check_blocks
from maxmargin.solvers.restore.checked import Arrays
from maxmargin.solvers.restore.cutting import audit_cuts, check_planes, check_planes_rows
from maxmargin.solvers.restore.listed import audit_listed, check_listed
from maxmargin.solvers.restore.marginal import (
    audit_frank_wolfe,
    audit_gibbs,
    audit_laws,
    audit_marginals,
    check_frank_wolfe,
    check_gibbs,
    check_laws,
    check_marginals,
)
from maxmargin.solvers.restore.online import check_perceptron, check_sgd
from maxmargin.solvers.restore.shared_norm import at_alpha, with_alpha
from maxmargin.solvers.shared import SharedNorm, SharedPoint


def checked_state(problem: Problem, solver: Solver, arrays: Arrays) -> State:
    """Return the state that a solver left, if it could have left it on this problem."""
    kind = solver.state_class
    if kind not in _CHECKS:  # a solver of a user's own
        return kind.from_arrays(arrays.rest())
    checked = _CHECKS[kind](problem, solver, arrays)
    arrays.close()
    state = kind.from_arrays(checked)
    if kind in _AUDITS:
        _AUDITS[kind](problem, solver, state)
    return state


def proved_dual(problem: Problem, solver: Solver, state: State) -> float:
    """Return the lower bound of the optimum that a checked state proves."""
    if isinstance(state, SharedPoint):
        return cast(SharedNorm, solver).proved(problem, state)
    if isinstance(state, BlockState):
        return block_dual.dual_value(problem, state.blocks, state.w)
    if isinstance(state, ListedState):
        return listed.dual_value(problem, state)
    if isinstance(state, LawState | GibbsState | MarginalState):
        return law_dual(problem, state.linear, state.w)
    if isinstance(state, FrankWolfeState):
        return state.dual(problem)
    if isinstance(state, OneSlackState):
        # The state's coefficients solve the master only to a tenth of the gap: solve it fully.
        trial = cast(Any, copy.deepcopy(state))
        trial.lower, trial.upper = -math.inf, math.inf
        if isinstance(trial, OneSlackRowsState):
            trial.primal = math.inf
        cast(OneSlack, solver)._solve_master(problem, trial)
        return float(trial.lower)
    return -math.inf if type(state) in _CHECKS else math.inf


_Check = Callable[[Problem, Solver, Arrays], dict[str, np.ndarray]]
_CHECKS: dict[type[State], _Check] = {
    BlockState: check_blocks,
    ListedState: check_listed,
    SharedState: with_alpha(check_listed),
    SharedBlockState: with_alpha(check_blocks),
    OneSlackState: check_planes,
    OneSlackRowsState: check_planes_rows,
    LawState: check_laws,
    GibbsState: check_gibbs,
    MarginalState: check_marginals,
    FrankWolfeState: check_frank_wolfe,
    SgdState: check_sgd,
    PerceptronState: check_perceptron,
}
_AUDITS: dict[type[State], Callable[[Problem, Solver, State], None]] = {
    BlockState: audit_blocks,
    ListedState: audit_listed,
    SharedState: at_alpha(audit_listed),
    SharedBlockState: at_alpha(audit_blocks),
    OneSlackState: audit_cuts,
    OneSlackRowsState: audit_cuts,
    LawState: audit_laws,
    GibbsState: audit_gibbs,
    MarginalState: audit_marginals,
    FrankWolfeState: audit_frank_wolfe,
}

"""MIRA, the passive-aggressive learner with one output per example, and its average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import add_difference, difference_square, find, potentials
from maxmargin.core.problem import Problem
from maxmargin.solvers.contract import Progress, Solver, State
from maxmargin.solvers.online.perceptron import PerceptronState


@dataclass(frozen=True)
class MIRA(Solver):
    """The least change of w that would remove the loss of an example, but no longer than C.

    At example i with the most violating output y, of loss h + g > 0,

        w += tau s_i Psi_i(y),    tau = min(C, (h + g) / |Psi_i(y)|^2),

    which is PA-I of Crammer et al. (2006), and MIRA of McDonald et al. (2005) with one output and
    the cost as the margin. It does not look at lam, and minimises nothing: there is no certificate.

    Parameters
    ----------
    C : float > 0
        The longest step, in multiples of Psi. Small values forget less of earlier examples.
    average : bool
        Report the mean of the weights over all examples seen, which predicts better.

    Examples
    --------
    >>> from maxmargin.solvers import SOLVERS
    >>> SOLVERS["mira"](C=0.02)
    MIRA(C=0.02, average=True)
    """

    C: float = 0.1
    average: bool = True

    name: ClassVar[str] = "mira"
    state_class: ClassVar[type[State]] = PerceptronState
    # The step is that of margin rescaling.
    needs: ClassVar[frozenset[str]] = frozenset({"linear", "unit_slope"})
    minimizes: ClassVar[bool] = False
    is_online: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.C < math.inf:
            raise ValueError(f"MIRA: C must be positive and finite, got {self.C!r}.")

    def start(self, problem: Problem, w: np.ndarray | None = None) -> PerceptronState:
        """Start at w, or at 0."""
        first = np.zeros(problem.n_weights) if w is None else np.array(w, dtype=np.float64)
        return PerceptronState(first, np.zeros(problem.n_weights if self.average else 0))

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Visit every example once, in random order."""
        state = cast(PerceptronState, state)
        order = rng.permutation(problem.n_examples)
        run = problem.bind(mira_pass)
        losses = 0.0
        for first, last in problem.strides(0, len(order)):
            losses += run(
                problem.view, order, first, last, self.C, state.w, state.lag, state.clock,
                problem.desk(),
            )  # fmt: skip
        return Progress(is_finished=losses == 0.0)

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the mean, if kept, and the last weights."""
        state = cast(PerceptronState, state)
        last = (state.w, math.nan)
        return [(state.mean(), math.nan), last] if self.average else [last]


@jitable
def mira_pass(
    problem: Any, order: Any, first: int, last: int, C: float, w: Any, lag: Any, clock: Any,
    desk: Any,
) -> float:  # fmt: skip
    """Visit the examples order[first:last]; return the sum of their losses."""
    losses = 0.0
    desk.slack[0] = 0.0
    for visit in range(first, last):
        i = order[visit]
        potentials(problem.data, i, w, 1.0, desk.theta)
        value, _, _, _ = find(problem.search, problem, i, desk, desk.y, 0)
        if value > 0.0 and problem.weight[i] > 0.0:
            losses += problem.weight[i] * value
            square = difference_square(problem.data, i, desk.y, 0, desk.spare, desk.theta)
            # Outputs with the same features cannot be told apart, whatever w is.
            if square > 0.0:
                step = problem.weight[i] * min(C, value / square)
                add_difference(problem.data, i, desk.y, 0, step, w)
                if lag.shape[0] > 0:
                    add_difference(problem.data, i, desk.y, 0, step * clock[0], lag)
        clock[0] += 1
    return losses

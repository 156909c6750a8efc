"""The structured perceptron, and its average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import add_difference, maximize, potentials
from maxmargin.core.outputs import is_same_output
from maxmargin.core.problem import Problem
from maxmargin.solvers.contract import Progress, Solver, State


class PerceptronState(State):
    """The weights after ``clock[0]`` examples, and what their average needs.

    With update delta_tau made at example tau (counted from 0),

        w = sum_tau delta_tau,    lag = sum_tau tau delta_tau,    mean of all w = w - lag / clock.

    So an example without a mistake costs the average nothing.
    """

    def __init__(self, w: np.ndarray, lag: np.ndarray, clock: int = 0) -> None:
        self.w = w
        self.lag = lag
        # An array, so that the compiled pass keeps it in step with w and lag.
        self.clock = np.array([clock], dtype=np.int64)

    def mean(self) -> np.ndarray:
        """Return the mean of the weights after every example so far."""
        if len(self.lag) == 0 or self.clock[0] == 0:
            return self.w
        return self.w - self.lag / float(self.clock[0])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""
        return {"w": self.w, "lag": self.lag, "clock": self.clock}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> PerceptronState:
        """Make the state that `arrays` was called on."""
        return cls(arrays["w"].copy(), arrays["lag"].copy(), int(arrays["clock"][0]))


@dataclass(frozen=True)
class Perceptron(Solver):
    """Structured perceptron: w += s_i (phi(x_i, y_i) - phi(x_i, y)) where the best y is wrong.

    It minimises nothing, and looks at neither cost nor surrogate nor lam. Its guarantee is that of
    Novikoff: if some u with |u| = 1 separates the data, u.(phi(x_i, y_i) - phi(x_i, y)) >= gamma
    for every i and every y != y_i, and none of these differences is longer than R, then it makes at
    most (R / gamma)^2 mistakes before it makes no more, in whatever order the examples come (all
    s_i = 1). It ends at the first pass without a mistake.

    Parameters
    ----------
    average : bool
        Report the mean of the weights over all examples seen, which predicts better on data that
        cannot be separated.

    Examples
    --------
    >>> from maxmargin.solvers import SOLVERS
    >>> SOLVERS["perceptron"](average=False)
    Perceptron(average=False)
    """

    average: bool = True

    name: ClassVar[str] = "perceptron"
    state_class: ClassVar[type[State]] = PerceptronState
    # The perceptron ignores the surrogate, so it accepts only the default kind: another one would
    # be ignored in silence.
    needs: ClassVar[frozenset[str]] = frozenset({"linear", "unit_slope"})
    minimizes: ClassVar[bool] = False
    is_online: ClassVar[bool] = True

    def start(self, problem: Problem, w: np.ndarray | None = None) -> PerceptronState:
        """Start at w, or at 0."""
        first = np.zeros(problem.n_weights) if w is None else np.array(w, dtype=np.float64)
        return PerceptronState(first, np.zeros(problem.n_weights if self.average else 0))

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Visit every example once, in random order."""
        state = cast(PerceptronState, state)
        order = rng.permutation(problem.n_examples)
        run = problem.bind(perceptron_pass)
        n_mistakes = 0
        for first, last in problem.strides(0, len(order)):
            n_mistakes += run(
                problem.view, order, first, last, problem.truths, problem.truth_places, state.w,
                state.lag, state.clock, problem.desk(),
            )  # fmt: skip
            problem.n_oracle_calls += last - first
        return Progress(is_finished=n_mistakes == 0)

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the mean, if kept, and the last weights."""
        state = cast(PerceptronState, state)
        last = (state.w, math.nan)
        return [(state.mean(), math.nan), last] if self.average else [last]


@jitable
def perceptron_pass(
    problem: Any,
    order: Any,
    first: int,
    last: int,
    truths: Any,
    places: Any,
    w: Any,
    lag: Any,
    clock: Any,
    desk: Any,
) -> int:
    """Visit the examples order[first:last]; return the number of mistakes."""
    n_mistakes = 0
    for visit in range(first, last):
        i = order[visit]
        potentials(problem.data, i, w, 1.0, desk.theta)
        maximize(problem.data, problem.cost, i, desk.theta, desk.room, 1.0, 0.0, desk.y, 0)
        if not is_same_output(problem.data, i, desk.y, 0, truths, places[i]):
            n_mistakes += 1
            add_difference(problem.data, i, desk.y, 0, problem.weight[i], w)
            if lag.shape[0] > 0:
                lateness = problem.weight[i] * clock[0]
                add_difference(problem.data, i, desk.y, 0, lateness, lag)
        clock[0] += 1
    return n_mistakes

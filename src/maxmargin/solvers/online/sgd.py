"""Stochastic subgradient descent with Pegasos' steps, and its weighted average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import add_difference, find, potentials
from maxmargin.core.problem import Problem
from maxmargin.solvers.contract import Progress, Solver, State

#: Number of examples that the length of the first step is computed from.
SAMPLE = 50


class SgdState(State):
    """The sum of all subgradients and what the average of the iterates needs.

    Step t with the subgradient d_t = s_i psi_h Psi_i(y) is

        w_t = (1 - 1/(t + t0)) w_{t-1} + d_t / (lam (t + t0)).

    The factors telescope: with total_t = lam t0 w_0 + d_1 + ... + d_t,

        w_t = total_t / (lam (t + t0)),

    so that shrinking costs nothing and a step only the non-zeros of d_t. The average has the
    weights 2/(t + 2): mean_t = t/(t+2) mean_{t-1} + 2/(t+2) w_t from mean_0 = w_0, that is

        mean_t = 2/((t+1)(t+2)) sum_{j<=t} (j + 1) w_j = 2/((t+1)(t+2)) (area_t total_t - lag_t),
        area_t = sum_{j<=t} (j + 1)/(lam (j + t0)),    lag_t = sum_{j<=t} area_{j-1} d_j.

    ``clock`` is [t, t0, lam, area].
    """

    def __init__(self, total: np.ndarray, lag: np.ndarray, clock: np.ndarray) -> None:
        self.total = total
        self.lag = lag
        # An array, so that the compiled pass keeps it in step with total and lag.
        self.clock = clock

    @property
    def w(self) -> np.ndarray:  # type: ignore[override]
        """The last iterate, computed anew at every call."""
        t, t0, lam, _ = self.clock
        return self.total / (lam * (t + t0))

    def mean(self) -> np.ndarray:
        """Return the weighted average of the iterates."""
        t, _, _, area = self.clock
        return (2.0 / ((t + 1.0) * (t + 2.0))) * (area * self.total - self.lag)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays; w is there for whoever looks into a checkpoint."""
        return {"w": self.w, "total": self.total, "lag": self.lag, "clock": self.clock}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> SgdState:
        """Make the state that `arrays` was called on."""
        return cls(*(arrays[name].copy() for name in ("total", "lag", "clock")))


@dataclass(frozen=True)
class SGD(Solver):
    """Stochastic subgradient descent on P, step length 1/(lam (t + t0)) at example t (Pegasos).

    For any surrogate. With a convex one and examples drawn independently, w_t of the last iterate
    has E P(w_t) - P* <= 17 B^2 (1 + log t)/(lam t), where B bounds the length of a subgradient
    (Shamir and Zhang, 2013); from w = 0, twice the longest s_i psi_h Psi_i will do. The average is
    better by about the logarithm. Passes go through all examples in random order instead of drawing
    them, which is better in practice. There is no dual, hence no certificate.

    Parameters
    ----------
    t0 : float >= 1, or None
        The number of steps that count as made already: larger values make the first steps shorter.
        None chooses t0 so that a first step is just long enough to remove the loss of an example:
        its length is mean loss / mean |d|^2 at the start, over a sample of examples. With a small
        lam and a smaller t0, the first steps move w far away, and it takes many passes to return.
    average : bool
        Report the average of the iterates, w_t with weight t + 1, and the last one where that is
        better.

    Examples
    --------
    >>> from maxmargin.solvers import SOLVERS
    >>> SOLVERS["sgd"](t0=100)
    SGD(t0=100, average=True)
    """

    t0: float | None = None
    average: bool = True

    name: ClassVar[str] = "sgd"
    state_class: ClassVar[type[State]] = SgdState
    is_online: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.t0 is not None and not 1.0 <= self.t0 < math.inf:
            raise ValueError(f"SGD: t0 must be None, or at least 1 and finite, got {self.t0!r}.")

    def start(self, problem: Problem, w: np.ndarray | None = None) -> SgdState:
        """Start at w, or at 0."""
        first = np.zeros(problem.n_weights) if w is None else np.array(w, dtype=np.float64)
        lam, t0 = problem.lam, self._first_step(problem, first) if self.t0 is None else self.t0
        lag = np.zeros(problem.n_weights if self.average else 0)
        return SgdState(first * (lam * t0), lag, np.array([0.0, t0, lam, 1.0 / (lam * t0)]))

    def _first_step(self, problem: Problem, w: np.ndarray) -> float:
        """Return the t0 at which a first step removes the loss, on average over a sample."""
        n, lam = problem.n_examples, problem.lam
        # The sample is evenly spread, since data often come sorted, and smaller where w is long.
        n_sample = max(1, min(n, SAMPLE, 10_000_000 // max(1, problem.n_weights)))
        sample = np.arange(n_sample) * n // n_sample
        no_lag, run = np.zeros(0), problem.bind(sgd_pass)
        losses = squares = 0.0
        for k in range(n_sample):
            total = w.copy()
            # With this clock, lam * (t + t0) is 1, so that total is w itself.
            clock = np.array([0.0, 1.0 / lam, lam, 0.0])
            losses += run(
                problem.view, sample, k, k + 1, total, no_lag, clock, problem.desk()
            )  # fmt: skip
            total -= w
            squares += problem.inner(total, total)
        return max(1.0, squares / (lam * losses)) if losses > 0.0 else float(max(1, n))

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Visit every example once, in random order."""
        state = cast(SgdState, state)
        order = rng.permutation(problem.n_examples)
        run = problem.bind(sgd_pass)
        for first, last in problem.strides(0, len(order)):
            run(
                problem.view, order, first, last, state.total, state.lag, state.clock,
                problem.desk(),
            )  # fmt: skip
        return Progress()

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the average, if kept, and the last iterate."""
        state = cast(SgdState, state)
        last = (state.w, math.nan)
        return [(state.mean(), math.nan), last] if self.average else [last]

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Keep the last iterate and the steps made; the average starts anew from there."""
        state = cast(SgdState, state)
        t, t0 = state.clock[:2]
        state.total *= problem.lam / lam
        state.lag[:] = 0.0
        # The t steps made so far are part of t0 in the new count.
        state.clock[:] = [0.0, t + t0, problem.lam, 1.0 / (problem.lam * (t + t0))]


@jitable
def sgd_pass(
    problem: Any, order: Any, first: int, last: int, total: Any, lag: Any, clock: Any, desk: Any
) -> float:
    """Take a step at each of the examples order[first:last]; return the sum of their losses."""
    losses = 0.0
    desk.slack[0] = 0.0
    for visit in range(first, last):
        i = order[visit]
        t, t0, lam = clock[0], clock[1], clock[2]
        potentials(problem.data, i, total, 1.0 / (lam * (t + t0)), desk.theta)
        value, slope, _, _ = find(problem.search, problem, i, desk, desk.y, 0)
        if value > 0.0:
            losses += problem.weight[i] * value
            step = problem.weight[i] * slope
            add_difference(problem.data, i, desk.y, 0, step, total)
            if lag.shape[0] > 0:
                add_difference(problem.data, i, desk.y, 0, clock[3] * step, lag)
        clock[0] = t + 1.0
        clock[3] += (t + 2.0) / (lam * (t + 1.0 + t0))
    return losses

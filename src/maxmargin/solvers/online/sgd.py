"""Stochastic subgradient descent with Pegasos' steps or a fixed rate, and its weighted average."""

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
#: Below this scale, with a fixed rate, total becomes w anew: else the average would be a difference
#: of numbers that are much larger than it.
SMALLEST_SCALE = 1.0 / 16.0


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

    With a fixed rate r the same holds with other numbers: w_t = scale_t total_t,

        scale_t = (1 - r lam) scale_{t-1},    total_t = total_{t-1} + r/scale_t d_t,

    and area_t is the sum of (j + 1) scale_j, lag_t that of area_{j-1} r/scale_j d_j. Where the
    scale has become small, total starts anew as w, with the scale 1 and the area 0, and what the
    average has summed up so far is subtracted from lag.

    ``clock`` is [t, t0, lam, area, rate, scale]; the rate is 0, and the scale unused, for Pegasos.
    """

    def __init__(self, total: np.ndarray, lag: np.ndarray, clock: np.ndarray) -> None:
        self.total = total
        self.lag = lag
        # An array, so that the compiled pass keeps it in step with total and lag.
        self.clock = clock

    @property
    def w(self) -> np.ndarray:  # type: ignore[override]
        """The last iterate, computed anew at every call."""
        t, t0, lam, _, rate, scale = self.clock
        return self.total * scale if rate > 0.0 else self.total / (lam * (t + t0))

    def mean(self) -> np.ndarray:
        """Return the weighted average of the iterates."""
        t, _, _, area, _, _ = self.clock
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
    rate : float > 0, or None
        The length of all steps, below C n_samples, in the place of Pegasos'. w then comes near the
        optimum sooner and stays at a distance from it that grows with the rate. t0 is not used.

    Examples
    --------
    >>> from maxmargin.solvers import SOLVERS
    >>> SOLVERS["sgd"](t0=100)
    SGD(t0=100, average=True, rate=None)
    """

    t0: float | None = None
    average: bool = True
    rate: float | None = None

    name: ClassVar[str] = "sgd"
    state_class: ClassVar[type[State]] = SgdState
    is_online: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.t0 is not None and not 1.0 <= self.t0 < math.inf:
            raise ValueError(f"SGD: t0 must be None, or at least 1 and finite, got {self.t0!r}.")
        if self.rate is not None and not 0.0 < self.rate < math.inf:
            raise ValueError(f"SGD: rate must be None, or > 0 and finite, got {self.rate!r}.")
        if self.rate is not None and self.t0 is not None:
            raise ValueError("SGD: t0 is for Pegasos' steps; with a fixed rate it must be None.")

    def start(self, problem: Problem, w: np.ndarray | None = None) -> SgdState:
        """Start at w, or at 0."""
        first = np.zeros(problem.n_weights) if w is None else np.array(w, dtype=np.float64)
        if self.rate is not None:
            lag = np.zeros(problem.n_weights if self.average else 0)
            return SgdState(first, lag, self._fixed_clock(problem.lam))
        lam, t0 = problem.lam, self._first_step(problem, first) if self.t0 is None else self.t0
        lag = np.zeros(problem.n_weights if self.average else 0)
        return SgdState(first * (lam * t0), lag, _pegasos_clock(t0, lam))

    def _fixed_clock(self, lam: float) -> np.ndarray:
        """Return the clock of a fixed rate at its beginning, where total is w."""
        rate = cast(float, self.rate)
        if rate * lam >= 1.0:
            raise ValueError(
                f"SGD: rate={rate:g} is too long for this C: expected less than "
                f"C * n_samples = {1.0 / lam:g}."
            )
        return np.array([0.0, 0.0, lam, 1.0, rate, 1.0])

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
            clock = _pegasos_clock(1.0 / lam, lam)
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
        if self.rate is not None:
            state.total[:] = state.w
            state.lag[:] = 0.0
            state.clock[:] = self._fixed_clock(problem.lam)
            return
        t, t0 = state.clock[:2]
        state.total *= problem.lam / lam
        state.lag[:] = 0.0
        # The t steps made so far are part of t0 in the new count.
        state.clock[:] = _pegasos_clock(t + t0, problem.lam)


def _pegasos_clock(t0: float, lam: float) -> np.ndarray:
    """Return the clock of Pegasos' steps at its beginning."""
    return np.array([0.0, t0, lam, 1.0 / (lam * t0), 0.0, 0.0])


@jitable
def sgd_pass(
    problem: Any, order: Any, first: int, last: int, total: Any, lag: Any, clock: Any, desk: Any
) -> float:
    """Take a step at each of the examples order[first:last]; return the sum of their losses."""
    losses = 0.0
    desk.slack[0] = 0.0
    for visit in range(first, last):
        i = order[visit]
        t, t0, lam, rate = clock[0], clock[1], clock[2], clock[4]
        scale = clock[5] if rate > 0.0 else 1.0 / (lam * (t + t0))
        potentials(problem.data, i, total, scale, desk.theta)
        value, slope, _, _ = find(problem.search, problem, i, desk, desk.y, 0)
        scale = scale * (1.0 - rate * lam) if rate > 0.0 else 1.0 / (lam * (t + 1.0 + t0))
        if value > 0.0:
            losses += problem.weight[i] * value
            step = problem.weight[i] * slope
            if rate > 0.0:
                step *= rate / scale
            add_difference(problem.data, i, desk.y, 0, step, total)
            if lag.shape[0] > 0:
                add_difference(problem.data, i, desk.y, 0, clock[3] * step, lag)
        clock[0] = t + 1.0
        clock[3] += (t + 2.0) * scale if rate > 0.0 else (t + 2.0) / (lam * (t + 1.0 + t0))
        if rate > 0.0 and scale < SMALLEST_SCALE:
            for k in range(lag.shape[0]):
                lag[k] -= clock[3] * total[k]
            for k in range(total.shape[0]):
                total[k] *= scale
            clock[3], scale = 0.0, 1.0
        clock[5] = scale if rate > 0.0 else 0.0
    return losses

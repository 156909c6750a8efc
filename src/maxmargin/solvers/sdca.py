"""Dual coordinate ascent for few outputs: every block solved exactly, by a projection.

Where the outputs of an example can be listed and their features are orthogonal and equally long
(classes), the block of example i is the projection of a point onto the simplex:

    alpha_i <- argmin_{alpha in simplex} | alpha - (alpha_i + v_i / A_i) |^2,

v_i the values h + g of all outputs and A_i = s_i |phi(x_i)|^2 / (lam n). This is the Crammer-Singer
block problem, solved in a few sweeps over its K numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numba.extending import register_jitable

from maxmargin.generic import add_listed, list_values, listed_norms, n_listed, potentials
from maxmargin.problem import Problem
from maxmargin.solvers.averaging import run_strides
from maxmargin.solvers.base import Progress, Solver, State


class ListedState(State):
    """Coefficients of every output of every example, and w = their sum."""

    def __init__(self, w: np.ndarray, alpha: np.ndarray) -> None:
        self.w = w
        self.alpha = alpha
        self.linear = np.zeros(len(alpha))
        self.gap = np.full(len(alpha), np.inf)
        self.w_mean = np.zeros(0)
        #: Weights to report if they are better, until the first pass has looked at them.
        self.offer = np.zeros(0)
        self.room = np.zeros((3, alpha.shape[1]))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""
        names = ("w", "alpha", "linear", "gap", "w_mean", "offer")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> ListedState:
        """Make the state that `arrays` was called on."""
        state = cls(arrays["w"].copy(), arrays["alpha"].copy())
        for name in ("linear", "gap", "w_mean", "offer"):
            setattr(state, name, arrays[name].copy())
        return state


@register_jitable
def threshold(z: Any, n: int, total: float) -> float:
    """Return tau with sum_k max(z[k] - tau, 0) = total, by Michelot's shrinking active sets.

    The projection of z onto the simplex of that total is max(z - tau, 0). The largest of z should
    be of the order of the total, or rounding hides the total; the others may be as low as -inf.
    """
    n_active = n
    sum_active = 0.0
    for k in range(n):
        sum_active += z[k]
    tau = (sum_active - total) / n_active
    for _ in range(n):
        sum_kept = 0.0
        n_kept = 0
        for k in range(n):
            if z[k] > tau:
                sum_kept += z[k]
                n_kept += 1
        if n_kept == 0 or n_kept >= n_active:
            break
        n_active = n_kept
        tau = (sum_kept - total) / n_active
    return tau


@register_jitable
def sdca_pass(
    problem: Any,
    order: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    norms: Any,
    w: Any,
    alpha: Any,
    linear: Any,
    gaps: Any,
    room: Any,
    theta: Any,
) -> float:
    """Solve the blocks order[first:last], one after the other; return the sum of their gaps."""
    values, costs, change = room[0], room[1], room[2]
    n_outputs = alpha.shape[1]
    total = 0.0
    for visit in range(first, last):
        i = order[visit]
        weight = problem.weight[i]
        potentials(problem.data, i, w, 1.0, theta)
        list_values(problem.data, problem.cost, i, theta, values, costs)
        top, best, mean = values[0], 0, 0.0
        for k in range(n_outputs):
            mean += alpha[i, k] * values[k]
            if values[k] > top:
                top, best = values[k], k
        gap = max(weight * (top - mean), 0.0)
        gaps[i] = gap
        total += gap
        if gap <= 1e-14 * top:
            continue  # solved already, as most blocks are near the optimum
        curvature = weight * inv_lam_n * norms[i]
        moved = 0.0
        if curvature > 0.0:
            for k in range(n_outputs):
                # Less the top, which moves the threshold only: else alpha would drown in v / A
                # where A is small.
                values[k] = alpha[i, k] + (values[k] - top) / curvature
            tau = threshold(values, n_outputs, 1.0)
            for k in range(n_outputs):
                new = values[k] - tau if values[k] > tau else 0.0
                change[k] = alpha[i, k] - new
                alpha[i, k] = new
                moved = max(moved, abs(change[k]))
        else:
            for k in range(n_outputs):  # no features: the constant g decides alone
                alpha[i, k] = 1.0 if k == best else 0.0
        linear[i] = 0.0
        for k in range(n_outputs):
            linear[i] += alpha[i, k] * costs[k]
        if moved > 0.0:
            add_listed(problem.data, i, change, weight * inv_lam_n, w)
    return total


@register_jitable
def sum_listed(
    problem: Any, inv_lam_n: float, alpha: Any, truths: Any, change: Any, w: Any
) -> None:
    """w += sum_i s_i/(lam n) (phi(x_i, y_i) - sum_k alpha_ik phi(x_i, k))."""
    for i in range(alpha.shape[0]):
        for k in range(alpha.shape[1]):
            change[k] = -alpha[i, k]
        change[truths[i]] += 1.0
        add_listed(problem.data, i, change, problem.weight[i] * inv_lam_n, w)


@dataclass(frozen=True)
class SDCA(Solver):
    """Dual coordinate ascent with exact blocks, for structures whose outputs can be listed.

    After each pass over all examples, those whose gap was above a tenth of the mean are gone over
    again, up to `repeats` times: near the optimum they are few.

    Parameters
    ----------
    repeats : int
        Most passes over the examples still moving, after each pass over all.

    Examples
    --------
    >>> from maxmargin.solvers import SDCA
    >>> SDCA(repeats=3).repeats
    3
    """

    repeats: int = 10

    name: ClassVar[str] = "sdca"
    state_class: ClassVar[type[State]] = ListedState
    needs: ClassVar[frozenset[str]] = frozenset({"convex", "unit_slope", "listed"})

    def __post_init__(self) -> None:
        if self.repeats < 0:
            raise ValueError(f"SDCA: repeats must be >= 0, got {self.repeats!r}.")

    def start(self, problem: Problem, w: np.ndarray | None = None) -> ListedState:
        """Start at w = 0, all mass on the true outputs.

        Given weights say nothing of the dual, so that it takes as many passes as without them to
        rise; but they are the first to be reported, and what is returned is no worse.
        """
        alpha = np.zeros((problem.n_examples, n_listed(problem.view.data)))
        alpha[np.arange(problem.n_examples), problem.truths] = 1.0
        state = ListedState(np.zeros(problem.n_weights), alpha)
        if w is not None:
            state.offer = w.copy()
        return state

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Solve every block once, and those that still move again."""
        state = cast(ListedState, state)
        n = problem.n_examples
        whole = self._solve(problem, state, rng.permutation(n))
        problem.n_oracle_calls += n
        moving = np.flatnonzero(state.gap > 0.1 * whole / n)
        for _ in range(self.repeats):
            if len(moving) == 0:
                break
            rest = self._solve(problem, state, rng.permutation(moving))
            problem.n_oracle_calls += len(moving)
            if rest <= 0.2 * whole:
                break
            moving = moving[state.gap[moving] > 0.1 * rest / len(moving)]
        dual, estimate = self._dual(problem, state), whole / n
        if len(state.offer):
            w, state.offer = state.offer, np.zeros(0)
            return Progress(dual, estimate, primal=problem.primal(w), w=w)
        return Progress(dual, estimate)

    def _solve(self, problem: Problem, state: ListedState, order: np.ndarray) -> float:
        run = problem.bind(sdca_pass)
        inv_lam_n = 1.0 / (problem.lam * problem.n_examples)
        norms = problem.remember(listed_norms)
        theta = problem.desk().theta

        def call(first: int, last: int) -> float:
            return run(
                problem.view, order, first, last, inv_lam_n, norms, state.w, state.alpha,
                state.linear, state.gap, state.room, theta,
            )  # fmt: skip

        total, mean = run_strides(call, len(order), state.w, state.w_mean)
        if mean is not None:
            state.w_mean = mean
        return total

    def _dual(self, problem: Problem, state: ListedState) -> float:
        linear = float(problem.view.weight @ state.linear) / problem.n_examples
        return linear - 0.5 * problem.lam * float(state.w @ state.w)

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the mean of recent iterates."""
        state = cast(ListedState, state)
        return [(state.w_mean if len(state.w_mean) else state.w, self._dual(problem, state))]

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Keep the coefficients; w = their sum is in inverse proportion to lam."""
        state = cast(ListedState, state)
        state.w = np.zeros(problem.n_weights)
        inv_lam_n = 1.0 / (problem.lam * problem.n_examples)
        run = problem.bind(sum_listed)
        run(problem.view, inv_lam_n, state.alpha, problem.truths, state.room[2], state.w)
        state.w_mean = np.zeros(0)
        state.gap[:] = np.inf

"""Dual coordinate ascent for few outputs: every block solved exactly, by a projection.

Where the outputs of an example can be listed and their features are orthogonal and equally long
(classes), the block of example i is the projection of a point onto the simplex:

    alpha_i <- argmin_{alpha in simplex} | alpha - (alpha_i + v_i / A_i) |^2,

v_i the values h + g of all outputs and A_i = s_i |phi(x_i)|^2 / (lam n). This is the Crammer-Singer
block problem, solved in a few sweeps over its K numbers.

Kept is beta_i = alpha_i less 1 at the true output, so that w = -1/(lam n) sum_i s_i sum_k beta_ik
phi(x_i, k). Where lam is small all of beta is, and next to the 1 its digits would be lost.

Near the optimum most blocks are still and the others move between two or three outputs. So after
each pass over everything, the moving blocks are gone over again with these outputs alone, which
costs neither the scores nor the updates of the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from maxmargin._compile import jitable
from maxmargin.generic import (
    add_few,
    add_listed,
    few_scores,
    list_values,
    listed_norms,
    n_listed,
    output_cost,
    potentials,
)
from maxmargin.problem import Problem
from maxmargin.solvers.averaging import run_strides
from maxmargin.solvers.base import Progress, Solver, State

#: Outputs without mass stay active if they would have some, were their value larger by this.
NEAR = 0.3

#: A block moves while its gap is above this share of the mean; the moving ones are gone over until
#: the sum of their gaps is below that share of what it was.
STILL, ENOUGH = 0.01, 0.1


class ListedState(State):
    """Coefficients of every output of every example, and w = their sum."""

    def __init__(self, w: np.ndarray, beta: np.ndarray) -> None:
        self.w = w
        self.beta = beta
        self.linear = np.zeros(len(beta))
        self.gap = np.full(len(beta), np.inf)
        self.w_mean = np.zeros(0)
        #: Weights to report if they are better, until the first pass has looked at them.
        self.offer = np.zeros(0)
        # Found anew by every pass over all outputs.
        self.active = np.zeros(beta.shape, dtype=np.int32)
        self.n_active = np.zeros(len(beta), dtype=np.int64)
        self.room = np.zeros((3, beta.shape[1]))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""
        names = ("w", "beta", "linear", "gap", "w_mean", "offer")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> ListedState:
        """Make the state that `arrays` was called on."""
        state = cls(arrays["w"].copy(), arrays["beta"].copy())
        for name in ("linear", "gap", "w_mean", "offer"):
            setattr(state, name, arrays[name].copy())
        return state


class Blocks(NamedTuple):
    """The arrays of a state, and what the passes read beside them."""

    beta: Any  # (n_examples, n_outputs): coefficients, less 1 at the truth
    linear: Any  # (n_examples,): sum_k alpha_k g_k
    gap: Any  # (n_examples,): last known, times n
    active: Any  # (n_examples, n_outputs) int32: the first n_active are
    n_active: Any  # (n_examples,) int64
    room: Any  # (3, n_outputs)
    truths: Any  # (n_examples,) int32
    norms: Any  # (n_examples,): |phi(x_i, y)|^2


@jitable
def threshold(z: Any, n: int, truth: int) -> float:
    """Return tau with sum_k max(z[k] - tau, floor_k) = 0 by Michelot's shrinking active sets.

    The floor is -1 at ``truth`` and 0 elsewhere; without a truth (-1) the sum is to be 1. Some z
    should be of the order of 1 at most; the others may be as low as -inf.
    """
    # No coefficient is above 1: a first bound from below.
    tau = -np.inf
    for k in range(n):
        tau = max(tau, z[k] if k == truth else z[k] - 1.0)
    n_before = n + 1
    for _ in range(n):
        excess = 0.0 if truth >= 0 and z[truth] - tau > -1.0 else -1.0
        n_above = 0
        for k in range(n):
            over = z[k] - tau
            if over > (-1.0 if k == truth else 0.0):
                excess += over
                n_above += 1
        if n_above == 0 or n_above >= n_before:
            break
        n_before = n_above
        tau += excess / n_above
    return tau


@jitable
def whole_pass(
    problem: Any,
    order: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    w: Any,
    blocks: Any,
    theta: Any,
) -> float:
    """Solve the blocks order[first:last], one after the other; return the sum of their gaps.

    Notes the active outputs of each.
    """
    beta, active, n_active = blocks.beta, blocks.active, blocks.n_active
    values, costs, change = blocks.room[0], blocks.room[1], blocks.room[2]
    n_outputs = beta.shape[1]
    total = 0.0
    for visit in range(first, last):
        i = order[visit]
        truth = blocks.truths[i]
        weight = problem.weight[i]
        potentials(problem.data, i, w, 1.0, theta)
        list_values(problem.data, problem.cost, i, theta, values, costs)
        top, best, mean = values[0], 0, 0.0
        for k in range(n_outputs):
            mean += beta[i, k] * values[k]  # the truth's value is zero
            if values[k] > top:
                top, best = values[k], k
        gap = max(weight * (top - mean), 0.0)
        blocks.gap[i] = gap
        total += gap
        n_active[i] = 0
        if gap <= 1e-14 * top:
            continue  # solved already, as most blocks are near the optimum
        curvature = weight * inv_lam_n * blocks.norms[i]
        blocks.linear[i] = 0.0
        if curvature <= 0.0:
            for k in range(n_outputs):  # no features: the constant g decides alone
                beta[i, k] = (1.0 if k == best else 0.0) - (1.0 if k == truth else 0.0)
            blocks.linear[i] = costs[best]
            continue
        for k in range(n_outputs):
            # Less the top, which moves tau alone: else beta drowns in v / A where A is small.
            values[k] = beta[i, k] + (values[k] - top) / curvature
        tau = threshold(values, n_outputs, truth)
        for k in range(n_outputs):
            floor = -1.0 if k == truth else 0.0
            over = values[k] - tau
            new = max(over, floor)
            change[k] = beta[i, k] - new
            beta[i, k] = new
            blocks.linear[i] += new * costs[k]  # the truth costs nothing
            if over > floor - NEAR / curvature:
                active[i, n_active[i]] = k
                n_active[i] += 1
        add_listed(problem.data, i, change, weight * inv_lam_n, w)
    return total


@jitable
def few_pass(
    problem: Any, order: Any, first: int, last: int, inv_lam_n: float, w: Any, blocks: Any, y: Any
) -> float:
    """Solve blocks over their active outputs alone; return the sum of their gaps over these."""
    beta, active, n_active = blocks.beta, blocks.active, blocks.n_active
    values, costs, change = blocks.room[0], blocks.room[1], blocks.room[2]
    total = 0.0
    for visit in range(first, last):
        i = order[visit]
        weight = problem.weight[i]
        n_few = n_active[i]
        # Scores in the place of margin errors: the true output's is the same for all.
        few_scores(problem.data, i, active, n_few, w, values)
        top, mean, truth = -np.inf, 0.0, -1
        for a in range(n_few):
            y[0] = active[i, a]
            costs[a] = output_cost(problem.data, problem.cost, i, y, 0)
            values[a] += costs[a]
            mean += beta[i, active[i, a]] * values[a]
            top = max(top, values[a])
            if active[i, a] == blocks.truths[i]:
                truth = a
                mean += values[a]
        blocks.gap[i] = max(weight * (top - mean), 0.0)
        total += blocks.gap[i]
        curvature = weight * inv_lam_n * blocks.norms[i]
        for a in range(n_few):
            values[a] = beta[i, active[i, a]] + (values[a] - top) / curvature
        tau = threshold(values, n_few, truth)
        blocks.linear[i] = 0.0
        for a in range(n_few):
            k = active[i, a]
            new = max(values[a] - tau, -1.0 if a == truth else 0.0)
            change[a] = beta[i, k] - new
            beta[i, k] = new
            blocks.linear[i] += new * costs[a]
        add_few(problem.data, i, active, n_few, change, weight * inv_lam_n, w)
    return total


@jitable
def sum_listed(problem: Any, inv_lam_n: float, beta: Any, mass: Any, w: Any) -> None:
    """w -= sum_i s_i/(lam n) sum_k beta_ik phi(x_i, k)."""
    for i in range(beta.shape[0]):
        for k in range(beta.shape[1]):
            mass[k] = beta[i, k]
        add_listed(problem.data, i, mass, -problem.weight[i] * inv_lam_n, w)


@dataclass(frozen=True)
class SDCA(Solver):
    """Dual coordinate ascent with exact blocks, for structures whose outputs can be listed.

    Parameters
    ----------
    repeats : int
        Most passes over the blocks still moving, with their active outputs, after each pass over
        everything.

    Examples
    --------
    >>> from maxmargin.solvers import SDCA
    >>> SDCA(repeats=3).repeats
    3
    """

    repeats: int = 30

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
        beta = np.zeros((problem.n_examples, n_listed(problem.view.data)))
        state = ListedState(np.zeros(problem.n_weights), beta)
        if w is not None:
            state.offer = w.copy()
        return state

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Solve every block once, and those that still move again."""
        state = cast(ListedState, state)
        n = problem.n_examples
        whole, mean = self._pass(problem, state, whole_pass, rng.permutation(n), state.w_mean)
        state.w_mean = cast(np.ndarray, mean)
        moving = np.flatnonzero((state.gap > STILL * whole / n) & (state.n_active > 1))
        n_left = self.repeats
        while n_left > 0 and len(moving) > 0:
            # Several sweeps a call where the blocks are few: a call costs some ten visits.
            n_sweeps = min(max(512 // len(moving), 1), 5, n_left)
            order = np.concatenate([rng.permutation(moving) for _ in range(n_sweeps)])
            rest = self._pass(problem, state, few_pass, order, None)[0] / n_sweeps
            if rest <= ENOUGH * whole:
                break
            moving = moving[state.gap[moving] > STILL * rest / len(moving)]
            n_left -= n_sweeps
        dual, estimate = self._dual(problem, state), whole / n
        if len(state.offer):
            w, state.offer = state.offer, np.zeros(0)
            return Progress(dual, estimate, primal=problem.primal(w), w=w)
        return Progress(dual, estimate)

    def _pass(
        self,
        problem: Problem,
        state: ListedState,
        function: Callable,
        order: np.ndarray,
        mean: np.ndarray | None,
    ) -> tuple[float, np.ndarray | None]:
        run = problem.bind(function)
        inv_lam_n = 1.0 / (problem.lam * problem.n_examples)
        blocks = Blocks(
            state.beta, state.linear, state.gap, state.active, state.n_active, state.room,
            problem.truths, problem.remember(listed_norms),
        )  # fmt: skip
        desk = problem.desk().theta if function is whole_pass else problem.desk().y

        def call(first: int, last: int) -> float:
            return run(problem.view, order, first, last, inv_lam_n, state.w, blocks, desk)

        problem.n_oracle_calls += len(order)
        return run_strides(call, len(order), state.w, mean)

    def _dual(self, problem: Problem, state: ListedState) -> float:
        linear = float(problem.view.weight @ state.linear) / problem.n_examples
        return linear - 0.5 * problem.lam * float(state.w @ state.w)

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the mean of recent iterates and the last one: which is better varies."""
        state = cast(ListedState, state)
        last = (state.w, self._dual(problem, state))
        return [(state.w_mean, math.nan), last] if len(state.w_mean) else [last]

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Keep w where lam falls, by giving the truths more mass; keep the coefficients else."""
        state = cast(ListedState, state)
        share = min(problem.lam / lam, 1.0)
        state.beta *= share
        state.linear *= share
        self.repair(problem, state)
        state.gap[:] = np.inf

    def repair(self, problem: Problem, state: State) -> None:
        """Sum w from the coefficients anew."""
        state = cast(ListedState, state)
        state.w = np.zeros(problem.n_weights)
        inv_lam_n = 1.0 / (problem.lam * problem.n_examples)
        run = problem.bind(sum_listed)
        run(problem.view, inv_lam_n, state.beta, state.room[2], state.w)
        state.w_mean = np.zeros(0)

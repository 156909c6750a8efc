"""Dual coordinate ascent for few outputs: every block solved exactly, by a projection.

Where the outputs of an example can be listed and their features are orthogonal and equally long
(classes), the block of example i is the projection of a point onto the simplex:

    alpha_i <- argmin_{alpha in simplex} | alpha - (alpha_i + v_i / A_i) |^2,

where v_i are the values h + g of all outputs and A_i = s_i |phi(x_i)|^2 / (lam n). This is the
Crammer-Singer block problem, solved in a few sweeps over its K numbers. It belongs to margin
rescaling; for other surrogates, whose planes have other slopes than 1, see sdca_planes.py, and
sdca_gram.py for features that are not orthogonal.

Near the optimum most blocks no longer change, and the others move mass between two or three
outputs. So after each pass over all blocks and outputs, the moving blocks are visited again with
these few outputs alone, which costs neither the scores nor the updates of the other outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    Identity,
    add_few,
    add_listed,
    few_scores,
    has,
    list_values,
    listed_gram,
    metric,
    output_cost,
    potentials,
)
from maxmargin.core.problem import Problem
from maxmargin.solvers.averaging import run_strides
from maxmargin.solvers.blocks.bcfw import BlockFrankWolfe
from maxmargin.solvers.contract import Progress, Solver, State
from maxmargin.solvers.listed.dual import (
    ListedState,
    blocks_of,
    dual_value,
    mend_state,
    new_state,
    sum_weights,
)
from maxmargin.solvers.listed.extrapolation import MOST_CELLS, visit_and_jump
from maxmargin.solvers.listed.newton import first_sigma, proximal_step
from maxmargin.solvers.listed.projection import threshold
from maxmargin.solvers.listed.sdca_gram import gram_of
from maxmargin.solvers.listed.sdca_planes import orthogonal, planes_pass, sheet_for

#: An output without mass stays active if it would get mass once its value grew by this much.
NEAR = 0.3

#: A block counts as moving while its gap is above STILL times the mean gap. The moving blocks are
#: visited again until the sum of their gaps is at most ENOUGH times that of the whole pass.
STILL, ENOUGH = 0.01, 0.1

#: Where a pass meets more than SLOW times the gaps that the last one met, passes over moving blocks
#: go there and back, with jumps, and LONGER times as many are allowed.
SLOW, LONGER = 0.6, 2


@jitable
def whole_pass(
    problem: Any,
    order: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    w: Any,
    blocks: Any,
    desk: Any,
    total: float,
) -> float:
    """Solve the blocks order[first:last], one after the other; add their gaps to ``total``.

    Writes the active outputs of each block to blocks.active.
    """
    beta, active, n_active = blocks.beta, blocks.active, blocks.n_active
    values, costs, change = blocks.room[0], blocks.room[1], blocks.room[2]
    n_outputs = beta.shape[1]
    for visit in range(first, last):
        i = order[visit]
        truth = blocks.truths[i]
        weight = problem.weight[i]
        potentials(problem.data, i, w, 1.0, desk.theta)
        list_values(problem.data, problem.cost, i, desk.theta, values, costs)
        top, best, mean = values[0], 0, 0.0
        for k in range(n_outputs):
            mean += beta[i, k] * values[k]  # as with alpha: the value of the truth is 0
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
            for k in range(n_outputs):  # without features, the output of largest g is best
                beta[i, k] = (1.0 if k == best else 0.0) - (1.0 if k == truth else 0.0)
            blocks.linear[i] = costs[best]
            continue
        for k in range(n_outputs):
            # Subtract top = max(v): it changes only tau, and keeps beta accurate when A (here
            # `curvature`) is small.
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
    problem: Any,
    order: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    w: Any,
    blocks: Any,
    desk: Any,
    total: float,
) -> float:
    """Solve blocks over their active outputs alone; add their gaps over these to ``total``."""
    beta, active, n_active = blocks.beta, blocks.active, blocks.n_active
    values, costs, change = blocks.room[0], blocks.room[1], blocks.room[2]
    for visit in range(first, last):
        i = order[visit]
        weight = problem.weight[i]
        n_few = n_active[i]
        # Scores replace margin errors: they differ by the score of the true output, which is the
        # same for all outputs and so changes only tau.
        few_scores(problem.data, i, active, n_few, w, values)
        top, mean, truth = -np.inf, 0.0, -1
        for a in range(n_few):
            desk.y[0] = active[i, a]
            costs[a] = output_cost(problem.data, problem.cost, i, desk.y, 0)
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


def visit_moving(
    visit: Callable[[np.ndarray], float],
    gap: np.ndarray,
    can_move: np.ndarray,
    whole: float,
    n_left: int,
    rng: np.random.Generator,
) -> None:
    """Visit the blocks that still move, until their gaps are small beside ``whole``.

    ``visit`` makes a pass over some blocks, writes their gaps to ``gap``, and returns the sum;
    ``whole`` is that of a pass over all. ``n_left`` is the largest number of passes.
    """
    moving = np.flatnonzero((gap > STILL * whole / len(gap)) & can_move)
    while n_left > 0 and len(moving) > 0:
        # Several sweeps per call where the blocks are few: the call itself costs about ten visits.
        n_sweeps = min(max(512 // len(moving), 1), 5, n_left)
        order = np.concatenate([rng.permutation(moving) for _ in range(n_sweeps)])
        rest = visit(order) / n_sweeps
        if rest <= ENOUGH * whole:
            break
        moving = moving[gap[moving] > STILL * rest / len(moving)]
        n_left -= n_sweeps


@dataclass(frozen=True)
class SDCA(Solver):
    """Dual coordinate ascent over blocks, each solved over all it knows.

    Where outputs can be listed, none is searched for. Under margin rescaling every block is then
    solved exactly, if the features of outputs are orthogonal; under other surrogates, and for the
    labels of a hierarchy, a few pairwise steps bring the values of its planes together. For all
    other structures a block has the outputs that the oracle has found, as that of
    `BlockFrankWolfe` has: see `ActiveBlocks`.

    Parameters
    ----------
    repeats : int
        Largest number of passes over the moving blocks, with their active outputs alone, after
        each pass over all blocks and outputs. At most three where outputs are not listed.
    newton : bool
        Whether to go on by Newton's method on all blocks at once where passes have become slow and
        weights are few: a few hundred, for many more examples whose blocks are solved exactly.

    Examples
    --------
    >>> from maxmargin.solvers import SDCA
    >>> SDCA(repeats=3).repeats
    3
    """

    repeats: int = 30
    newton: bool = True

    name: ClassVar[str] = "sdca"
    state_class: ClassVar[type[State]] = ListedState
    needs: ClassVar[frozenset[str]] = frozenset({"convex"})
    takes_kernels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.repeats < 0:
            raise ValueError(f"SDCA: repeats must be >= 0, got {self.repeats!r}.")

    def engine(self, problem: Problem) -> Solver:
        """Return itself where outputs can be listed, with inner products that are known."""
        data = problem.view.data
        norm = problem.regularizer if problem.kernel is None else problem.regularizer.own
        is_known = isinstance(norm, Identity) or (
            has(listed_gram, type(data)) and type(norm) is type(metric(data))
        )
        if "listed" in problem.capabilities and is_known:
            return self
        return ActiveBlocks(cache=min(self.repeats, BlockFrankWolfe.cache))

    def start(self, problem: Problem, w: np.ndarray | None = None) -> ListedState:
        """Start at w = 0, all mass on the true outputs.

        Weights ``w`` say nothing about the dual, which takes as many passes to rise as without
        them. But w is the first iterate that is reported, so that the result is no worse than w.
        """
        state = new_state(problem)
        if w is not None:
            state.offer = w.copy()
        return state

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Solve every block once, and those that still move again."""
        state = cast(ListedState, state)
        n = problem.n_examples
        if state.sigma > 0.0:
            step = proximal_step(problem, state, state.sigma)
            state.sigma = step.sigma
            if step.has_risen:
                dual = dual_value(problem, state)
                return Progress(dual, max(step.primal - dual, 0.0), primal=step.primal, w=step.w)
        whole, mean = self._pass(problem, state, rng.permutation(n), True, state.w_mean)
        state.w_mean = cast(np.ndarray, mean)

        def again(order: np.ndarray) -> float:
            return self._pass(problem, state, order, False, None)[0]

        moving = np.flatnonzero((state.gap > STILL * whole / n) & (state.n_active > 1))
        is_slow = whole > SLOW * state.met and not state.has_planes
        n_cells = len(moving) * state.beta.shape[1] + problem.n_weights
        if is_slow and len(moving) > 0 and n_cells <= MOST_CELLS:
            n_left = LONGER * self.repeats
            order = rng.permutation(moving)
            visit_and_jump(problem, state, again, order, ENOUGH * whole, STILL, n_left)
        else:
            visit_moving(again, state.gap, state.n_active > 1, whole, self.repeats, rng)
        if self.newton and state.sigma == 0.0:
            state.sigma = first_sigma(problem, state, whole)
        state.met = whole
        dual, estimate = dual_value(problem, state), whole / n
        if len(state.offer):
            w, state.offer = state.offer, np.zeros(0)
            return Progress.at(w, self.assess(problem, w), dual=dual, gap_estimate=estimate)
        return Progress(dual, estimate)

    def _pass(
        self,
        problem: Problem,
        state: ListedState,
        order: np.ndarray,
        whole: bool,
        mean: np.ndarray | None,
    ) -> tuple[float, np.ndarray | None]:
        """Visit blocks, with all their outputs (``whole``) or the active ones alone."""
        function: Any = planes_pass if state.has_planes else whole_pass if whole else few_pass
        run = problem.bind(function)
        inv_lam_n = 1.0 / (problem.lam * problem.n_examples)
        blocks, desk = blocks_of(problem, state), problem.desk()
        own: tuple[Any, ...] = ()
        if state.has_planes:
            n_outputs = state.beta.shape[1]
            gram = gram_of(problem) or orthogonal(n_outputs)
            own = sheet_for(n_outputs), whole, not problem.is_linear, gram

        def call(first: int, last: int, total: float) -> float:
            problem.prepare(order[first:last])
            problem.n_oracle_calls += last - first
            return run(
                problem.view, order, first, last, inv_lam_n, state.w, blocks, desk, total, *own
            )

        return run_strides(problem, call, len(order), state.w, mean)

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the mean of recent iterates and the last one: either may be the better one."""
        state = cast(ListedState, state)
        last = (state.w, dual_value(problem, state))
        return [(state.w_mean, math.nan), last] if len(state.w_mean) else [last]

    def dual_rounding(self, problem: Problem, state: State, dual: float) -> float:
        """Return a cheap estimate of how far D can be from its computed value."""
        # As in `BlockFrankWolfe`, after some hundred sweeps.
        n_sums = 100.0 * math.sqrt(problem.n_examples)
        return problem.precision.of_dual(problem.length(state.w), dual, problem.lam, n_sums)

    def sharpen(self, problem: Problem, state: State) -> tuple[float, float]:
        """Sum the dual anew; return D and its rounding."""
        state = cast(ListedState, state)
        mean = state.w_mean
        mend_state(problem, state)
        state.w_mean = mean
        dual = dual_value(problem, state)
        n_sums = 2.0 * np.count_nonzero(state.beta) + state.beta.shape[1]
        return dual, problem.precision.of_dual(problem.length(state.w), dual, problem.lam, n_sums)

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Keep w if lam has fallen, by moving mass to the truths; else keep the coefficients."""
        state = cast(ListedState, state)
        share = min(problem.lam / lam, 1.0)
        state.beta *= share
        state.linear *= share
        sum_weights(problem, state)
        state.gap[:] = np.inf
        state.met, state.sigma = np.inf, 0.0

    def repair(self, problem: Problem, state: State) -> None:
        """Make the coefficients of each block sum to 1 again, and compute w from them."""
        mend_state(problem, cast(ListedState, state))


@dataclass(frozen=True)
class ActiveBlocks(BlockFrankWolfe):
    """Dual coordinate ascent over the outputs that the oracle has found, as ``solver="sdca"``."""

    name: ClassVar[str] = "sdca"

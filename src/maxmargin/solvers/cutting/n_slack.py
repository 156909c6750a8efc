"""The n-slack cutting plane: planes for every example, found by a batch of oracles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import find, margin_error, potentials
from maxmargin.core.outputs import copy_output
from maxmargin.core.problem import Primal, Problem
from maxmargin.solvers.averaging import run_strides
from maxmargin.solvers.blocks.arena import (
    ALPHA,
    AT,
    IDLE,
    OFFSET,
    SLOPE,
    add_plane,
    make_room,
    new_blocks,
    reserve,
)
from maxmargin.solvers.blocks.bcfw import BlockState
from maxmargin.solvers.blocks.dual import (
    dual_value,
    normalize,
    primal_weights,
    sharpen_blocks,
)
from maxmargin.solvers.blocks.visits import ACTIVE, visit_blocks
from maxmargin.solvers.contract import Progress, Solver, State
from maxmargin.solvers.found import find_outputs

#: Largest number of pairwise steps per visit, in the master.
MAX_STEPS = 30


@dataclass(frozen=True)
class NSlack(Solver):
    """n-slack cutting plane: a batch method that keeps planes for every example.

    A pass calls the oracle for all examples at one w, on ``n_jobs`` threads, so that P(w) and the
    gap are exact there. It adds the planes that are violated to the blocks of their examples. Then
    block-coordinate ascent solves the master, the problem over the known planes, without the
    oracle.

    Parameters
    ----------
    accuracy : float, between 0 and 1
        The master is solved until its own gap is this share of the gap at w. A plane is added if
        it is violated by more than this share of the gap at w.
    max_inner : int
        Largest number of sweeps over the blocks for one master to which planes were added. The
        slower the oracle, the more sweeps pay off.

    Examples
    --------
    >>> from maxmargin.solvers import SOLVERS
    >>> SOLVERS["n_slack"]()
    NSlack(accuracy=0.1, max_inner=10)
    """

    accuracy: float = 0.1
    max_inner: int = 10

    name: ClassVar[str] = "n_slack"
    state_class: ClassVar[type[State]] = BlockState
    needs: ClassVar[frozenset[str]] = frozenset({"convex"})
    knows_slack: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.accuracy < 1.0:
            raise ValueError(f"NSlack: accuracy must be between 0 and 1, got {self.accuracy!r}.")
        if self.max_inner < 1:
            raise ValueError(f"NSlack: max_inner must be at least 1, got {self.max_inner!r}.")

    def start(self, problem: Problem, w: np.ndarray | None = None) -> BlockState:
        """Start at w = 0. Given weights, each block also gets the plane they violate most."""
        state = BlockState(np.zeros(problem.n_weights), new_blocks(problem))
        if w is not None:
            self._add_violated(problem, state, np.array(w, dtype=np.float64))
        return state

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Add the planes violated at w and move w to the new master's solution."""
        state = cast(BlockState, state)
        w = state.w.copy()
        dual = dual_value(problem, state.blocks, w)
        primal, n_added = self._add_violated(problem, state, w, dual)
        # Compare the dual with the losses that were found: no plane can reach the bound above them.
        found = primal.value - primal.excess
        # If the oracle found no new plane, only the master can be improved: allow more sweeps.
        n_sweeps = self.max_inner if n_added else 100 * self.max_inner
        # Sweeps below the rounding of the dual would improve nothing.
        goal = max(self.accuracy * (found - dual), self.dual_rounding(problem, state, dual))
        self._solve_master(problem, state, goal, n_sweeps, rng)
        state.n_passes += 1
        dual = dual_value(problem, state.blocks, state.w)
        return Progress.at(w, primal, dual=dual)

    def _add_violated(
        self, problem: Problem, state: BlockState, w: np.ndarray, dual: float | None = None
    ) -> tuple[Primal, int]:
        """Add the planes that are violated at w; return P(w) and their number."""
        n = problem.n_examples
        losses, bounds, slopes, offsets, excess = np.zeros((5, n))
        look, blocks = problem.bind(find_violated), state.blocks
        found = find_outputs(
            problem,
            lambda first, last, desk, outputs, places: look(
                problem.view, first, last, w, blocks, desk, losses, bounds, slopes, offsets,
                excess, outputs, places,
            ),
        )  # fmt: skip
        weight = problem.view.weight
        primal = problem.regularized(problem.mean_loss(losses, bounds), w)
        # Without a dual at w, add every violated plane.
        gap = primal.value - primal.excess - (0.0 if dual is None else dual)
        slack = 0.0 if dual is None else self.accuracy * max(gap, 0.0)
        chosen = weight * excess > slack
        state.replace_blocks(make_room(problem, blocks, chosen.astype(np.int64)))
        add = problem.bind(add_chosen)
        everyone = np.flatnonzero(chosen)
        for first, last in problem.strides(0, len(everyone)):
            some = everyone[first:last]
            state.replace_blocks(reserve(problem, state.blocks, some))
            add(problem.view, some, slopes, offsets, *found, state.blocks, problem.desk())
        return primal, len(everyone)

    def _solve_master(
        self,
        problem: Problem,
        state: BlockState,
        goal: float,
        n_sweeps: int,
        rng: np.random.Generator,
    ) -> None:
        """Sweep over the blocks until the sum of their gaps over known planes is at most goal."""
        n = problem.n_examples
        # A block that has only the plane of y_i cannot move.
        movable = np.flatnonzero(state.blocks.count > 1)
        run = problem.bind(visit_blocks)
        inv_lam_n, no_mean = 1.0 / (problem.lam * n), np.zeros(0)
        idle = state.blocks.planes[:, IDLE].copy()
        for _ in range(n_sweeps):
            order = rng.permutation(movable)

            def call(first: int, last: int, total: float, order: np.ndarray = order) -> float:
                return run(
                    problem.view, order, first, last, inv_lam_n, ACTIVE, MAX_STEPS, False,
                    not problem.is_linear, state.w, state.blocks, state.bench, problem.desk(),
                    no_mean, 0, total,
                )  # fmt: skip

            total, _ = run_strides(problem, call, len(order), state.w, None)
            if total / n <= goal:
                break
        # All sweeps of one master count as a single visit of a plane without a coefficient.
        planes = state.blocks.planes
        planes[:, IDLE] = np.where(planes[:, ALPHA] > 0.0, 0.0, idle + 1.0)

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the master's solution, where the next planes would be found."""
        state = cast(BlockState, state)
        return [(state.w, dual_value(problem, state.blocks, state.w))]

    def dual_rounding(self, problem: Problem, state: State, dual: float) -> float:
        """Return a cheap estimate of how far D can be from its computed value."""
        state = cast(BlockState, state)
        n_visits = problem.n_examples * (state.n_passes + 1) * self.max_inner
        length = problem.length(state.w)
        return problem.precision.of_dual(length, dual, problem.lam, 10.0 * math.sqrt(n_visits))

    def sharpen(self, problem: Problem, state: State) -> tuple[float, float]:
        """Sum the dual anew; return D and its rounding."""
        return sharpen_blocks(problem, cast(BlockState, state))

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Keep the coefficients; w = sum of blocks is in inverse proportion to lam."""
        self.repair(problem, state)

    def repair(self, problem: Problem, state: State) -> None:
        """Make the coefficients of each block sum to 1 again, and compute w from them."""
        state = cast(BlockState, state)
        normalize(state.blocks)
        state.w = primal_weights(problem, state.blocks)


@jitable
def find_violated(
    problem: Any,
    first: int,
    last: int,
    w: Any,
    blocks: Any,
    desk: Any,
    losses: Any,
    bounds: Any,
    slopes: Any,
    offsets: Any,
    excess: Any,
    outputs: Any,
    places: Any,
) -> None:
    """Find the most violating outputs of examples first..last-1 at w, with losses and planes.

    Overwrites excess[i] with the distance from the highest known plane of block i to the loss.
    """
    for i in range(first, last):
        potentials(problem.data, i, w, 1.0, desk.theta)
        known = 0.0  # the plane of y_i
        for p in range(1, blocks.count[i]):
            row = blocks.start[i] + p
            h = margin_error(problem.data, i, desk.theta, blocks.outputs, blocks.spans[row, AT])
            plane = blocks.planes[row, OFFSET] + blocks.planes[row, SLOPE] * h
            known = plane if plane > known else known
        desk.slack[0] = known
        value, slope, h, bound = find(problem.search, problem, i, desk, outputs, places[i])
        # A known plane is a lower bound of the loss, even if the search missed its output now.
        losses[i] = max(value, known)
        bounds[i] = max(bound, losses[i])
        slopes[i] = slope
        offsets[i] = value - slope * h
        excess[i] = value - known


@jitable
def add_chosen(
    problem: Any,
    chosen: Any,
    slopes: Any,
    offsets: Any,
    outputs: Any,
    places: Any,
    blocks: Any,
    desk: Any,
) -> None:
    """Add the planes found to the blocks of the chosen examples."""
    for place in range(chosen.shape[0]):
        i = chosen[place]
        copy_output(problem.data, i, outputs, places[i], desk.y, 0)
        add_plane(problem, i, slopes[i], offsets[i], blocks, desk)

"""Block-coordinate Frank-Wolfe over each example's active planes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.solvers.averaging import run_averaged
from maxmargin.solvers.blocks.arena import Blocks, make_room, new_blocks, reserve
from maxmargin.solvers.blocks.dual import (
    dual_value,
    normalize,
    primal_weights,
    sharpen_blocks,
)
from maxmargin.solvers.blocks.visits import (
    ACTIVE,
    PAIRWISE,
    PLAIN,
    Bench,
    bench_for,
    visit_blocks,
)
from maxmargin.solvers.contract import Progress, Solver, State

_KINDS = {"plain": PLAIN, "pairwise": PAIRWISE, "active": ACTIVE}
_SAMPLINGS = ("shuffle", "gap")


class BlockState(State):
    """The dual blocks, w = their sum, and a mean of recent w if asked for."""

    def __init__(self, w: np.ndarray, blocks: Blocks) -> None:
        self.w = w
        self.blocks = blocks
        self.bench: Bench = bench_for(blocks)
        self.n_passes = 0
        self.w_mean = np.zeros(0)

    def replace_blocks(self, blocks: Blocks) -> None:
        """Take over blocks that have more room."""
        if blocks is not self.blocks:
            self.blocks = blocks
            self.bench = bench_for(blocks)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""
        fields = {f"blocks.{name}": array for name, array in self.blocks._asdict().items()}
        own = {"w": self.w, "w_mean": self.w_mean, "n_passes": np.array(self.n_passes)}
        return own | fields

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> BlockState:
        """Make the state that `arrays` was called on."""
        blocks = Blocks(*(arrays[f"blocks.{name}"].copy() for name in Blocks._fields))
        state = cls(arrays["w"].copy(), blocks)
        state.n_passes = int(arrays["n_passes"])
        state.w_mean = arrays["w_mean"].copy()
        return state


#: A pass over known planes is made if the pass before it met this share of the gap that the oracle
#: met: first, second, and later ones. Early in a run new planes matter more than known ones; in
#: its end hardly any plane is new.
WORTH = (0.0, 0.5, 0.9)
#: Passes over known planes leave out blocks whose gap was at most this share of the mean when the
#: oracle was asked: those that are done, and those of examples that are no support.
STILL = 0.05
#: Most visits of one example per pass, under gap sampling: each needs room for one more plane.
MOST_VISITS = 8


def _at_most(most: int, order: np.ndarray) -> np.ndarray:
    """Return `order` with at most ``most`` visits per example."""
    by_example = np.argsort(order, kind="stable")
    examples = order[by_example]
    earlier = np.arange(len(order)) - np.searchsorted(examples, examples)
    return order[np.sort(by_example[earlier < most])]


@dataclass(frozen=True)
class BlockFrankWolfe(Solver):
    """Block-coordinate Frank-Wolfe: one example at a time, its planes kept.

    Maximises the dual D; every visit asks the oracle for the most violating output of one example,
    adds its plane to the example's block and improves the block.

    Parameters
    ----------
    step : {"active", "pairwise", "plain"}
        "active" solves the block over all its planes; "pairwise" moves mass from the worst active
        plane to the new one; "plain" is the textbook step, slow near the optimum.
    sampling : {"shuffle", "gap"}
        "shuffle" visits every example once a pass, in random order; "gap" draws examples in
        proportion to their last known gaps.
    cache : int
        Largest number of passes over the known planes, without the oracle, after each pass with it.
        Such passes visit the examples that have a gap. They are cheaper, and get as far where few
        planes are new: the second is made if the gaps that the first met sum to half of those that
        the oracle met, further ones if those of the one before sum to nine tenths. Two are always
        made where the loss is not affine in the margin error, because planes are turned too.
    average : bool
        Report a mean of the iterates within the last few passes. Its primal is lower than that of
        the last iterate, which is the best for the block visited last and worse for the others.
    max_steps : int
        Largest number of pairwise steps per visit, for "active".

    Examples
    --------
    >>> from maxmargin.solvers import BlockFrankWolfe
    >>> BlockFrankWolfe(step="pairwise", cache=0).step
    'pairwise'
    """

    step: str = "active"
    sampling: str = "shuffle"
    cache: int = 3
    average: bool = True
    max_steps: int = 10

    name: ClassVar[str] = "bcfw"
    state_class: ClassVar[type[State]] = BlockState
    needs: ClassVar[frozenset[str]] = frozenset({"convex"})
    takes_kernels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step not in _KINDS:
            raise ValueError(
                f"BlockFrankWolfe: step must be one of {list(_KINDS)}, got {self.step!r}."
            )
        if self.sampling not in _SAMPLINGS:
            raise ValueError(
                f"BlockFrankWolfe: sampling must be one of {list(_SAMPLINGS)}, got "
                f"{self.sampling!r}."
            )
        for name, least in (("cache", 0), ("max_steps", 1)):
            if getattr(self, name) < least:
                raise ValueError(
                    f"BlockFrankWolfe: {name} must be >= {least}, got {getattr(self, name)!r}."
                )

    def start(self, problem: Problem, w: np.ndarray | None = None) -> BlockState:
        """Start at w = 0. Given weights, each block also gets the plane they violate most."""
        state = BlockState(np.zeros(problem.n_weights), new_blocks(problem))
        if w is not None:
            everyone = np.arange(problem.n_examples)
            self._visit(problem, state, everyone, ask=True, w=w.copy(), max_steps=0)
        return state

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Make n_examples visits with the oracle, then the passes over known planes."""
        state = cast(BlockState, state)
        n = problem.n_examples
        estimate = self._visit(problem, state, self._order(state, n, rng), ask=True) / n
        met, gap = estimate, state.blocks.gap
        moving = np.flatnonzero(gap > STILL * gap.mean())
        for share in self._shares(problem, state):
            if met < share * estimate or len(moving) == 0:
                break
            met = self._visit(problem, state, rng.permutation(moving), ask=False) / n
        if self.sampling == "gap":
            # Examples were drawn with replacement: the sum over visits is a poor estimate, and the
            # last known gaps are a better one.
            estimate = float(state.blocks.gap.sum()) / n
        state.n_passes += 1
        return Progress(dual_value(problem, state.blocks, state.w), estimate)

    def _shares(self, problem: Problem, state: BlockState) -> tuple[float, ...]:
        """Return for each pass over known planes what the last pass must have met to make it."""
        if not problem.is_linear:  # planes are turned too, and that goes on
            return (0.0, 0.0, *(WORTH[-1],) * self.cache)[: self.cache]
        # Blocks of two planes were solved by the visit that added the second; later, others have
        # moved w since.
        is_first = state.n_passes == 0 and int(state.blocks.count.max(initial=1)) <= 2
        return () if is_first else (WORTH + (WORTH[-1],) * self.cache)[: self.cache]

    def _order(self, state: BlockState, n: int, rng: np.random.Generator) -> np.ndarray:
        gap = state.blocks.gap
        # Known gaps become outdated: every fifth pass visits all examples again.
        if self.sampling == "shuffle" or state.n_passes % 5 == 0 or not gap.sum() > 0.0:
            return rng.permutation(n)
        return _at_most(MOST_VISITS, rng.choice(n, size=n, p=gap / gap.sum()))

    def _visit(
        self,
        problem: Problem,
        state: BlockState,
        order: np.ndarray,
        ask: bool,
        w: np.ndarray | None = None,
        max_steps: int | None = None,
    ) -> float:
        visits = np.bincount(order, minlength=problem.n_examples)
        if ask:
            state.replace_blocks(make_room(problem, state.blocks, visits))
        run = problem.bind(visit_blocks)
        inv_lam_n = 1.0 / (problem.lam * problem.n_examples)
        weights = state.w if w is None else w
        steps = self.max_steps if max_steps is None else max_steps
        kind = _KINDS[self.step] if steps else ACTIVE
        bends = steps > 0 and not problem.is_linear
        mean = state.w_mean if self.average and w is None else None

        def call(first: int, last: int, newest: np.ndarray, every: int, total: float) -> float:
            problem.prepare(order[first:last])
            if ask:
                state.replace_blocks(reserve(problem, state.blocks, order[first:last]))
            return run(
                problem.view, order, first, last, inv_lam_n, kind, steps, ask, bends,
                weights, state.blocks, state.bench, problem.desk(), newest, every, total,
            )  # fmt: skip

        with problem.in_haste():
            total, mean = run_averaged(problem, call, len(order), weights, mean)
        if mean is not None:
            state.w_mean = mean
        return total

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the mean of recent iterates, or the last one."""
        state = cast(BlockState, state)
        dual = dual_value(problem, state.blocks, state.w)
        return [(state.w_mean if len(state.w_mean) else state.w, dual)]

    def dual_rounding(self, problem: Problem, state: State, dual: float) -> float:
        """Return a cheap estimate of how far D can be from its computed value."""
        state = cast(BlockState, state)
        # Every visit adds to w and rounds. The errors have either sign, so that their sum grows as
        # the square root of the number of visits.
        n_visits = problem.n_examples * (state.n_passes + 1) * (self.cache + 1)
        length = problem.length(state.w)
        return problem.precision.of_dual(length, dual, problem.lam, 10.0 * math.sqrt(n_visits))

    def sharpen(self, problem: Problem, state: State) -> tuple[float, float]:
        """Sum the dual anew; return D and its rounding."""
        return sharpen_blocks(problem, cast(BlockState, state))

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Keep the coefficients; w = sum of blocks is in inverse proportion to lam."""
        state = cast(BlockState, state)
        self.repair(problem, state)
        state.n_passes = 0
        state.blocks.gap[:] = np.inf

    def repair(self, problem: Problem, state: State) -> None:
        """Make the coefficients of each block sum to 1 again, and compute w from them."""
        state = cast(BlockState, state)
        normalize(state.blocks)
        state.w = primal_weights(problem, state.blocks)
        state.w_mean = np.zeros(0)

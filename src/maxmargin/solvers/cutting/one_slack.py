"""The one-slack cutting plane: one plane per pass, below the risk of all examples together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from maxmargin.core.contract import times_metric
from maxmargin.core.problem import Primal, Problem
from maxmargin.solvers.blocks.bcfw import BlockFrankWolfe
from maxmargin.solvers.blocks.dual import sharpen_blocks
from maxmargin.solvers.contract import Progress, Solver, State
from maxmargin.solvers.cutting.ball_qp import ball_master
from maxmargin.solvers.cutting.planes import (
    DensePlanes,
    Plane,
    SparsePlanes,
    longest_sum,
    planes_from_arrays,
    risk_plane,
    zero_plane,
)
from maxmargin.solvers.cutting.simplex_qp import solve_simplex

#: A plane that has had no coefficient for this many passes is forgotten.
MAX_IDLE = 50
#: The least share of the way from the best w to the master's solution that an inward step goes.
LEAST_SHARE = 1e-3

#: The fields of a state that have one number per plane.
PER_PLANE = ("offset", "alpha", "idle", "noise")


class OneSlackState(State):
    """The planes, their Gram matrix, the master's solution and where to look next.

    ``upper`` is the lowest objective so far and ``lower`` the master's bound: they say how
    accurately the next master has to be solved. The first plane is 0 + 0.w and is never forgotten,
    so that the bound starts at 0. ``best`` is the w of ``upper``; ``share`` says how far an inward
    step goes. ``noise`` says how far rounding can have moved each offset, and ``lower_noise`` how
    far it can have moved the bound.
    """

    def __init__(self, w: np.ndarray, planes: DensePlanes | SparsePlanes) -> None:
        self.w = w
        self.planes = planes
        self.gram = np.zeros((1, 1))
        self.offset = np.zeros(1)
        self.alpha = np.ones(1)
        self.idle = np.zeros(1, dtype=np.int64)
        self.noise = np.zeros(1)
        self.upper, self.lower, self.lower_noise = math.inf, 0.0, 0.0
        self.best, self.share = w, 1.0

    @property
    def is_new(self) -> bool:
        """Whether nothing is known yet, no weights either."""
        return len(self.offset) == 1 and math.isinf(self.upper) and not self.w.any()

    def add(self, new: Plane, regularizer: Any) -> None:
        """Add a plane, with coefficient 0."""
        self.forget()
        offset, plane, rounding = new
        self.planes.append(plane)
        m = self.planes.count
        if m > len(self.gram):
            larger = np.zeros((m + m // 2 + 8,) * 2)
            larger[: m - 1, : m - 1] = self.gram[: m - 1, : m - 1]
            self.gram = larger
        self.gram[m - 1, :m] = self.gram[:m, m - 1] = self.planes.products(
            times_metric(regularizer, plane)
        )
        self.offset = np.append(self.offset, offset)
        self.alpha = np.append(self.alpha, 0.0)
        self.idle = np.append(self.idle, 0)
        self.noise = np.append(self.noise, rounding)

    def in_memory(self) -> np.ndarray:
        """Tell which planes have not been idle for long."""
        kept = self.idle <= MAX_IDLE
        kept[0] = True
        return kept

    def forget(self) -> None:
        """Drop the planes that have been idle for long."""
        kept = self.in_memory()
        if kept.all():
            return
        m = len(kept)
        self.planes.keep(kept)
        self.gram = np.ascontiguousarray(self.gram[:m, :m][np.ix_(kept, kept)])
        for name in PER_PLANE:
            setattr(self, name, getattr(self, name)[kept])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""
        m = len(self.offset)
        own = {name: getattr(self, name) for name in ("w", *PER_PLANE)}
        own["gram"] = self.gram[:m, :m]
        own["best"] = self.best
        own["bounds"] = np.array([self.upper, self.lower, self.share, self.lower_noise])
        return own | self.planes.arrays()

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> OneSlackState:
        """Make the state that `arrays` was called on."""
        w = arrays["w"].copy()
        state = cls(w, planes_from_arrays(len(w), arrays))
        for name in ("gram", *PER_PLANE):
            setattr(state, name, np.ascontiguousarray(arrays[name]).copy())
        state.best = arrays["best"].copy()
        state.upper, state.lower, state.share, state.lower_noise = map(float, arrays["bounds"])
        return state


@dataclass(frozen=True)
class OneSlack(Solver):
    """One-slack cutting plane: a batch method whose every pass gives an exact primal value.

    A pass calls the oracle for all examples at one w, on ``n_jobs`` threads. The mean of the planes
    found is a plane b + a.w below the risk R(w) = 1/n sum_i s_i max psi that touches it at w. The
    master

        min_w  lam/2 |w|^2 + max_t (b_t + a_t.w)

    over all planes so far gives the next w, and its value is a lower bound of the optimum.

    Parameters
    ----------
    radius : float or None
        None minimises P. A number minimises R(w) over |w| <= radius instead, whatever lam is: then
        ``primal``, ``dual`` and ``gap`` of the result belong to that objective. If the constraint
        is not active, w is the shortest of the minimisers.
    inwards : bool
        Where lam is small, the master's solutions jump about, and few of them are good. True makes
        the next plane at a point between the best w so far and the master's solution. Whenever such
        a point was no better, the next one is half as far from the best w; whenever it was better,
        twice as far. Bounds are as good, and rankings, whose losses bend little, need far fewer
        passes. The first pass begins with one of plain block steps, which is nearer to the optimum
        than some ten planes at the master's solutions are. It runs on one thread, and keeps the
        outputs that it finds until it ends. A radius, or weights to start from, do without.

    Examples
    --------
    >>> from maxmargin.solvers import SOLVERS
    >>> SOLVERS["one_slack"](radius=10.0)
    OneSlack(radius=10.0, inwards=False)
    """

    radius: float | None = None
    inwards: bool = False

    name: ClassVar[str] = "one_slack"
    state_class: ClassVar[type[State]] = OneSlackState
    needs: ClassVar[frozenset[str]] = frozenset({"convex"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius is not None and not 0.0 < self.radius < math.inf:
            raise ValueError(
                f"OneSlack: radius must be None, or positive and finite, got {self.radius!r}."
            )

    def start(self, problem: Problem, w: np.ndarray | None = None) -> OneSlackState:
        """Start with the plane 0 + 0.w; the first pass makes a plane at w, or at 0."""
        first = (
            np.zeros(problem.n_weights)
            if w is None
            else self._into_ball(problem, np.array(w, float))
        )
        return OneSlackState(first, zero_plane(problem.n_weights))

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Add the plane at w and move w to the new master's solution."""
        state = cast(OneSlackState, state)
        if self.inwards and self.radius is None and problem.n_examples > 1 and state.is_new:
            _begin_by_blocks(problem, state, rng)
        w = state.w
        risk, plane = risk_plane(problem, w)
        primal = risk if self.radius is not None else problem.regularized(risk, w)
        # Compare the losses that were found: the master has no plane for the bound above them, and
        # must be solved as accurately as without that bound.
        self._compare(state, w, primal.value - primal.excess)
        state.add(plane, problem.regularizer)
        self._solve_master(problem, state)
        self._turn_inwards(state)
        return Progress.at(w, primal, dual=state.lower)

    def _compare(self, state: OneSlackState, w: np.ndarray, value: float) -> None:
        """Keep w if its value is the lowest so far; double ``share`` then, and halve it if not."""
        is_better = value < state.upper
        if is_better:
            state.upper, state.best = value, w
        if self.inwards:
            state.share = min(1.0, max(LEAST_SHARE, (2.0 if is_better else 0.5) * state.share))

    def _turn_inwards(self, state: OneSlackState) -> None:
        """Move w, the master's solution, towards the best w so far."""
        if state.share < 1.0 and state.upper < math.inf:
            state.w = state.best + state.share * (state.w - state.best)

    def _solve_master(self, problem: Problem, state: OneSlackState) -> None:
        """Replace alpha, w and lower by the master's solution, solved to a tenth of the gap."""
        gap = state.upper - state.lower
        tol = 0.1 * gap if 0.0 < gap < math.inf else 0.0
        planes, offset, alpha = state.planes, state.offset, state.alpha
        if self.radius is None:
            solve_simplex(state.gram, offset, problem.lam, alpha, tol)
            w = planes.combine(alpha) / -problem.lam
            lower = float(offset @ alpha) - 0.5 * problem.lam * problem.inner(w, w)
            noise = self._noise(problem, state, alpha, problem.length(w), lower, problem.lam)
            in_use = alpha > 0.0
        else:
            master = ball_master(state.gram, offset, self.radius, alpha, tol)
            w = self._into_ball(problem, planes.combine(master.alpha) / -master.lam)
            # Compute the length from the planes, not from their Gram matrix: see ball_qp.py.
            length = problem.length(planes.combine(master.dual_alpha))
            lower = float(offset @ master.dual_alpha) - self.radius * length
            # The noise is computed at the lam for which |sum of planes| / lam is the radius.
            lam = length / self.radius
            noise = self._noise(problem, state, master.dual_alpha, self.radius, lower, lam)
            in_use = (master.alpha > 0.0) | (master.dual_alpha > 0.0)
        state.idle = np.where(in_use, 0, state.idle + 1)
        state.w = w
        if lower > state.lower:
            state.lower, state.lower_noise = lower, noise

    def _noise(
        self,
        problem: Problem,
        state: OneSlackState,
        alpha: np.ndarray,
        length: float,
        lower: float,
        lam: float,
    ) -> float:
        """Return how far rounding can have moved a lower bound."""
        n_sums = longest_sum(problem) + 2.0 * len(alpha)
        summed = problem.precision.of_dual(length, lower, lam, n_sums)
        return summed + float(alpha @ state.noise)

    def _into_ball(self, problem: Problem, w: np.ndarray) -> np.ndarray:
        """Return w, shortened to the radius where it is longer."""
        if self.radius is None:
            return w
        length = problem.length(w)
        return w * (self.radius / length) if length > self.radius else w

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the master's solution, where the next plane would be made."""
        state = cast(OneSlackState, state)
        return [(state.w, state.lower)]

    def dual_rounding(self, problem: Problem, state: State, dual: float) -> float:
        """Return how far the lower bound can be from what was computed."""
        return cast(OneSlackState, state).lower_noise

    def assess(self, problem: Problem, w: np.ndarray) -> Primal:
        """Return P(w), or R(w) where there is a radius."""
        return problem.assess(w) if self.radius is None else problem.risk(w)

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Keep the planes, which lie below R whatever lam is, and solve their master anew."""
        state = cast(OneSlackState, state)
        state.upper, state.lower, state.share = math.inf, 0.0, 1.0
        state.lower_noise = 0.0
        self._solve_master(problem, state)


def _begin_by_blocks(problem: Problem, state: OneSlackState, rng: np.random.Generator) -> None:
    """Make a pass of plain block steps; go on from the mean of its iterates.

    What the blocks of examples then have is a mean of their planes, so the sum over examples is a
    plane below R as well, whatever lam is: w minimises lam/2 |w|^2 plus it, with the value D.
    """
    solver = BlockFrankWolfe(step="plain", cache=0)
    own = solver.start(problem)
    solver.advance(problem, own, rng)
    dual, rounding = sharpen_blocks(problem, own)
    offset = dual + 0.5 * problem.lam * problem.inner(own.w, own.w)
    state.add(Plane(offset, -problem.lam * own.w, rounding), problem.regularizer)
    # The master may be solved less accurately than to this bound.
    state.lower, state.lower_noise = dual, rounding
    mean = own.w_mean
    state.w = own.w if mean is None or len(mean) == 0 else np.array(mean)

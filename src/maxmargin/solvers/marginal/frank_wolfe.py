"""Frank-Wolfe over all examples at once: one plane of the mean risk a pass."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.solvers.contract import Progress, Solver, State
from maxmargin.solvers.cutting.planes import longest_sum, risk_plane
from maxmargin.solvers.marginal.laws import best_step


class FrankWolfeState(State):
    """w and the mean offset of the planes that it is made of.

    ``bounds`` is [offset, rounding of the offset, passes]; the dual is offset - lam/2 |w|^2.
    """

    def __init__(self, w: np.ndarray, bounds: np.ndarray) -> None:
        self.w = w
        self.bounds = bounds
        self.offer = np.zeros(0)

    def dual(self, problem: Problem) -> float:
        """Return D."""
        return float(self.bounds[0]) - 0.5 * problem.lam * problem.inner(self.w, self.w)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""
        return {"w": self.w, "bounds": self.bounds, "offer": self.offer}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> FrankWolfeState:
        """Make the state that `arrays` was called on."""
        state = cls(arrays["w"].copy(), arrays["bounds"].copy())
        state.offer = arrays["offer"].copy()
        return state


@dataclass(frozen=True)
class FrankWolfe(Solver):
    """Frank-Wolfe on the dual, all examples in one step of exact length.

    A pass calls the oracle for all examples at one w, on ``n_jobs`` threads, and moves w towards
    the mean of the planes found. It keeps nothing but w and a number, and its gap falls as one over
    the number of passes: `OneSlack` with the same planes, and `BlockFrankWolfe` with the same
    oracle, are far ahead of it. It is what `PartialLinearization(tau=0, block=False)` is.

    Examples
    --------
    >>> from maxmargin.solvers import SOLVERS
    >>> SOLVERS["frank_wolfe"]()
    FrankWolfe()
    """

    name: ClassVar[str] = "frank_wolfe"
    state_class: ClassVar[type[State]] = FrankWolfeState
    needs: ClassVar[frozenset[str]] = frozenset({"convex"})
    reach: ClassVar[float] = 0.1

    def start(self, problem: Problem, w: np.ndarray | None = None) -> FrankWolfeState:
        """Start at w = 0, all mass on the true outputs; given weights are the first to report."""
        state = FrankWolfeState(np.zeros(problem.n_weights), np.zeros(3))
        if w is not None:
            state.offer = w.copy()
        return state

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Move towards the plane at w."""
        state = cast(FrankWolfeState, state)
        if len(state.offer):
            w, state.offer = state.offer, np.zeros(0)
            return Progress.at(w, self.assess(problem, w), dual=state.dual(problem))
        w, lam = state.w, problem.lam
        risk, plane = risk_plane(problem, w)
        here = problem.regularized(risk, w)
        change = plane.slope / -lam - w
        rise = plane.offset - state.bounds[0] - lam * problem.inner(w, change)
        curvature = lam * problem.inner(change, change)
        step = best_step(rise, curvature)
        state.w = w + step * change
        state.bounds[:2] += step * (np.array([plane.offset, plane.rounding]) - state.bounds[:2])
        state.bounds[2] += 1.0
        return Progress.at(w, here, dual=state.dual(problem))

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return w."""
        return [(state.w, cast(FrankWolfeState, state).dual(problem))]

    def dual_rounding(self, problem: Problem, state: State, dual: float) -> float:
        """Return how far D can be from its computed value."""
        _, rounding, n_passes = cast(FrankWolfeState, state).bounds
        n_sums = longest_sum(problem) + 10.0 * math.sqrt(n_passes + 1.0)
        length = problem.length(state.w)
        return problem.precision.of_dual(length, dual, problem.lam, n_sums) + float(rounding)

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Keep the masses: w is in inverse proportion to lam."""
        state.w = state.w * (lam / problem.lam)

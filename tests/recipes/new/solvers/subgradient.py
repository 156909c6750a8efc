"""Batch subgradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import add_difference, find, potentials
from maxmargin.core.problem import Problem
from maxmargin.solvers.contract import Progress, Solver, State


class SubgradientState(State):
    """The weights, and how many steps were made."""

    def __init__(self, w: np.ndarray, n_steps: int = 0) -> None:
        self.w, self.n_steps = w, n_steps

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""
        return {"w": self.w, "n_steps": np.array(self.n_steps)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> SubgradientState:
        """Make the state that `arrays` was called on."""
        return cls(arrays["w"].copy(), int(arrays["n_steps"]))


@dataclass(frozen=True)
class Subgradient(Solver):
    """w -= (lam w + mean subgradient of the losses) / (lam t) at step t = 1, 2, ..."""

    name: ClassVar[str] = "subgradient"
    state_class: ClassVar[type[State]] = SubgradientState
    needs: ClassVar[frozenset[str]] = frozenset({"euclidean"})

    def start(self, problem: Problem, w: np.ndarray | None = None) -> SubgradientState:
        """Start at w, or at 0."""
        return SubgradientState(np.zeros(problem.n_weights) if w is None else np.array(w, float))

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Make one step."""
        state = cast(SubgradientState, state)
        descent, run = np.zeros(problem.n_weights), problem.bind(subgradient_pass)
        for first, last in problem.strides(0, problem.n_examples):
            run(problem.view, first, last, state.w, descent, problem.desk())
        state.n_steps += 1
        descent /= problem.n_examples * problem.lam
        state.w += (descent - state.w) / state.n_steps
        return Progress()


@jitable
def subgradient_pass(problem: Any, first: int, last: int, w: Any, descent: Any, desk: Any) -> None:
    """Add the difference of the most violating output of each example to `descent`."""
    desk.slack[0] = 0.0
    for i in range(first, last):
        potentials(problem.data, i, w, 1.0, desk.theta)
        value, slope, _, _ = find(problem.search, problem, i, desk, desk.y, 0)
        if value > 0.0:
            add_difference(problem.data, i, desk.y, 0, problem.weight[i] * slope, descent)

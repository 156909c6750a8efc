"""What a solver must offer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin.core.problem import Primal, Problem


@dataclass
class Progress:
    """What a pass found out.

    ``dual`` is the lower bound after the pass. ``gap_estimate`` is a running sum over the pass, at
    many w: it says when a certificate is worth computing, and is none itself. A pass that knows the
    primal exactly says so in ``primal``, with the weights in ``w``.
    """

    dual: float = math.nan
    gap_estimate: float = math.nan
    primal: float = math.nan
    w: np.ndarray | None = None
    #: How much of the primal is a bound of the search only, see `Primal`.
    excess: float = 0.0
    #: The solver has reached what it looks for, whatever the gap (a perceptron without mistakes).
    is_finished: bool = False


class State(ABC):
    """All that a solver needs to go on, as arrays.

    A state restored from its arrays goes on exactly as the original would have.
    """

    w: np.ndarray

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays (numbers as arrays of no dimension)."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> State:
        """Make the state that `arrays` was called on."""


@dataclass(frozen=True)
class Solver(ABC):
    """One algorithm: where to start, one pass, what to report. The loop is `solvers.run`.

    A solver is an immutable value of its options; what changes lives in its `State`.
    """

    #: Name in the registry.
    name: ClassVar[str]
    #: The state that `start` makes.
    state_class: ClassVar[type[State]]
    #: What it asks for: of the surrogate "convex", "linear" (in h) or "unit_slope" (dpsi/dh is 1),
    #: of the structure "listed" (few outputs, that can be listed), of the regulariser "euclidean".
    needs: ClassVar[frozenset[str]] = frozenset()
    #: Whether it minimises P, so that primal values are worth computing.
    minimizes: ClassVar[bool] = True
    #: Whether it tells a search the loss that the known planes of an example account for.
    knows_slack: ClassVar[bool] = False
    #: Whether it can go on with new data at any time (partial_fit).
    is_online: ClassVar[bool] = False

    @abstractmethod
    def start(self, problem: Problem, w: np.ndarray | None = None) -> State:
        """Return a first state; `w` are weights to make use of, such as those of an earlier fit."""

    @abstractmethod
    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Make one pass over the examples, changing the state.

        In compiled calls of `Problem.strides`: what is raised between two of them, by Ctrl-C or
        because time is up, ends the pass and leaves the state consistent.
        """

    def objective(self, problem: Problem) -> str:
        """Return whose objective is minimised, see `Result.objective`."""
        return problem.objective

    def given(self) -> tuple[Any, ...]:
        """Return what a state depends on besides the problem and the options of the solver."""
        return ()

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the weights worth reporting, preferred ones first, each with its dual value."""
        return [(state.w, math.nan)]

    def assess(self, problem: Problem, w: np.ndarray) -> Primal:
        """Return the value at w of what is minimised: P, unless a solver has its own."""
        return problem.assess(w)

    def dual_rounding(self, problem: Problem, state: State, dual: float) -> float:
        """Return how far rounding can have moved the state's dual value, which was computed."""
        return 0.0  # of no dual at all, unless a solver says so

    def sharpen(self, problem: Problem, state: State) -> tuple[float, float]:
        """Free a dual that is summed over many passes of its rounding; return it with what is left.

        Asked for where the last digits decide. NaN where a dual is computed anew at every pass.
        """
        return math.nan, 0.0

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Change a state that was made at regularisation `lam` to the problem's own."""
        return  # nothing in the state depends on it, unless a solver says so

    def repair(self, problem: Problem, state: State) -> None:
        """Make a state consistent that a pass in plain Python was torn out of.

        A compiled pass cannot be interrupted; that of a user's structure can, between any two
        lines. Called after an interrupt, before anything is read off the state.
        """
        return  # nothing in the state depends on another part, unless a solver says so

    def parameters(self) -> dict[str, Any]:
        """Return the options that make an equal solver."""
        return asdict(self)


def check_finite(w: np.ndarray, name: str, n_passes: int) -> None:
    """Refuse to go on, or to return anything, once numbers have overflowed."""
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(w @ w)
    if not math.isfinite(square):
        raise ValueError(
            f"The weights are no longer finite after pass {n_passes} of {name}: the features, "
            "sample weights or costs are too large for C. Scale them, or lower C."
        )

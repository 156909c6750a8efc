"""What a solver must offer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin.core.problem import Primal, Problem
from maxmargin.solvers.options import check_kinds


@dataclass
class Progress:
    """What a pass found out.

    ``dual`` is the lower bound after the pass. ``gap_estimate`` is a sum over the pass, of gaps at
    many w: it says when a certificate is worth computing, but is not a certificate. A pass
    that knows the primal exactly returns it in ``primal``, with its weights in ``w``.
    """

    dual: float = math.nan
    gap_estimate: float = math.nan
    primal: float = math.nan
    w: np.ndarray | None = None
    #: The part of the primal that is only a bound of the search, and of how many examples it is;
    #: see `Primal`.
    excess: float = 0.0
    n_open: int = 0
    #: Whether the solver has reached its aim, whatever the gap is (a perceptron without mistakes).
    is_finished: bool = False

    @classmethod
    def at(cls, w: np.ndarray, known: Primal, **more: Any) -> Progress:
        """Return what a pass found out that knows the primal of its weights."""
        return cls(w=w, primal=known.value, excess=known.excess, n_open=known.n_open, **more)

    @property
    def known(self) -> Primal:
        """The primal, and how much of it is a bound."""
        return Primal(self.primal, self.excess, self.n_open)


class State(ABC):
    """All that a solver needs to go on, as arrays.

    A state restored from its arrays goes on exactly as the original would have.
    """

    w: np.ndarray

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays (numbers as arrays without dimensions)."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> State:
        """Return a state equal to the one that returned ``arrays``."""


@dataclass(frozen=True)
class Solver(ABC):
    """One algorithm: where to start, one pass, what to report. The loop is `solvers.run`.

    A solver is an immutable value of its options; what changes lives in its `State`.
    """

    #: Name in the registry.
    name: ClassVar[str]
    #: The state that `start` makes.
    state_class: ClassVar[type[State]]
    #: What it requires: "convex", "linear" (in h) or "unit_slope" (dpsi/dh is 1) of the surrogate,
    #: "listed" (few outputs, which can be listed) or "marginals" (laws of outputs) of the
    #: structure, "euclidean" of the regulariser. Where an option decides, those of the instance
    #: count, as they do for `takes_kernels`; those of the class are then those of its defaults.
    needs: ClassVar[frozenset[str]] = frozenset()
    #: Whether it takes features that are known by a kernel: it takes any norm, and calls
    #: `Problem.prepare` before a compiled call that reads examples.
    takes_kernels: ClassVar[bool] = False
    #: Whether it minimises P, so that primal values are worth computing.
    minimizes: ClassVar[bool] = True
    #: Whether it tells a search the slack of an example: the loss that known planes account for.
    knows_slack: ClassVar[bool] = False
    #: Whether it can go on with new data at any time (partial_fit).
    is_online: ClassVar[bool] = False
    #: The relative gap that it reaches on small problems in some hundred passes, if it has a dual:
    #: methods whose gap falls as one over the number of passes come no closer.
    reach: ClassVar[float] = 1e-6
    #: Whether its weights are one dense vector, which checkpoints and weights of features need.
    has_dense_weights: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the options; what a subclass checks besides comes after this."""
        check_kinds(self)

    def engine(self, problem: Problem) -> Solver:
        """Return the solver that does the work on this problem.

        Itself, unless it is a name for several algorithms; those go by the same name.
        """
        return self

    @abstractmethod
    def start(self, problem: Problem, w: np.ndarray | None = None) -> State:
        """Return a first state; it may use the weights `w`, such as those of an earlier fit."""

    @abstractmethod
    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Make one pass over the examples, changing the state.

        A pass is a series of compiled calls, see `Problem.strides`. An exception between two calls,
        by Ctrl-C or because time is up, ends the pass and leaves the state consistent.
        """

    def objective(self, problem: Problem) -> str:
        """Return which objective is minimised, see `Result.objective`."""
        return problem.objective

    def given(self) -> tuple[Any, ...]:
        """Return what a state depends on besides the problem and the options of the solver."""
        return ()

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the weights worth reporting, preferred ones first, each with its dual value."""
        return [(state.w, math.nan)]

    def assess(self, problem: Problem, w: np.ndarray) -> Primal:
        """Return the objective at w: P, unless a solver minimises another one."""
        return problem.assess(w)

    def length(self, problem: Problem, w: np.ndarray) -> float:
        """Return |w|."""
        return problem.length(w)

    def dual_rounding(self, problem: Problem, state: State, dual: float) -> float:
        """Return how far rounding can have moved ``dual``, the computed dual of the state."""
        return 0.0  # the default is for solvers without a dual

    def sharpen(self, problem: Problem, state: State) -> tuple[float, float]:
        """Remove the rounding of many passes from the dual; return the dual and its rounding.

        `run` calls it where the last digits decide. The dual is NaN for solvers that compute it
        anew at every pass.
        """
        return math.nan, 0.0

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Change a state that was made with the regulariser `lam` to that of the problem."""
        return  # by default nothing in the state depends on lam

    def repair(self, problem: Problem, state: State) -> None:
        """Make a state consistent after an interrupt within a pass.

        A compiled call cannot be interrupted, but plain Python, as of a user's structure, can be,
        between any two lines. Called after an interrupt, before the state is read.
        """
        return  # by default no part of the state depends on another

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

"""The shared Frobenius norm around a dual solver: the weights of nodes are learnt too.

    min over U and alpha in S of lam/2 sum_n |U_n|^2 / alpha_n + R(U),
    S = { alpha >= 0, with sums of at most 1 along every path }.

For coefficients beta, Z_n = lam U_n / alpha_n does not depend on alpha, and with the linear part of
the dual, linear(beta),

    D(beta) = linear(beta) - F / (2 lam),    F = max over alpha in S of sum_n alpha_n |Z_n|^2,

is a lower bound of the joint optimum. P(U) is computed with the best alpha for U. So

    P - D  <=  [gap at this alpha] + [F - sum_n alpha_n |Z_n|^2] / (2 lam),

and a run alternates: passes at one alpha while the first bracket is the larger one, then a new
alpha. Coefficients are feasible for every alpha, so nothing is lost in between.

Passes at one alpha raise the dual of that alpha, and the joint D may fall. So a state keeps the
dual point of the largest joint D beside its own: a run that is taken up from a file must prove the
bound that it tells.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from maxmargin.core.contract import listed_gram
from maxmargin.core.problem import Primal, Problem
from maxmargin.regularizers.hierarchy import (
    HierarchyPaths,
    named_weights,
    shared_dual_norm,
    shared_square,
    shared_weights,
)
from maxmargin.solvers.contract import Progress, Solver, State

#: Passes at one alpha end when its own gap is at most this share of the joint one.
SHARE = 0.3
#: Largest share of the weights that attain F in a new alpha. The closed form is a multiple of
#: alpha_n |Z_n|, so without them a node whose weight has fallen to 0 could not come back. The share
#: falls with how far F is from being attained: as it is, alpha and with it F would stay off by it.
REVIVED = 0.02
#: What the arrays of a peak are called by, within those of a state.
PEAK = "peak."
#: No weight falls below this, so that Z can be computed from U.
FLOOR = 1e-9


class SharedPoint(State):
    """A state with the weights of nodes that its w belongs to, and the best dual point so far.

    Comes before the state that it is added to among the bases of a class.
    """

    alpha = np.zeros(0)
    #: The dual point of the largest joint dual so far, and that dual (NaN where it is not known
    #: yet); None before the first pass.
    peak: Any = None
    peak_dual = math.nan
    #: Whether the peak is this state itself.
    is_peak = True

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays, with those of the peak unless it is this state."""
        own = {**super().arrays(), "alpha": self.alpha}  # type: ignore[safe-super]
        if self.is_peak or self.peak is None:
            return own
        return own | {f"{PEAK}{name}": array for name, array in self.peak.arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Make the state that `arrays` was called on."""
        own, peak = divided(arrays)
        state, state_peak = cls._of(own), cls._of(peak or own)
        state.peak, state.is_peak = state_peak, not peak
        return state

    @classmethod
    def _of(cls, arrays: dict[str, np.ndarray]) -> Self:
        state: Any = super().from_arrays(arrays)  # type: ignore[safe-super]
        state.alpha = arrays["alpha"].copy()
        return state  # type: ignore[no-any-return]


def divided(arrays: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays of a state, and those of its peak."""
    own = {name: array for name, array in arrays.items() if not name.startswith(PEAK)}
    peak = {name[len(PEAK) :]: array for name, array in arrays.items() if name.startswith(PEAK)}
    return own, peak


class SharedNorm(Solver):
    """A solver of dual blocks that also learns the weights of nodes, to a joint certificate.

    Comes before the solver whose passes it repeats among the bases of a class, whose states have
    ``alpha``, the weights that their w belongs to. Primal, dual and gap of results are those of the
    shared norm. Users do not choose such solvers: ``alpha="shared"`` of a hierarchy does.
    """

    #: Largest number of passes over all examples between two changes of alpha.
    most: int
    #: The paths along which weights sum to at most 1.
    paths: HierarchyPaths | None

    @abstractmethod
    def _linear(self, problem: Problem, state: Any) -> float:
        """Return the linear part of the dual."""

    @abstractmethod
    def _has_moved(self, state: Any) -> bool:
        """Tell whether the state has made a pass."""

    def _adjust(self, problem: Problem, state: Any) -> None:
        """Compute anew what a state keeps that depends on alpha, besides w."""

    @abstractmethod
    def _with_alpha(self, plain: Any, alpha: np.ndarray) -> Any:
        """Return a first state with the weights that it belongs to."""

    @abstractmethod
    def _copied(self, problem: Problem, state: Any) -> Any:
        """Return a copy of the dual point of a state: what its joint dual is computed from."""

    def start(self, problem: Problem, w: np.ndarray | None = None) -> Any:
        """Start at w = 0 with the weights "rho" of a forest, or "maxmin" of another graph."""
        paths = self._paths()
        alpha = named_weights(paths, "rho" if paths.above is not None else "maxmin")
        if (alpha[paths.columns >= 0] < FLOOR).any():
            alpha = _admissible(paths, alpha)
        self._use(problem, alpha)
        return self._with_alpha(super().start(problem, w), alpha)  # type: ignore[safe-super]

    def given(self) -> tuple[Any, ...]:
        """Return the paths."""
        return (self.paths,)

    def parameters(self) -> dict[str, Any]:
        """Return the options that make an equal solver, without the paths, which are data."""
        own = vars(self)
        return {name: value for name, value in own.items() if name != "paths"}

    def objective(self, problem: Problem) -> str:
        """Return "shared": the norm is the shared one."""
        return "shared"

    def assess(self, problem: Problem, w: np.ndarray) -> Primal:
        """Return P(w), the norm being that of the best weights for w."""
        risk = problem.risk(w)
        square = shared_square(self._paths(), self._squares(problem, w))
        return risk._replace(value=risk.value + 0.5 * problem.lam * square)

    def advance(self, problem: Problem, state: Any, rng: np.random.Generator) -> Progress:
        """Change alpha, unless this is the first pass; then make passes at it."""
        if not np.array_equal(problem.regularizer.alpha, state.alpha):  # of an earlier run
            self._use(problem, state.alpha)
            self._adjust(problem, state)
        if self._has_moved(state):
            self._reweigh(problem, state)
        state.is_peak = False  # until its dual is known
        known = Progress()
        for _ in range(self.most):
            progress = super().advance(problem, state, rng)  # type: ignore[safe-super]
            if progress.w is not None:
                known = progress
            dual, rest = self._joint(problem, state)
            if progress.gap_estimate <= SHARE * (progress.gap_estimate + rest):
                break
        estimate = progress.gap_estimate + rest
        self._note_peak(problem, state, dual)
        is_finished = progress.is_finished
        return replace(known, dual=dual, gap_estimate=estimate, is_finished=is_finished)

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the mean of recent iterates and the last one."""
        *others, (w, _) = super().iterates(problem, state)
        return [*others, (w, self._joint(problem, state)[0])]

    def sharpen(self, problem: Problem, state: State) -> tuple[float, float]:
        """Sum the dual anew; return D and its rounding."""
        _, rounding = super().sharpen(problem, state)
        return self._joint(problem, state)[0], rounding

    def length(self, problem: Problem, w: np.ndarray) -> float:
        """Return a bound of |w| that holds for the best weights, whatever those of the data are."""
        most_nodes = int(np.diff(self._paths().matrix.indptr).max(initial=1))
        return math.sqrt(most_nodes * float(self._squares(problem, w).sum()))

    def adapt(self, problem: Problem, state: Any, lam: float) -> None:
        """Change a state to another lam, at the weights of nodes that it has."""
        self.use(problem, state)
        super().adapt(problem, state, lam)  # type: ignore[safe-super]
        state.peak = None  # its dual was that of another lam

    def repair(self, problem: Problem, state: Any) -> None:
        """Make a state consistent after an interrupt, at the weights of nodes that it has."""
        self.use(problem, state)
        super().repair(problem, state)  # type: ignore[safe-super]

    def proved(self, problem: Problem, state: Any) -> float:
        """Return the lower bound of the joint optimum that a state proves."""
        points = [state] if state.peak is None else [state, state.peak]
        return max(self._joint(problem, point)[0] for point in points)

    def use(self, problem: Problem, state: Any) -> None:
        """Let norm and updates be those of the weights of nodes of a state."""
        if not np.array_equal(problem.regularizer.alpha, state.alpha):
            self._use(problem, state.alpha)

    def _note_peak(self, problem: Problem, state: Any, dual: float) -> None:
        """Keep a copy of the dual point if no earlier one has a larger joint dual."""
        if state.peak is not None and math.isnan(state.peak_dual):  # from a file
            state.peak_dual = self._joint(problem, state.peak)[0]
        state.is_peak = state.peak is None or dual >= state.peak_dual
        if state.is_peak:
            state.peak, state.peak_dual = self._copied(problem, state), dual

    def _paths(self) -> HierarchyPaths:
        if self.paths is None:
            raise ValueError(f"{type(self).__name__}: paths must be given.")
        return self.paths

    def _squares(self, problem: Problem, w: np.ndarray) -> np.ndarray:
        """Return |U_n|^2 of every node."""
        columns = w.reshape(-1, len(problem.regularizer.alpha))
        return np.asarray(np.einsum("fn,fn->n", columns, columns))

    def _duals(self, problem: Problem, state: Any) -> np.ndarray:
        """Return |Z_n|^2 of every node."""
        alpha = state.alpha
        ratio = np.divide(problem.lam, alpha, out=np.zeros_like(alpha), where=alpha > 0.0)
        return self._squares(problem, state.w) * ratio**2

    def _joint(self, problem: Problem, state: Any) -> tuple[float, float]:
        """Return the joint dual D, and how much D at this alpha is above it."""
        linear = self._linear(problem, state)
        duals = self._duals(problem, state)
        most = shared_dual_norm(self._paths(), duals)[0]
        here = float(state.alpha @ duals)
        return linear - 0.5 * most / problem.lam, 0.5 * max(most - here, 0.0) / problem.lam

    def _reweigh(self, problem: Problem, state: Any) -> None:
        """Take the best alpha for U, with a share of the weights that attain F."""
        paths = self._paths()
        best = shared_weights(paths, self._squares(problem, state.w))
        duals = self._duals(problem, state)
        most, corner = shared_dual_norm(paths, duals)
        short = 1.0 - float(state.alpha @ duals) / most if most > 0.0 else 0.0
        share = min(REVIVED, max(0.25 * short, 0.0))
        alpha = _admissible(paths, (1.0 - share) * best + share * corner)
        old = state.alpha
        # U_n = alpha_n Z_n / lam
        ratio = np.divide(alpha, old, out=np.zeros_like(alpha), where=old > 0.0)
        columns = state.w.reshape(-1, len(alpha))
        columns *= ratio
        state.alpha = alpha
        state.w_mean = np.zeros(0)
        self._use(problem, alpha)
        self._adjust(problem, state)

    def _use(self, problem: Problem, alpha: np.ndarray) -> None:
        """Write the weights to the data, which norm and updates read them from."""
        problem.regularizer.alpha[:] = alpha
        problem.recompute(listed_gram)


def _admissible(paths: HierarchyPaths, weights: np.ndarray) -> np.ndarray:
    """Return weights that are no less than `FLOOR` and sum to at most 1 along every path."""
    alpha = np.maximum(weights, FLOOR)
    alpha[paths.columns < 0] = 0.0
    return alpha / max(float((paths.matrix @ paths.sums_of(alpha)).max()), 1.0)

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
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

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
#: Share of the weights that attain F in a new alpha. The closed form is a multiple of
#: alpha_n |Z_n|, so without them a node whose weight has fallen to 0 could not come back.
REVIVED = 0.02
#: No weight falls below this, so that Z can be computed from U.
FLOOR = 1e-9


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

    def start(self, problem: Problem, w: np.ndarray | None = None) -> Any:
        """Start at w = 0 with the weights "rho" of a forest, or "maxmin" of another graph."""
        paths = self._paths()
        alpha = named_weights(paths, "rho" if paths.above is not None else "maxmin")
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
        return Primal(risk.value + 0.5 * problem.lam * square, risk.excess)

    def advance(self, problem: Problem, state: Any, rng: np.random.Generator) -> Progress:
        """Change alpha, unless this is the first pass; then make passes at it."""
        if not np.array_equal(problem.regularizer.alpha, state.alpha):  # of an earlier run
            self._use(problem, state.alpha)
            self._adjust(problem, state)
        if self._has_moved(state):
            self._reweigh(problem, state)
        primal, w, excess = np.nan, None, 0.0
        for _ in range(self.most):
            progress = super().advance(problem, state, rng)  # type: ignore[safe-super]
            if progress.w is not None:
                primal, w, excess = progress.primal, progress.w, progress.excess
            dual, rest = self._joint(problem, state)
            if progress.gap_estimate <= SHARE * (progress.gap_estimate + rest):
                break
        estimate = progress.gap_estimate + rest
        return replace(
            progress, dual=dual, gap_estimate=estimate, primal=primal, w=w, excess=excess
        )

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the mean of recent iterates and the last one."""
        *others, (w, _) = super().iterates(problem, state)
        return [*others, (w, self._joint(problem, state)[0])]

    def sharpen(self, problem: Problem, state: State) -> tuple[float, float]:
        """Sum the dual anew; return D and its rounding."""
        _, rounding = super().sharpen(problem, state)
        return self._joint(problem, state)[0], rounding

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
        _, corner = shared_dual_norm(paths, self._duals(problem, state))
        alpha = np.maximum((1.0 - REVIVED) * best + REVIVED * corner, FLOOR)
        alpha[paths.columns < 0] = 0.0
        alpha /= max(float((paths.matrix @ paths.sums_of(alpha)).max()), 1.0)
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

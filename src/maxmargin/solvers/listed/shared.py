"""Dual coordinate ascent under the shared Frobenius norm: the weights of nodes are learnt too.

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

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

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
from maxmargin.solvers.contract import Progress, State
from maxmargin.solvers.listed.dual import ListedState
from maxmargin.solvers.listed.sdca import SDCA

#: Passes at one alpha end when its own gap is at most this share of the joint one.
SHARE = 0.3
#: Share of the weights that attain F in a new alpha. The closed form is a multiple of
#: alpha_n |Z_n|, so without them a node whose weight has fallen to 0 could not come back.
REVIVED = 0.02
#: No weight falls below this, so that Z can be computed from U.
FLOOR = 1e-9


class SharedState(ListedState):
    """The state of `SDCA`, and the weights of nodes that its w belongs to."""

    def __init__(self, *listed: Any, alpha: np.ndarray | None = None) -> None:
        super().__init__(*listed)
        self.alpha = np.zeros(0) if alpha is None else alpha

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""
        return {**super().arrays(), "alpha": self.alpha}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> SharedState:
        """Make the state that `arrays` was called on."""
        state = cast(SharedState, super().from_arrays(arrays))
        state.alpha = arrays["alpha"].copy()
        return state


@dataclass(frozen=True)
class SharedSDCA(SDCA):
    """`SDCA` that also learns the weights of nodes, to a joint certificate.

    Primal, dual and gap of its results are those of the shared norm. Users do not choose this
    solver: ``alpha="shared"`` of a hierarchy does.

    Parameters
    ----------
    repeats : see `SDCA`
    most : int
        Largest number of passes over all examples between two changes of alpha.
    paths : HierarchyPaths
        The paths along which weights sum to at most 1.
    """

    most: int = 8
    paths: HierarchyPaths | None = field(default=None, repr=False, compare=False)

    state_class: ClassVar[type[State]] = SharedState

    def start(self, problem: Problem, w: np.ndarray | None = None) -> SharedState:
        """Start at w = 0 with the weights "rho" of a forest, or "maxmin" of another graph."""
        paths = self._paths()
        alpha = named_weights(paths, "rho" if paths.above is not None else "maxmin")
        self._use(problem, alpha)
        plain = super().start(problem, w)
        state = SharedState(plain.w, plain.beta, plain.slope, plain.offset, alpha=alpha)
        state.offer = plain.offer
        return state

    def given(self) -> tuple[Any, ...]:
        """Return the paths."""
        return (self.paths,)

    def parameters(self) -> dict[str, Any]:
        """Return the options that make an equal solver, without the paths, which are data."""
        return {"repeats": self.repeats, "most": self.most}

    def objective(self, problem: Problem) -> str:
        """Return "shared": the norm is the shared one."""
        return "shared"

    def assess(self, problem: Problem, w: np.ndarray) -> Primal:
        """Return P(w), the norm being that of the best weights for w."""
        risk = problem.risk(w)
        square = shared_square(self._paths(), self._squares(problem, w))
        return Primal(risk.value + 0.5 * problem.lam * square, risk.excess)

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Change alpha, unless this is the first pass; then make passes at it."""
        state = cast(SharedState, state)
        if not np.array_equal(problem.regularizer.alpha, state.alpha):  # of an earlier run
            self._use(problem, state.alpha)
        if np.isfinite(state.gap).any():
            self._reweigh(problem, state)
        primal, w, excess = np.nan, None, 0.0
        for _ in range(self.most):
            progress = super().advance(problem, state, rng)
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
        last = (state.w, self._joint(problem, cast(SharedState, state))[0])
        return [*super().iterates(problem, state)[:-1], last]

    def sharpen(self, problem: Problem, state: State) -> tuple[float, float]:
        """Sum the dual anew; return D and its rounding."""
        _, rounding = super().sharpen(problem, state)
        return self._joint(problem, cast(SharedState, state))[0], rounding

    def _paths(self) -> HierarchyPaths:
        if self.paths is None:
            raise ValueError("SharedSDCA: paths must be given.")
        return self.paths

    def _squares(self, problem: Problem, w: np.ndarray) -> np.ndarray:
        """Return |U_n|^2 of every node."""
        columns = w.reshape(-1, len(problem.regularizer.alpha))
        return np.asarray(np.einsum("fn,fn->n", columns, columns))

    def _duals(self, problem: Problem, state: SharedState) -> np.ndarray:
        """Return |Z_n|^2 of every node."""
        alpha = state.alpha
        ratio = np.divide(problem.lam, alpha, out=np.zeros_like(alpha), where=alpha > 0.0)
        return self._squares(problem, state.w) * ratio**2

    def _joint(self, problem: Problem, state: SharedState) -> tuple[float, float]:
        """Return the joint dual D, and how much D at this alpha is above it."""
        linear = float(problem.view.weight @ state.linear) / problem.n_examples
        duals = self._duals(problem, state)
        most = shared_dual_norm(self._paths(), duals)[0]
        here = float(state.alpha @ duals)
        return linear - 0.5 * most / problem.lam, 0.5 * max(most - here, 0.0) / problem.lam

    def _reweigh(self, problem: Problem, state: SharedState) -> None:
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

    def _use(self, problem: Problem, alpha: np.ndarray) -> None:
        """Write the weights to the data, which norm and updates read them from."""
        problem.regularizer.alpha[:] = alpha
        problem.recompute(listed_gram)

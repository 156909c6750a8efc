"""Dual coordinate ascent over lists of outputs under the shared Frobenius norm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.regularizers.hierarchy import HierarchyPaths
from maxmargin.solvers.contract import State
from maxmargin.solvers.listed.dual import ListedState
from maxmargin.solvers.listed.sdca import SDCA
from maxmargin.solvers.shared import SharedNorm, SharedPoint, divided


class SharedState(SharedPoint, ListedState):
    """The state of `SDCA`, and the weights of nodes that its w belongs to."""


@dataclass(frozen=True)
class SharedSDCA(SharedNorm, SDCA):
    """`SDCA` that also learns the weights of nodes; ``most`` and ``paths`` as in `SharedNorm`."""

    most: int = 8
    paths: HierarchyPaths | None = field(default=None, repr=False, compare=False)

    state_class: ClassVar[type[State]] = SharedState

    def _linear(self, problem: Problem, state: Any) -> float:
        return float(problem.view.weight @ state.linear) / problem.n_examples

    def _has_moved(self, state: Any) -> bool:
        return bool(np.isfinite(state.gap).any())

    def _with_alpha(self, plain: Any, alpha: np.ndarray) -> SharedState:
        state = SharedState(plain.w, plain.beta, plain.slope, plain.offset)
        state.offer, state.alpha = plain.offer, alpha
        return state

    def _copied(self, problem: Problem, state: Any) -> SharedState:
        own, _ = divided(state.arrays())
        nothing = np.zeros(0)
        return SharedState._of({**own, "w_mean": nothing, "offer": nothing})

"""Dual coordinate ascent over lists of outputs under the shared Frobenius norm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.regularizers.hierarchy import HierarchyPaths
from maxmargin.solvers.contract import State
from maxmargin.solvers.listed.dual import ListedState
from maxmargin.solvers.listed.sdca import SDCA
from maxmargin.solvers.shared import SharedNorm


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
        state = SharedState(plain.w, plain.beta, plain.slope, plain.offset, alpha=alpha)
        state.offer = plain.offer
        return state

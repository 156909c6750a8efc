"""Block-coordinate Frank-Wolfe under the shared Frobenius norm: for sets of nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.regularizers.hierarchy import HierarchyPaths
from maxmargin.solvers.blocks.arena import find_products
from maxmargin.solvers.blocks.bcfw import BlockFrankWolfe, BlockState
from maxmargin.solvers.blocks.dual import dual_value
from maxmargin.solvers.contract import State
from maxmargin.solvers.shared import SharedNorm


class SharedBlockState(BlockState):
    """The state of `BlockFrankWolfe`, and the weights of nodes that its w belongs to."""

    alpha = np.zeros(0)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""
        return {**super().arrays(), "alpha": self.alpha}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> SharedBlockState:
        """Make the state that `arrays` was called on."""
        state = cast(SharedBlockState, super().from_arrays(arrays))
        state.alpha = arrays["alpha"].copy()
        return state


@dataclass(frozen=True)
class SharedBlockFrankWolfe(SharedNorm, BlockFrankWolfe):
    """`BlockFrankWolfe` that also learns the weights of nodes, see `SharedNorm`."""

    most: int = 8
    paths: HierarchyPaths | None = field(default=None, repr=False, compare=False)

    state_class: ClassVar[type[State]] = SharedBlockState

    def _linear(self, problem: Problem, state: Any) -> float:
        square = problem.inner(state.w, state.w)
        return dual_value(problem, state.blocks, state.w) + 0.5 * problem.lam * square

    def _has_moved(self, state: Any) -> bool:
        return bool(state.n_passes > 0)

    def _adjust(self, problem: Problem, state: Any) -> None:
        problem.bind(find_products)(problem.view, state.blocks, problem.desk())

    def _with_alpha(self, plain: Any, alpha: np.ndarray) -> SharedBlockState:
        state = SharedBlockState(plain.w, plain.blocks)
        state.alpha = alpha
        return state

"""Block-coordinate Frank-Wolfe under the shared Frobenius norm: for sets of nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.regularizers.hierarchy import HierarchyPaths
from maxmargin.solvers.blocks.arena import find_products, packed
from maxmargin.solvers.blocks.bcfw import BlockFrankWolfe, BlockState
from maxmargin.solvers.blocks.dual import linear_term
from maxmargin.solvers.contract import State
from maxmargin.solvers.shared import SharedNorm, SharedPoint


class SharedBlockState(SharedPoint, BlockState):
    """The state of `BlockFrankWolfe`, and the weights of nodes that its w belongs to."""


@dataclass(frozen=True)
class SharedBlockFrankWolfe(SharedNorm, BlockFrankWolfe):
    """`BlockFrankWolfe` that also learns the weights of nodes, see `SharedNorm`."""

    most: int = 8
    paths: HierarchyPaths | None = field(default=None, repr=False, compare=False)

    state_class: ClassVar[type[State]] = SharedBlockState

    def _linear(self, problem: Problem, state: Any) -> float:
        return linear_term(problem, state.blocks)

    def _has_moved(self, state: Any) -> bool:
        return bool(state.n_passes > 0)

    def _adjust(self, problem: Problem, state: Any) -> None:
        problem.bind(find_products)(problem.view, state.blocks, problem.desk())

    def _with_alpha(self, plain: Any, alpha: np.ndarray) -> SharedBlockState:
        state = SharedBlockState(plain.w, plain.blocks)
        state.alpha = alpha
        return state

    def _copied(self, problem: Problem, state: Any) -> SharedBlockState:
        copy = SharedBlockState(state.w.copy(), packed(problem, state.blocks))
        copy.alpha, copy.n_passes = state.alpha.copy(), state.n_passes
        return copy

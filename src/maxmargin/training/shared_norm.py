"""Hierarchies under the shared norm: the weights of nodes are learnt with the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.core.contract import capabilities
from maxmargin.regularizers.hierarchy import HierarchyPaths, shared_weights
from maxmargin.solvers.blocks.bcfw import BlockFrankWolfe
from maxmargin.solvers.blocks.shared import SharedBlockFrankWolfe
from maxmargin.solvers.listed.sdca import SDCA
from maxmargin.solvers.listed.shared import SharedSDCA
from maxmargin.training.settings import Settings
from maxmargin.training.task import Task

__all__ = ["learnt_weights", "with_shared_norm"]


def with_shared_norm(settings: Settings, task: Task, paths: HierarchyPaths) -> Settings:
    """Return the settings with a solver that learns the weights of nodes, along these paths.

    Costs must not depend on the weights: those of the task are what they were encoded with.
    """
    solver = settings.solver
    kind: Any = None
    if isinstance(solver, SDCA):
        kind = SharedSDCA if "listed" in capabilities(task.data, task.cost) else None
    elif isinstance(solver, BlockFrankWolfe):
        kind = SharedBlockFrankWolfe
    if kind is None:
        raise ValueError(
            "alpha='shared' needs solver='auto' or 'bcfw', or where each output is one path "
            f"solver='sdca'; got {type(solver).__name__}."
        )
    return replace(settings, solver=kind(**solver.parameters(), paths=paths))


def learnt_weights(paths: HierarchyPaths, w: Any) -> np.ndarray:
    """Return the weights of nodes that belong to the weights w of a model, best for them."""
    columns = np.asarray(w).reshape(-1, len(paths.columns))
    return shared_weights(paths, np.einsum("fn,fn->n", columns, columns))

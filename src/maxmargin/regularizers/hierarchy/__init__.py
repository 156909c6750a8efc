"""Weights alpha of the nodes of a hierarchy, in lam/2 sum_n |U_n|^2 / alpha_n."""

from __future__ import annotations

from maxmargin.regularizers.hierarchy.paths import HierarchyPaths, hierarchy_paths, path_matrix
from maxmargin.regularizers.hierarchy.shared import (
    shared_dual_norm,
    shared_norm,
    shared_square,
    shared_weights,
)
from maxmargin.regularizers.hierarchy.weights import (
    ALPHAS,
    alpha_weights,
    named_weights,
    path_sums,
)

__all__ = [
    "ALPHAS",
    "HierarchyPaths",
    "alpha_weights",
    "hierarchy_paths",
    "named_weights",
    "path_matrix",
    "path_sums",
    "shared_dual_norm",
    "shared_norm",
    "shared_square",
    "shared_weights",
]

"""Hierarchies: nodes in a tree, a forest or a directed acyclic graph, each with a score."""

from __future__ import annotations

from maxmargin.inference.hierarchy.public import (
    NodeMarginals,
    k_best,
    marginals,
    max_marginals,
    maximize,
    profile,
    score,
)
from maxmargin.inference.hierarchy.shape import HierarchyShape, hierarchy_shape, parents_first

__all__ = [
    "HierarchyShape",
    "NodeMarginals",
    "hierarchy_shape",
    "k_best",
    "marginals",
    "max_marginals",
    "maximize",
    "parents_first",
    "profile",
    "score",
]

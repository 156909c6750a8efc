"""Forests of pairs: best, k best, marginals, max-marginals, best per level of a cost.

The factors are dense tables over pairs of nodes (and over single nodes) that form a forest; see
`forest_order`, which is computed once per shape. Kernels go through the order backwards, so that
all children of a node have been merged into it when it is reached, and then forwards, so that a
parent is decided before its children. They take shape, potentials, order and a workspace, and can
be called from compiled oracles.
"""

from __future__ import annotations

from maxmargin.inference.graph.forest.best import (
    ForestRoom,
    best_forest,
    forest_max_marginals,
    forest_room,
)
from maxmargin.inference.graph.forest.kbest import KBestRoom, best_k_forest, kbest_room
from maxmargin.inference.graph.forest.marginal import (
    MarginalRoom,
    forest_marginals,
    marginal_room,
)
from maxmargin.inference.graph.forest.order import ForestOrder, find_forest, forest_order
from maxmargin.inference.graph.forest.profiles import (
    ProfileRoom,
    forest_profile,
    profile_room,
    write_forest_level,
)

__all__ = [
    "ForestOrder",
    "ForestRoom",
    "KBestRoom",
    "MarginalRoom",
    "ProfileRoom",
    "best_forest",
    "best_k_forest",
    "find_forest",
    "forest_marginals",
    "forest_max_marginals",
    "forest_order",
    "forest_profile",
    "forest_room",
    "kbest_room",
    "marginal_room",
    "profile_room",
    "write_forest_level",
]

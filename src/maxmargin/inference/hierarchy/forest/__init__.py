"""Sets of nodes of a forest: best, k best, marginals, max-marginals, best per level of a cost.

All kernels maximise the sum of the scores of the nodes in a set y that holds the parent of each of
its nodes. There are two spaces: all closed sets, the empty one too (``to_leaves`` = 0), and the
unions of paths from a root to a leaf, one at least (``to_leaves`` = 1): then every inner node of y
has a child in y, and y holds a root.

Nodes are numbered parents first; ``parent`` holds -1 for roots. Arrays over nodes have one cell
more, the last one, for a virtual node above the roots, which is in every set. The kernels first go
through the nodes backwards: all children of a node have been merged into it when it is reached, and
it is then merged into its parent. Then they go forwards, so that a parent is decided before its
children.

A score of -inf keeps a node out, and so the nodes below it. Nodes of ``must`` are in every set: an
int8 array of flags that holds the parents of its nodes, or an empty one. Ties leave nodes out.
"""

from __future__ import annotations

from maxmargin.inference.hierarchy.forest.best import best_set
from maxmargin.inference.hierarchy.forest.kbest import (
    BestSets,
    best_k_sets,
    best_sets_room,
    write_ranked_set,
)
from maxmargin.inference.hierarchy.forest.marginal import set_marginals, set_max_marginals
from maxmargin.inference.hierarchy.forest.profiles import (
    SetLevels,
    set_levels_room,
    set_profile,
    write_set_level,
)

__all__ = [
    "BestSets",
    "SetLevels",
    "best_k_sets",
    "best_set",
    "best_sets_room",
    "set_levels_room",
    "set_marginals",
    "set_max_marginals",
    "set_profile",
    "write_ranked_set",
    "write_set_level",
]

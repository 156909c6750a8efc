"""Junction trees, as bucket elimination: best, k best, marginals, max-marginals.

Exact for any graph of dense tables; what it takes is the number of table cells, which grows with
the product of the labels of the nodes that meet in a bucket. `find_junction_tree` computes it
before anything is allocated.
"""

from __future__ import annotations

from maxmargin.inference.graph.junction.best import (
    JunctionRoom,
    best_junction,
    junction_max_marginals,
    junction_room,
)
from maxmargin.inference.graph.junction.kbest import (
    KBestJunctionRoom,
    best_k_junction,
    kbest_cells,
    kbest_junction_room,
)
from maxmargin.inference.graph.junction.marginal import junction_marginals
from maxmargin.inference.graph.junction.order import Elimination, min_fill
from maxmargin.inference.graph.junction.tree import (
    JunctionTree,
    find_junction_tree,
    junction_tree,
    laid_out,
    too_large,
)

__all__ = [
    "Elimination",
    "JunctionRoom",
    "JunctionTree",
    "KBestJunctionRoom",
    "best_junction",
    "best_k_junction",
    "find_junction_tree",
    "junction_marginals",
    "junction_max_marginals",
    "junction_room",
    "junction_tree",
    "kbest_cells",
    "kbest_junction_room",
    "laid_out",
    "min_fill",
    "too_large",
]

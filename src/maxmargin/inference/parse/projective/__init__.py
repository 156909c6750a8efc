"""Projective trees: no two arcs cross. Dynamic programmes over spans of words."""

from __future__ import annotations

from maxmargin.inference.parse.projective.batch import (
    BatchChart,
    batch_chart_room,
    best_projective_batch,
)
from maxmargin.inference.parse.projective.batch_marginal import (
    BatchSums,
    batch_sums_room,
    projective_marginals_batch,
)
from maxmargin.inference.parse.projective.best import best_projective
from maxmargin.inference.parse.projective.chart import Chart, chart_room
from maxmargin.inference.parse.projective.kbest import (
    TreeLists,
    best_k_projective,
    tree_lists_room,
)
from maxmargin.inference.parse.projective.marginal import (
    TreeSums,
    tree_marginals,
    tree_sums_room,
)
from maxmargin.inference.parse.projective.profiles import (
    TreeLevels,
    projective_profile,
    tree_levels_room,
    write_projective_level,
)

__all__ = [
    "BatchChart",
    "BatchSums",
    "Chart",
    "TreeLevels",
    "TreeLists",
    "TreeSums",
    "batch_chart_room",
    "batch_sums_room",
    "best_k_projective",
    "best_projective",
    "best_projective_batch",
    "chart_room",
    "projective_marginals_batch",
    "projective_profile",
    "tree_levels_room",
    "tree_lists_room",
    "tree_marginals",
    "tree_sums_room",
    "write_projective_level",
]

"""Trees of any shape: spanning arborescences, whose arcs may cross."""

from __future__ import annotations

from maxmargin.inference.parse.spanning.batch import (
    best_spanning_batch,
    spanning_marginals_batch,
)
from maxmargin.inference.parse.spanning.best import (
    Contraction,
    best_spanning,
    best_spanning_once,
    contraction_room,
    spread,
)
from maxmargin.inference.parse.spanning.kbest import (
    SpanningLists,
    best_k_spanning,
    best_k_spanning_once,
    spanning_lists_room,
)
from maxmargin.inference.parse.spanning.marginal import (
    Reduction,
    reduction_room,
    spanning_marginals,
)

__all__ = [
    "Contraction",
    "Reduction",
    "SpanningLists",
    "best_k_spanning",
    "best_k_spanning_once",
    "best_spanning",
    "best_spanning_batch",
    "best_spanning_once",
    "contraction_room",
    "reduction_room",
    "spanning_lists_room",
    "spanning_marginals",
    "spanning_marginals_batch",
    "spread",
]

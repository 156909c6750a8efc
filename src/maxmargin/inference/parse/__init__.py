"""Parses: every word has a head, another word or the root, and the arcs form a tree."""

from __future__ import annotations

from maxmargin.inference.parse.batch import (
    BatchMarginals,
    BatchTrees,
    marginals_batch,
    maximize_batch,
)
from maxmargin.inference.parse.public import (
    ArcMarginals,
    Parse,
    k_best,
    marginals,
    maximize,
    profile,
    score,
    siblings_of,
)

__all__ = [
    "ArcMarginals",
    "BatchMarginals",
    "BatchTrees",
    "Parse",
    "k_best",
    "marginals",
    "marginals_batch",
    "maximize",
    "maximize_batch",
    "profile",
    "score",
    "siblings_of",
]

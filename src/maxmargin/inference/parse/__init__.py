"""Parses: every word has a head, another word or the root, and the arcs form a tree."""

from __future__ import annotations

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
    "Parse",
    "k_best",
    "marginals",
    "maximize",
    "profile",
    "score",
    "siblings_of",
]

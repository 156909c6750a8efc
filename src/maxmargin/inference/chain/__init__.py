"""Chains: labellings of a sequence scored by unary and transition potentials."""

from __future__ import annotations

from maxmargin.inference.chain.public import (
    k_best,
    marginals,
    max_marginals,
    maximize,
    profile,
    score,
)

__all__ = ["k_best", "marginals", "max_marginals", "maximize", "profile", "score"]

"""Classes: one label out of K, each with a score."""

from __future__ import annotations

from maxmargin.inference.classes.public import k_best, marginals, max_marginals, maximize, profile

__all__ = ["k_best", "marginals", "max_marginals", "maximize", "profile"]

"""Classes: one label out of K, each with a score."""

from __future__ import annotations

from maxmargin.inference.classes.public import k_best, marginals, maximize

__all__ = ["k_best", "marginals", "maximize"]

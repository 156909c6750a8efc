"""Label sets: which of m labels are on, scored one by one and in pairs."""

from __future__ import annotations

from maxmargin.inference.labels.public import k_best, marginals, maximize, profile, score

__all__ = ["k_best", "marginals", "maximize", "profile", "score"]

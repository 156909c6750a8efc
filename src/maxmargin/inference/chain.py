"""Chains: labellings of a sequence scored by unary and transition potentials."""

from __future__ import annotations

from maxmargin.inference.chain_best import best_path, path_score

__all__ = ["best_path", "path_score"]

"""`TreeSVM` and `GraphSVM`, and what they are made of."""

from __future__ import annotations

from maxmargin.estimators.graph.svm import GraphSVM, TreeSVM

__all__ = ["GraphSVM", "TreeSVM"]

"""`HierarchySVM`, the baselines that it is compared with, and what they are made of."""

from __future__ import annotations

from maxmargin.estimators.hierarchy.svm import HierarchySVM

__all__ = ["HierarchySVM"]

"""`HierarchySVM`, the baselines that it is compared with, and what they are made of."""

from __future__ import annotations

from maxmargin.estimators.hierarchy.baselines import FlatSVM, LocalRidge, LocalSVM
from maxmargin.estimators.hierarchy.svm import HierarchySVM

__all__ = ["FlatSVM", "HierarchySVM", "LocalRidge", "LocalSVM"]

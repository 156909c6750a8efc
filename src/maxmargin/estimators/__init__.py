"""Estimators with scikit-learn faces: validate, encode, build the problem, run, keep the result."""

from __future__ import annotations

from maxmargin.estimators.base import BaseSVM, Training
from maxmargin.estimators.chain import ChainSVM
from maxmargin.estimators.checkpoint import Checkpoint
from maxmargin.estimators.constraints import Constraints
from maxmargin.estimators.multiclass import MulticlassSVM
from maxmargin.estimators.multilabel import MultilabelSVM
from maxmargin.estimators.path import PathResult
from maxmargin.estimators.ranking import RankingSVM
from maxmargin.estimators.structured import StructuredSVM, register_structure

__all__ = [
    "BaseSVM",
    "ChainSVM",
    "Checkpoint",
    "Constraints",
    "MulticlassSVM",
    "MultilabelSVM",
    "PathResult",
    "RankingSVM",
    "StructuredSVM",
    "Training",
    "register_structure",
]

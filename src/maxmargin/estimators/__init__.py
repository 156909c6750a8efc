"""Estimators with scikit-learn faces: validate, encode, build the problem, run, keep the result."""

from __future__ import annotations

from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.chain.svm import ChainSVM
from maxmargin.estimators.graph.answers import Answers
from maxmargin.estimators.graph.svm import GraphSVM, TreeSVM
from maxmargin.estimators.hierarchy.svm import HierarchySVM
from maxmargin.estimators.latent import LatentSVM
from maxmargin.estimators.multiclass import MulticlassSVM
from maxmargin.estimators.multilabel.svm import MultilabelSVM
from maxmargin.estimators.parser.svm import ParserSVM
from maxmargin.estimators.ranking.svm import RankingSVM
from maxmargin.estimators.structured import StructuredSVM, register_structure
from maxmargin.estimators.topk import TopK
from maxmargin.inputs.constraints import Constraints
from maxmargin.inputs.graphs import Graph
from maxmargin.inputs.hierarchy import Hierarchy
from maxmargin.training.checkpoint import Checkpoint
from maxmargin.training.path import PathResult

__all__ = [
    "Answers",
    "BaseSVM",
    "ChainSVM",
    "Checkpoint",
    "Constraints",
    "Graph",
    "GraphSVM",
    "Hierarchy",
    "HierarchySVM",
    "LatentSVM",
    "MulticlassSVM",
    "MultilabelSVM",
    "ParserSVM",
    "PathResult",
    "RankingSVM",
    "StructuredSVM",
    "TopK",
    "TreeSVM",
    "register_structure",
]

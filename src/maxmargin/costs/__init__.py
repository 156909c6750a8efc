"""Task losses: how bad an output is, whatever is minimised in its place."""

from __future__ import annotations

from maxmargin.costs.base import Cost, largest_cost
from maxmargin.costs.f1 import InstanceF1
from maxmargin.costs.hamming import Hamming
from maxmargin.costs.label_sets import label_tables, micro_f1_cost
from maxmargin.costs.matrix import CostMatrix
from maxmargin.costs.ranking.measures import (
    AUC,
    NDCG,
    AveragePrecision,
    NDCGAtK,
    PrecisionAtK,
    graded_weights,
)
from maxmargin.costs.ranking.pairs import NDCGPairs
from maxmargin.costs.ranking.user import RankingCost
from maxmargin.costs.tables import F1Cost, LabelCost, MicroF1Cost, PartCost, WholeCost
from maxmargin.costs.weighted import ClassWeighted
from maxmargin.costs.zero_one import ZeroOne

#: Costs by name. A new one is a file of its own and a line here.
COSTS: dict[str, type] = {
    "hamming": Hamming,
    "zero_one": ZeroOne,
    "class_weighted": ClassWeighted,
    "matrix": CostMatrix,
    "f1": InstanceF1,
}

#: Costs of rankings by name.
RANKING_COSTS: dict[str, type] = {
    "ap": AveragePrecision,
    "ndcg": NDCG,
    "ndcg_pairs": NDCGPairs,
    "ndcg_at_k": NDCGAtK,
    "auc": AUC,
    "precision_at_k": PrecisionAtK,
}

__all__ = [
    "AUC",
    "COSTS",
    "NDCG",
    "RANKING_COSTS",
    "AveragePrecision",
    "ClassWeighted",
    "Cost",
    "CostMatrix",
    "F1Cost",
    "Hamming",
    "InstanceF1",
    "LabelCost",
    "MicroF1Cost",
    "NDCGAtK",
    "NDCGPairs",
    "PartCost",
    "PrecisionAtK",
    "RankingCost",
    "WholeCost",
    "ZeroOne",
    "graded_weights",
    "label_tables",
    "largest_cost",
    "micro_f1_cost",
]

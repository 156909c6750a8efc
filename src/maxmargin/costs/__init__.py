"""Task losses: how bad an output is, whatever is minimised in its place."""

from __future__ import annotations

from maxmargin.costs.attachment import LAS, UAS, ArcCost
from maxmargin.costs.base import PRICED, Cost, check_priced, fitting_costs, tabulate
from maxmargin.costs.edge_loss import EdgeLoss
from maxmargin.costs.edge_tables import EdgeCost
from maxmargin.costs.example_f1 import ExampleF1
from maxmargin.costs.hamming import Hamming
from maxmargin.costs.hierarchy.leaf_hamming import LeafHamming
from maxmargin.costs.hierarchy.node_hamming import NodeHamming
from maxmargin.costs.hierarchy.normalized import NormalizedHierarchical
from maxmargin.costs.hierarchy.tree_distance import TreeDistance
from maxmargin.costs.matrix import CostMatrix
from maxmargin.costs.micro_f1 import micro_f1_cost, micro_f1_criteria
from maxmargin.costs.ordinal import Ordinal
from maxmargin.costs.ranking.auc import AUC
from maxmargin.costs.ranking.average_precision import AveragePrecision
from maxmargin.costs.ranking.graded import graded_weights
from maxmargin.costs.ranking.ndcg import NDCG
from maxmargin.costs.ranking.ndcg_at_k import NDCGAtK
from maxmargin.costs.ranking.pairs import NDCGPairs
from maxmargin.costs.ranking.precision_at_k import PrecisionAtK
from maxmargin.costs.ranking.user import RankingCost
from maxmargin.costs.tables import (
    F1Cost,
    PartCost,
    SetEdgeCost,
    ShiftedPartCost,
    SwitchCost,
    WeightedPartCost,
    WholeCost,
)
from maxmargin.costs.weighted import ClassWeighted
from maxmargin.costs.zero_one import ZeroOne

#: Costs by name. A new one is a file of its own and a line here; which structures it fits is found
#: by asking it (`fitting_costs`).
COSTS: dict[str, type[Cost]] = {
    "hamming": Hamming,
    "zero_one": ZeroOne,
    "class_weighted": ClassWeighted,
    "matrix": CostMatrix,
    "ordinal": Ordinal,
    "edge": EdgeLoss,
    "f1": ExampleF1,
    "tree_distance": TreeDistance,
    "node_hamming": NodeHamming,
    "leaf_hamming": LeafHamming,
    "normalized_hierarchical": NormalizedHierarchical,
    "ap": AveragePrecision,
    "ndcg": NDCG,
    "ndcg_pairs": NDCGPairs,
    "ndcg_at_k": NDCGAtK,
    "auc": AUC,
    "precision_at_k": PrecisionAtK,
    "uas": UAS,
    "las": LAS,
}

#: Some surrogates have criteria of their own: by name, what they take in the place of a cost.
CRITERIA = {"micro_f1": micro_f1_criteria}

__all__ = [
    "AUC",
    "COSTS",
    "CRITERIA",
    "LAS",
    "NDCG",
    "PRICED",
    "UAS",
    "ArcCost",
    "AveragePrecision",
    "ClassWeighted",
    "Cost",
    "CostMatrix",
    "EdgeCost",
    "EdgeLoss",
    "ExampleF1",
    "F1Cost",
    "Hamming",
    "LeafHamming",
    "NDCGAtK",
    "NDCGPairs",
    "NodeHamming",
    "NormalizedHierarchical",
    "Ordinal",
    "PartCost",
    "PrecisionAtK",
    "RankingCost",
    "SetEdgeCost",
    "ShiftedPartCost",
    "SwitchCost",
    "TreeDistance",
    "WeightedPartCost",
    "WholeCost",
    "ZeroOne",
    "check_priced",
    "fitting_costs",
    "graded_weights",
    "micro_f1_cost",
    "tabulate",
]

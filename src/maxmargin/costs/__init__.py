"""Task losses: how bad an output is, whatever is minimised in its place."""

from __future__ import annotations

from maxmargin.costs.base import Cost, largest_cost
from maxmargin.costs.hamming import Hamming
from maxmargin.costs.matrix import CostMatrix
from maxmargin.costs.tables import PartCost, WholeCost
from maxmargin.costs.weighted import ClassWeighted
from maxmargin.costs.zero_one import ZeroOne

#: Costs by name. A new one is a file of its own and a line here.
COSTS: dict[str, type] = {
    "hamming": Hamming,
    "zero_one": ZeroOne,
    "class_weighted": ClassWeighted,
    "matrix": CostMatrix,
}

__all__ = [
    "COSTS",
    "ClassWeighted",
    "Cost",
    "CostMatrix",
    "Hamming",
    "PartCost",
    "WholeCost",
    "ZeroOne",
    "largest_cost",
]

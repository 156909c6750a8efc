"""Leaf Hamming cost: the leaves that the predicted or the true output has alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.contract import PricedHierarchy
from maxmargin.costs.base import Cost, Names
from maxmargin.costs.hierarchy.base import differences
from maxmargin.costs.tables import PartCost, SwitchCost, switch_cost


@dataclass(frozen=True)
class LeafHamming(Cost):
    """The number of leaves that are in the predicted output or in the true one, not in both.

    Inner nodes cost nothing. For places in a hierarchy and for sets of nodes.

    Examples
    --------
    >>> is_leaf = np.array([False, True, True])
    >>> nodes = PricedHierarchy(np.ones(3), is_leaf, np.zeros(0), np.zeros(0))
    >>> LeafHamming().tabulate("nodes", ["top", "a", "b"], [[1, 2]], nodes).price[:, 0]
    array([0., 1., 1.])
    """

    def paths(self, names: Names, sizes: np.ndarray, hierarchy: PricedHierarchy) -> PartCost:
        """Return the loss of one label as compiled code reads it."""
        return PartCost(differences(hierarchy, hierarchy.is_leaf), np.ones(len(sizes)))

    def nodes(self, names: Names, sizes: np.ndarray, hierarchy: PricedHierarchy) -> SwitchCost:
        """Return the loss of sets of nodes as compiled code reads it."""
        price = np.asarray(hierarchy.is_leaf, dtype=np.float64)
        return switch_cost(np.stack([price, price], axis=1), np.ones(len(sizes)))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost (there are none)."""
        return {}

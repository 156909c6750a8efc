"""The normalised hierarchical cost: the distance of two labels in the norm of the hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.contract import PricedHierarchy
from maxmargin.costs.base import Cost, Names
from maxmargin.costs.hierarchy.base import check_node_weights, differences, node_weights
from maxmargin.costs.tables import PartCost


@dataclass(frozen=True)
class NormalizedHierarchical(Cost):
    """The root of the sum of alpha over the nodes in which two labels differ.

    It is at most the root of 2 where the weights of each path add up to 1.

    Parameters
    ----------
    alpha : sequence of shape (n_nodes,), or None
        Weights of nodes, in the order of `Hierarchy.nodes`; the end at a label above others has the
        weight of the label. None: those of the norm. They are needed where the norm itself is
        learnt: a cost must not depend on what is learnt.

    Examples
    --------
    >>> alpha = np.array([0.5, 0.5, 0.5])
    >>> paths = PricedHierarchy(alpha, None, np.array([0, 2, 4]), np.array([0, 1, 0, 2]))
    >>> NormalizedHierarchical().tabulate("paths", ["a", "b"], [1], paths).matrix
    array([[0., 1.],
           [1., 0.]])
    """

    alpha: Any = None

    def __post_init__(self) -> None:
        if self.alpha is not None:
            numbers = tuple(float(weight) for weight in self.alpha)
            check_node_weights("NormalizedHierarchical: alpha", numbers, len(numbers))
            object.__setattr__(self, "alpha", numbers)

    def paths(self, names: Names, sizes: np.ndarray, hierarchy: PricedHierarchy) -> PartCost:
        """Return the loss as compiled code reads it."""
        weights = hierarchy.alpha
        if self.alpha is not None:
            weights = node_weights("NormalizedHierarchical: alpha", self.alpha, hierarchy)
        return PartCost(np.sqrt(differences(hierarchy, weights)), np.ones(len(sizes)))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        return {"alpha": None if self.alpha is None else list(self.alpha)}

"""Node Hamming cost: the nodes that the predicted or the true output has alone, weighted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.contract import PricedHierarchy
from maxmargin.costs.base import Cost, Names
from maxmargin.costs.hierarchy.base import (
    check_node_weights,
    counted,
    differences,
    node_weights,
)
from maxmargin.costs.tables import PartCost, SwitchCost, switch_cost


@dataclass(frozen=True)
class NodeHamming(Cost):
    """Sum of weights of the nodes that are in the predicted output or in the true one, not in both.

    For places in a hierarchy and for sets of nodes.

    Parameters
    ----------
    weights : "alpha", sequence of shape (n_nodes,), or None
        What each node costs, in the order of `Hierarchy.nodes`: of all nodes, those too that no
        label has or that all have. "alpha": its weight in the norm; None: 1 each. To end at a label
        above others costs nothing, but with "alpha" what the end weighs in the norm.

    Examples
    --------
    >>> paths = PricedHierarchy(np.ones(3), None, np.array([0, 2, 4]), np.array([0, 1, 0, 2]))
    >>> NodeHamming([1, 2, 0.5]).tabulate("paths", ["a", "b"], [1], paths).matrix
    array([[0. , 2.5],
           [2.5, 0. ]])
    """

    weights: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.weights, str):
            if self.weights != "alpha":
                raise ValueError(
                    f"NodeHamming: weights must be 'alpha', numbers or None, got {self.weights!r}."
                )
        elif self.weights is not None:
            numbers = tuple(float(weight) for weight in self.weights)
            check_node_weights("NodeHamming: weights", numbers, len(numbers))
            object.__setattr__(self, "weights", numbers)

    def paths(self, names: Names, sizes: np.ndarray, hierarchy: PricedHierarchy) -> PartCost:
        """Return the loss of one label as compiled code reads it."""
        return PartCost(differences(hierarchy, self._weights(hierarchy)), np.ones(len(sizes)))

    def nodes(self, names: Names, sizes: np.ndarray, hierarchy: PricedHierarchy) -> SwitchCost:
        """Return the loss of sets of nodes as compiled code reads it."""
        weights = self._weights(hierarchy)
        return switch_cost(np.stack([weights, weights], axis=1), np.ones(len(sizes)))

    def _weights(self, hierarchy: PricedHierarchy) -> np.ndarray:
        if isinstance(self.weights, str):
            return np.asarray(hierarchy.alpha)
        if self.weights is None:
            return counted(hierarchy)
        return node_weights("NodeHamming: weights", self.weights, hierarchy) * counted(hierarchy)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        is_listed = isinstance(self.weights, tuple)
        return {"weights": list(self.weights) if is_listed else self.weights}

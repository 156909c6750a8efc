"""Tree distance: the edges between the predicted and the true label."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from maxmargin.core.contract import PricedHierarchy
from maxmargin.costs.base import Cost, Names
from maxmargin.costs.hierarchy.base import counted, differences
from maxmargin.costs.tables import PartCost


@dataclass(frozen=True)
class TreeDistance(Cost):
    """The number of nodes in which the paths of two labels differ: the edges between them.

    In a DAG it counts the nodes that are above one of the two labels, or are one of them, but not
    of the other.

    Parameters
    ----------
    scaled : bool
        Whether distances are divided by the largest of them, so that C means about the same as
        with other costs.

    Examples
    --------
    >>> paths = PricedHierarchy(np.ones(4), None, np.array([0, 1, 3]), np.array([0, 1, 3]))
    >>> TreeDistance(scaled=False).tabulate("paths", ["a", "b"], [1], paths).matrix
    array([[0., 3.],
           [3., 0.]])
    """

    scaled: bool = True

    def paths(self, names: Names, sizes: np.ndarray, hierarchy: PricedHierarchy) -> PartCost:
        """Return the loss as compiled code reads it."""
        matrix = differences(hierarchy, counted(hierarchy))
        largest = matrix.max(initial=0.0)
        if self.scaled and largest > 0.0:
            matrix /= largest
        return PartCost(matrix, np.ones(len(sizes)))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        return asdict(self)

"""Edge loss of graphs: edges at which the labelling is wrong, and wrong roots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from maxmargin.core.contract import Links, PricedHierarchy
from maxmargin.costs.base import Cost, Names
from maxmargin.costs.edge_tables import EdgeCost, edge_cost, roots_of
from maxmargin.costs.hamming import Hamming
from maxmargin.costs.hierarchy.base import edge_losses, edge_prices
from maxmargin.costs.tables import PartCost, SetEdgeCost


@dataclass(frozen=True)
class EdgeLoss(Cost):
    """Number of edges of a graph at which the labelling is wrong, and of wrong roots.

    An edge (a, b) leads from the parent a to the child b. With ``wrong="child"`` it costs 1 if the
    label of b is wrong and that of a is right: a mistake below another mistake is free. So a wrong
    root costs besides; without it, an output that is wrong at the root and below would cost
    nothing. Roots are the nodes without a parent, and where edges run in a circle that no other
    node leads to, the lowest node of the circle. Then the loss is 0 for the right labels only. With
    ``wrong="any"`` an edge costs 1 if any of its ends is wrong, and nodes without edges cost 1 if
    they are wrong.

    In a hierarchy edges lead from parents to children, and outputs hold the parents of their nodes.
    On a tree this is also the path loss, wrong nodes whose ancestors are all right: if the parent
    of a wrong node is right, both outputs hold it, and so all nodes above it.

    The last node of a hyperedge is the child, the others are its parents, which must all be right
    if the child is to cost.

    Parameters
    ----------
    wrong : {"child", "any"}
    weights : sequence of numbers >= 0, or None
        One per edge, then one per hyperedge, for examples that all have the same edges in the same
        order. Of a hierarchy one per edge of all that it has, in the order of `Hierarchy.edges`, by
        child, then by parent. None: 1 for each.
    root : float >= 0
        What a wrong root costs; with ``wrong="any"``, a wrong node without edges.
    average : {"sum", "mean"}
        "mean" divides by the sum of all prices of the graph.

    Examples
    --------
    The edges 0 -> 1 -> 2, of which all labels are wrong: only the root costs.

    >>> import numpy as np
    >>> from maxmargin.core.contract import Links, TrueParts
    >>> known, ends = np.ones(3, dtype=bool), np.array([0, 1, 1, 2])
    >>> edges = Links(known, np.array([0, 3]), np.array([0, 2]), np.array([0, 2, 4]), ends)
    >>> truth = TrueParts("vertices", np.array([3]), np.array([0, 0, 0]), edges)
    >>> EdgeLoss().costs_of(truth, ["a", "b"], np.array([1, 1, 1]))
    (array([1.]), array([3.]))
    >>> EdgeLoss("any").costs_of(truth, ["a", "b"], np.array([1, 1, 1]))
    (array([2.]), array([2.]))
    """

    wrong: str = "child"
    weights: Sequence[float] | None = None
    root: float = 1.0
    average: str = "sum"

    def __post_init__(self) -> None:
        Hamming(self.average)
        if self.wrong not in ("child", "any"):
            raise ValueError(f"EdgeLoss: wrong must be 'child' or 'any', got {self.wrong!r}.")
        if not (isinstance(self.root, (int, float)) and 0.0 <= self.root < np.inf):
            raise ValueError(f"EdgeLoss: root must be a number >= 0, got {self.root!r}.")
        if self.weights is not None:
            numbers = np.asarray(self.weights, dtype=np.float64)
            if numbers.ndim != 1 or not (np.isfinite(numbers) & (numbers >= 0.0)).all():
                raise ValueError("EdgeLoss: weights must be finite numbers >= 0, one per edge.")
            object.__setattr__(self, "weights", tuple(numbers.tolist()))

    def vertices(self, names: Names, sizes: np.ndarray, links: Links | None) -> EdgeCost:
        """Return the loss as compiled code reads it."""
        if links is None:
            raise ValueError("EdgeLoss prices edges: tabulate needs links, the edges of graphs.")
        n_links = np.diff(links.link_at)
        prices = np.ones(int(n_links.sum()))
        if self.weights is not None:
            other = np.flatnonzero(n_links != len(self.weights))
            if len(other):
                raise ValueError(
                    f"EdgeLoss: weights has {len(self.weights)} numbers but example {other[0]} has "
                    f"{n_links[other[0]]} edges and hyperedges."
                )
            prices = np.tile(np.asarray(self.weights, dtype=np.float64), len(n_links))
        none = np.zeros(len(prices))
        if self.wrong == "child":
            return edge_cost(links, self.root * roots_of(links), prices, none, self.average)
        is_alone = np.array(links.is_known, dtype=bool)
        is_alone[links.members] = False
        return edge_cost(links, self.root * is_alone, none, prices, self.average)

    # -- hierarchies -----------------------------------------------------------------------------

    def nodes(self, names: Names, sizes: np.ndarray, hierarchy: PricedHierarchy) -> SetEdgeCost:
        """Return the loss of sets that hold the parents of their nodes."""
        root, edge = self.prices_in(hierarchy)
        total = float(root.sum() + edge.sum()) if self.average == "mean" else 1.0
        scale = np.full(len(sizes), 1.0 / (total or 1.0))
        return SetEdgeCost(scale, root, edge, hierarchy.parent_at, hierarchy.parents)

    def paths(self, names: Names, sizes: np.ndarray, hierarchy: PricedHierarchy) -> PartCost:
        """Return the loss of one label, which stands for all nodes above it."""
        root, edge = self.prices_in(hierarchy)
        matrix = edge_losses(hierarchy, root, edge)
        total = float(root.sum() + edge.sum()) if self.average == "mean" else 1.0
        return PartCost(matrix / (total or 1.0), np.ones(len(sizes)))

    def prices_in(self, hierarchy: PricedHierarchy) -> tuple[np.ndarray, np.ndarray]:
        """Return what each node costs whatever its parents, and what each edge costs."""
        if self.wrong != "child":
            raise ValueError("EdgeLoss: wrong='any' is for graphs; hierarchies have wrong='child'.")
        return edge_prices("EdgeLoss: weights", self.root, self.weights, hierarchy)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        weights = None if self.weights is None else list(self.weights)
        return {**asdict(self), "weights": weights}

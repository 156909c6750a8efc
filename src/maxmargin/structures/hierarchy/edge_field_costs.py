"""Costs of edge fields: wrong nodes, wrong nodes below right ones, or any mistake."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.contract import true_parts
from maxmargin.costs import EdgeCost, PartCost, WeightedPartCost, WholeCost
from maxmargin.costs.edge_tables import edge_cost
from maxmargin.costs.hamming import Hamming
from maxmargin.structures.hierarchy.edge_field import EdgeField

__all__ = ["FIELD_COSTS", "edge_field_cost", "edge_loss_of_field"]

#: What an edge field may cost, by name; see `edge_field_cost`.
FIELD_COSTS = ("hamming", "zero_one", "edge", "path")


def edge_field_cost(
    data: EdgeField,
    cost: str = "hamming",
    weights: Any = None,
    average: str = "sum",
) -> PartCost | WeightedPartCost | EdgeCost | WholeCost:
    """Return a cost of edge fields, as solvers take it.

    Parameters
    ----------
    data : what `edge_field_data` returned
    cost : {"hamming", "zero_one", "edge", "path"}
        "hamming" counts wrong nodes. "zero_one" is 1 for any mistake; for trees. "edge" counts
        wrong nodes below a parent that is right (of a DAG, once for each such parent), and wrong
        nodes without parents.
        "path" counts wrong nodes whose ancestors are all right. For consistent sets of a tree it is
        the edge loss: if a node is in one set only and its parent is right, both sets hold the
        parent, hence all ancestors. Elsewhere, and on a DAG, it needs partial paths.
    weights : array of shape (M,) or None
        What counting a node adds; None for 1 each.
    average : {"sum", "mean"}
        "mean" divides by the sum of the weights; for "edge" and "path" by the sum of all prices.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.core.contract import output_cost
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> from maxmargin.structures.hierarchy.edge_field import edge_field_data
    >>> shape = hierarchy_shape(3, child=[1, 2], parent=[0, 0])
    >>> data = edge_field_data(shape, np.eye(1), [[1, 1, 0]])
    >>> nothing = np.array([0, 0, 0, 1], dtype=np.int32)
    >>> tables = [edge_field_cost(data, name) for name in FIELD_COSTS]
    >>> [float(output_cost(data, each, 0, nothing, 0)) for each in tables]
    [2.0, 1.0, 1.0, 1.0]
    """
    Hamming(average)
    if cost not in FIELD_COSTS:
        raise ValueError(f"cost={cost!r} is no cost of edge fields: {', '.join(FIELD_COSTS)}.")
    n, n_nodes = len(data.graphs.shapes.n_cells), len(data.graphs.shapes.n_labels) - 1
    own = np.ones(n_nodes) if weights is None else np.asarray(weights, dtype=np.float64)
    if own.shape != (n_nodes,) or not (np.isfinite(own) & (own >= 0.0)).all():
        raise ValueError(f"weights must hold {n_nodes} finite numbers >= 0, one per node.")
    if cost == "zero_one":
        if weights is not None:
            raise ValueError("weights are for costs that count nodes; zero_one does not.")
        return WholeCost(np.ones(n))
    if cost == "hamming":
        scale = np.full(n, 1.0 / (own.sum() or 1.0) if average == "mean" else 1.0)
        if weights is None:
            return PartCost(1.0 - np.eye(2), scale)
        return WeightedPartCost(1.0 - np.eye(2), scale, np.tile(np.append(own, 0.0), n))
    return _cost_of_edges(data, cost, own, average)


def _cost_of_edges(data: EdgeField, cost: str, own: np.ndarray, average: str) -> EdgeCost:
    graphs, links = data.graphs, true_parts(data).links
    n_nodes = len(own)
    last_node = links.members[links.member_at[1:] - 1] % (n_nodes + 1)
    orders = np.diff(links.member_at)
    prices = own[last_node]
    if cost == "edge" or (len(graphs.edge_barrier) and _has_one_parent(data)):
        prices = prices * (orders == 2)
    elif (orders > 2).any():
        # A longer path takes the place of the edge to its last node.
        has_path = np.zeros(n_nodes, dtype=bool)
        has_path[last_node[orders > 2]] = True
        prices = prices * ((orders > 2) | ~has_path[last_node])
    elif not _is_shallow(data):
        raise ValueError(
            "cost='path' needs partial paths (paths=True), or a tree and consistent=True, where it "
            "is the edge loss."
        )
    node, none = np.zeros(len(links.is_known)), np.zeros(len(prices))
    return edge_cost(links, node, prices, none, average)


def edge_loss_of_field(
    data: EdgeField, node: np.ndarray, edge: np.ndarray, average: str = "sum"
) -> EdgeCost:
    """Return an edge loss with prices of one's own; "mean" divides by their sum.

    Parameters
    ----------
    node : array of shape (M,), what a wrong node costs whatever its parents
    edge : array of shape (E,), what it costs besides for each parent that is right, edges ordered
        by child, then by parent
    """
    links = true_parts(data).links
    n = len(data.graphs.shapes.n_cells)
    parent = _first_edges(data)[:, 0]
    prices = np.zeros(len(parent))  # an edge from the node that is always on is a node without one
    prices[parent < len(node)] = edge
    of_links = np.zeros((n, (len(links.member_at) - 1) // max(n, 1)))
    of_links[:, : len(prices)] = prices
    own = of_links.reshape(-1)
    return edge_cost(links, np.tile(np.append(node, 0.0), n), own, np.zeros(len(own)), average)


def _first_edges(data: EdgeField) -> np.ndarray:
    graphs = data.graphs
    n_edges = graphs.layout.n_edge_types
    return np.asarray(graphs.shapes.members[: 2 * n_edges]).reshape(-1, 2)


def _has_one_parent(data: EdgeField) -> bool:
    children = _first_edges(data)[:, 1]
    return len(np.unique(children)) == len(children)


def _is_shallow(data: EdgeField) -> bool:
    """Tell whether all parents are roots of a tree: then a path is an edge."""
    edges = _first_edges(data)
    n_nodes = len(data.graphs.shapes.n_labels) - 1
    roots = edges[edges[:, 0] == n_nodes, 1]
    return _has_one_parent(data) and bool(np.isin(edges[:, 0], [*roots, n_nodes]).all())

"""Costs of hierarchies as tables over the nodes of a model, which are not all the user's nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.contract import PricedHierarchy, has, maximize
from maxmargin.costs import CostMatrix, EdgeLoss, LeafHamming, NodeHamming, tabulate
from maxmargin.costs.hierarchy.base import node_weights
from maxmargin.costs.tables import SwitchCost
from maxmargin.inputs.hierarchy.space import HierarchySpace
from maxmargin.structures.hierarchy.edge_field_costs import edge_field_cost, edge_loss_of_field

__all__ = ["field_table", "node_table", "path_losses"]


def node_table(
    cost: Any, data: Any, space: HierarchySpace, names: np.ndarray, missed: float
) -> Any:
    """Return a cost of places, or of sets whose missed nodes count so often, as solvers take it."""
    table = tabulate(cost, data, names, space.given)
    if space.has_one:
        return table
    if isinstance(table, SwitchCost) and not hasattr(cost, "nodes"):  # it priced stops as labels
        table = table._replace(price=table.price * ~space.is_stop[:, None])
    _check_searched(data, table, cost, space)
    return table if missed == 1.0 else _weighted(table, missed)


def path_losses(space: HierarchySpace) -> CostMatrix:
    """Return the path loss of single labels: wrong nodes above which all is right.

    Examples
    --------
    >>> from maxmargin import Hierarchy
    >>> dag = Hierarchy.from_edges([("d", "b"), ("d", "c"), ("e", "c")])
    >>> space = HierarchySpace.whole(dag, "leaf")
    >>> space.classes.tolist(), path_losses(space).matrix.tolist()
    (['d', 'e'], [[0.0, 2.0], [2.0, 0.0]])
    """
    has_node = space.ancestry()[space.leaves].toarray() > 0
    n_parents = np.diff(space.shape.parent_at)
    n_right = np.zeros(has_node.shape)
    child = np.repeat(np.arange(len(space)), n_parents)
    np.add.at(n_right.T, child, has_node[:, space.shape.parents].T)
    is_first = (n_right == n_parents) & ~has_node & ~space.is_stop
    losses = has_node.astype(np.float64) @ is_first.T.astype(np.float64)
    return CostMatrix(losses + losses.T)


def field_table(field: Any, space: HierarchySpace, cost: Any) -> Any:
    """Return a cost of edge fields, where leaf and node Hamming costs are weights of nodes."""
    if isinstance(cost, LeafHamming):
        is_leaf = np.diff(space.shape.child_at) == 0
        return edge_field_cost(field, "hamming", is_leaf.astype(np.float64))
    none, shape = np.zeros(0, dtype=np.int32), space.shape
    ones = np.ones(len(space))
    own = PricedHierarchy(ones, None, none, none, shape.parent_at, shape.parents, space.given)
    if isinstance(cost, EdgeLoss):
        return edge_loss_of_field(field, *cost.prices_in(own), cost.average)
    if not isinstance(cost, NodeHamming):
        return edge_field_cost(field, cost)
    if isinstance(cost.weights, str):
        raise ValueError(
            "NodeHamming('alpha') goes by the weights of nodes in the norm; edge fields have "
            "none. Give numbers, one per node."
        )
    weights = cost.weights
    if weights is not None:
        weights = node_weights("NodeHamming: weights", weights, own)
    return edge_field_cost(field, "hamming", weights)


def _check_searched(data: Any, table: Any, cost: Any, space: HierarchySpace) -> None:
    """Refuse a cost of sets that no search of this space goes by, naming those that are."""
    if has(maximize, type(data), type(table)):
        return
    several = np.diff(space.shape.parent_at) > 1
    where = ""
    if several.any():
        name = space.names.tolist()[int(np.argmax(several))]
        where = f" where nodes have several parents, as {name!r} has here"
    raise ValueError(
        f"space={space.kind!r} needs costs that are sums over nodes or edges{where}, which "
        f"cost={cost!r} is not. "
        "Costs that fit: 'node_hamming', 'hamming', 'leaf_hamming', 'edge', ClassWeighted(...). "
        "space='closed' has 'zero_one' too."
    )


def _weighted(table: Any, missed: float) -> Any:
    """Return a table of prices in which those of missed nodes count so often."""
    if not isinstance(table, SwitchCost):
        raise ValueError(
            f"missed_weight={missed:g} needs a cost that is a sum over nodes, such as "
            "'node_hamming' and 'leaf_hamming'."
        )
    return table._replace(price=table.price * np.array([1.0, missed]))

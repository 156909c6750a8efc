"""The weight of the nodes in which two labels of a hierarchy differ, for all pairs of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.contract import PricedHierarchy


def differences(hierarchy: PricedHierarchy, weights: Any) -> np.ndarray:
    """Return the sum of ``weights`` over the nodes that one of two labels has, as a K x K matrix.

    Examples
    --------
    >>> paths = PricedHierarchy(np.ones(4), None, np.array([0, 2, 4]), np.array([0, 1, 0, 2]))
    >>> differences(paths, [5.0, 1.0, 2.0, 9.0])
    array([[0., 3.],
           [3., 0.]])
    """
    import scipy.sparse as sp

    weights = np.asarray(weights, dtype=np.float64)
    shape = (len(hierarchy.node_at) - 1, len(weights))
    place = (hierarchy.nodes, hierarchy.node_at)
    flags = sp.csr_matrix((np.ones(len(hierarchy.nodes)), *place), shape=shape)
    weighted = sp.csr_matrix((weights[hierarchy.nodes], *place), shape=shape)
    common = np.asarray((weighted @ flags.T).todense())
    own = np.diag(common).copy()
    matrix: np.ndarray = own[:, None] + own - 2.0 * common
    # A difference of sums may be off by rounding, where the labels differ in nodes of weight 0.
    matrix[matrix <= 1e-14 * (own[:, None] + own)] = 0.0
    return matrix


def edge_losses(hierarchy: PricedHierarchy, root: np.ndarray, edge: np.ndarray) -> np.ndarray:
    """Return the nodes that one of two labels has below a parent that both have, priced: K x K.

    ``root`` has what each node costs whatever its parents, ``edge`` the price of each edge.

    Examples
    --------
    >>> paths = PricedHierarchy(np.ones(3), None, np.array([0, 1, 3, 4]), np.array([0, 0, 1, 2]))
    >>> below = paths._replace(parent_at=np.array([0, 0, 1, 1]), parents=np.array([0]))  # 1 is
    >>> edge_losses(below, np.array([1.0, 0.0, 5.0]), np.array([2.0]))
    array([[0., 2., 6.],
           [2., 0., 6.],
           [6., 6., 0.]])
    """
    import scipy.sparse as sp

    M = len(hierarchy.parent_at) - 1
    sizes = np.diff(hierarchy.node_at)
    shape = (len(sizes), M)
    has = sp.csr_matrix((np.ones(len(hierarchy.nodes)), hierarchy.nodes, hierarchy.node_at), shape)
    above = sp.csr_matrix((edge, hierarchy.parents, hierarchy.parent_at), (M, M))
    # For label k and l: the edges to nodes of k whose parent l has, less those whose child l has.
    every = np.asarray(above.sum(axis=1)).ravel() + root
    held = (has @ above) @ has.T - (has @ sp.diags(every)) @ has.T
    own = np.asarray(held.todense()) + np.asarray(has @ root)[:, None]
    matrix: np.ndarray = own + own.T
    matrix[matrix <= 1e-14 * (1.0 + matrix.max(initial=0.0))] = 0.0
    return matrix


def counted(hierarchy: PricedHierarchy) -> np.ndarray:
    """Return 1 for each node and 0 for stops, which are no nodes of the given hierarchy."""
    if hierarchy.given is None:
        return np.ones(len(hierarchy.alpha))
    return np.where(hierarchy.given.is_stop, 0.0, 1.0)


def node_weights(name: str, weights: Any, hierarchy: PricedHierarchy) -> np.ndarray:
    """Return numbers >= 0, one per given node, by node of the model; a stop has its parent's.

    Examples
    --------
    >>> from maxmargin.core.contract import GivenHierarchy
    >>> given = GivenHierarchy(np.array([1, 2, 1]), [False, False, True], [1, 0, 0], None, None)
    >>> node_weights("weights", [9, 5, 7], PricedHierarchy(np.ones(3), *[None] * 5, given=given))
    array([5., 7., 5.])
    """
    given = hierarchy.given
    if given is None:
        return check_node_weights(name, weights, len(hierarchy.alpha))
    return check_node_weights(name, weights, len(given.is_common))[given.node]


def edge_prices(
    name: str, root: float, weights: Any, hierarchy: PricedHierarchy
) -> tuple[np.ndarray, np.ndarray]:
    """Return what a wrong node costs whatever its parents, and what each edge costs besides.

    ``root`` is the price of given nodes without parents, ``weights`` has one number per given edge,
    ordered by child, then by parent; None for 1 each. Below a node that all labels have, which is
    always right, the edge is the price of the node.

    Examples
    --------
    >>> from maxmargin.core.contract import GivenHierarchy
    >>> below = {"parent_at": np.array([0, 0, 1]), "parents": np.array([0])}  # 1 is below 0
    >>> plain = PricedHierarchy(np.ones(2), None, None, None, **below)
    >>> edge_prices("weights", 3.0, [2.0], plain)
    (array([3., 0.]), array([2.]))
    >>> given = GivenHierarchy(np.array([1]), np.array([False]), np.array([True, False]), **below)
    >>> nothing = np.zeros(0, dtype=int)
    >>> kept = PricedHierarchy(np.ones(1), None, None, None, np.array([0, 0]), nothing, given)
    >>> edge_prices("weights", 3.0, [2.0], kept)
    (array([2.]), array([], dtype=float64))
    """
    given = hierarchy.given
    own = hierarchy if given is None else given
    edge = np.ones(len(own.parents)) if weights is None else np.array(weights, dtype=np.float64)
    if len(edge) != len(own.parents):
        raise ValueError(
            f"{name} has {len(edge)} numbers but the hierarchy has {len(own.parents)} edges."
        )
    whole = root * (np.diff(own.parent_at) == 0)
    if given is None:
        return whole, edge
    child = np.repeat(np.arange(len(whole)), np.diff(given.parent_at))
    np.add.at(whole, child, edge * np.asarray(given.is_common)[given.parents])
    places = {
        pair: e for e, pair in enumerate(zip(child.tolist(), given.parents.tolist(), strict=True))
    }
    below = np.repeat(np.arange(len(given.node)), np.diff(hierarchy.parent_at))
    pairs = zip(given.node[below].tolist(), given.node[hierarchy.parents].tolist(), strict=True)
    found = [
        0.0 if stop else edge[places[pair]]
        for stop, pair in zip(given.is_stop[below].tolist(), pairs, strict=True)
    ]
    return whole[given.node] * counted(hierarchy), np.array(found, dtype=np.float64)


def check_node_weights(name: str, weights: Any, n_nodes: int) -> np.ndarray:
    """Return one weight >= 0 per node; refuse others."""
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (n_nodes,):
        raise ValueError(
            f"{name} must have one weight per node of the hierarchy, shape ({n_nodes},); got shape "
            f"{given.shape}."
        )
    if not (np.isfinite(given).all() and (given >= 0.0).all()):
        raise ValueError(f"{name} must be finite and >= 0.")
    return given

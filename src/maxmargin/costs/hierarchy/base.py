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

    ``root`` has the price of each node without parents, ``edge`` that of each edge.

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


def check_node_weights(name: str, weights: Any, n_nodes: int) -> np.ndarray:
    """Return one weight >= 0 per node; None stands for 1 each."""
    if weights is None:
        return np.ones(n_nodes)
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (n_nodes,):
        raise ValueError(
            f"{name} must have one weight per node, shape ({n_nodes},); got shape {given.shape}."
        )
    if not (np.isfinite(given).all() and (given >= 0.0).all()):
        raise ValueError(f"{name} must be finite and >= 0.")
    return given

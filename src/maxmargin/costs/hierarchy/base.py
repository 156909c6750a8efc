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

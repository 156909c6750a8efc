"""The order in which the nodes of a forest are visited, parents before their children."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.shape import DENSE, Shape, read_only

__all__ = ["ForestOrder", "find_forest", "forest_order"]


class ForestOrder(NamedTuple):
    """In which order kernels visit the nodes of a forest, and the parent of each node.

    Attributes
    ----------
    order : int32 array of shape (n,)
        All nodes, parents before their children.
    parent : int32 array of shape (n,)
        The parent of node v; -1 for roots.
    edge : int32 array of shape (n,)
        The factor that joins v to its parent; -1 for roots.
    """

    order: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int32]
    edge: npt.NDArray[np.int32]


def forest_order(shape: Shape) -> ForestOrder:
    """Return an order for a graph whose factors are tables over pairs that form a forest.

    Tables over one node are allowed beside the pairs. Other graphs are refused. The highest node of
    each tree is its root: on a path 0 - 1 - 2 ... ties are broken as by the kernels of chains.

    Examples
    --------
    >>> from maxmargin.inference.graph.forest import forest_order
    >>> from maxmargin.inference.graph.shape import graph_shape
    >>> shape = graph_shape([2, 2, 2, 2], [1, 2, 0, 3], [2, 2], [0, 4])
    >>> forest_order(shape)
    ForestOrder(order=array([3, 0, 2, 1], dtype=int32), parent=array([ 3,  2, -1, -1],
    dtype=int32), edge=array([ 1,  0, -1, -1], dtype=int32))
    """
    found = find_forest(shape)
    if found is None:
        raise ValueError(f"the graph is no forest of pairs: {_why_not(shape)}.")
    return found


def find_forest(shape: Shape) -> ForestOrder | None:
    """Return the order of `forest_order`, or None for a graph that is no forest of pairs."""
    if (shape.kinds != DENSE).any() or (np.diff(shape.member_at) > 2).any():
        return None
    n_nodes = len(shape.n_labels)
    # A forest has fewer edges than nodes; larger graphs need no visit.
    if np.count_nonzero(np.diff(shape.member_at) == 2) >= max(n_nodes, 1):
        return None
    order, parent, edge = np.empty((3, n_nodes), dtype=np.int32)
    if _visit(shape, order, parent, edge) >= 0:
        return None
    return ForestOrder(read_only(order), read_only(parent), read_only(edge))


def _why_not(shape: Shape) -> str:
    """Return what keeps a graph from being a forest of pairs."""
    if (shape.kinds != DENSE).any():
        f = int(np.argmax(shape.kinds != DENSE))
        return f"factor {f} is no dense table"
    if (np.diff(shape.member_at) > 2).any():
        f = int(np.argmax(np.diff(shape.member_at) > 2))
        return f"factor {f} joins {shape.member_at[f + 1] - shape.member_at[f]} nodes"
    order, parent, edge = np.empty((3, len(shape.n_labels)), dtype=np.int32)
    f = _visit(shape, order, parent, edge)
    a, b = shape.members[shape.member_at[f] : shape.member_at[f + 1]].tolist()
    return f"factor {f}, which joins the nodes {a} and {b}, closes a cycle"


@kernel
def _visit(shape, order, parent, edge):
    """Fill the arrays of a ForestOrder; return a factor that closes a cycle, or -1."""
    n_nodes = shape.n_labels.shape[0]
    for v in range(n_nodes):
        parent[v] = -2  # not seen
        edge[v] = -1
    n_seen = 0
    n_done = 0
    for root in range(n_nodes - 1, -1, -1):
        if parent[root] != -2:
            continue
        parent[root] = -1
        order[n_seen] = root
        n_seen += 1
        while n_done < n_seen:
            v = order[n_done]
            n_done += 1
            for i in range(shape.slot_at[v], shape.slot_at[v + 1]):
                f = shape.factor_of[shape.slots[i]]
                first = shape.member_at[f]
                if f == edge[v] or shape.member_at[f + 1] - first == 1:
                    continue
                other = shape.members[2 * first + 1 - shape.slots[i]]
                if parent[other] != -2:
                    return f
                parent[other] = v
                edge[other] = f
                order[n_seen] = other
                n_seen += 1
    return -1

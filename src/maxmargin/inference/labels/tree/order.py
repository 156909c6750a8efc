"""The order in which a forest of labels is visited, parents before their children."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference.labels.graph import LabelGraph


class TreeOrder(NamedTuple):
    """The order in which kernels visit the labels of a forest, and the parent of each label.

    Attributes
    ----------
    order : int32 array of shape (m,)
        All labels, parents before their children.
    parent : int32 array of shape (m,)
        The parent of label j; -1 for roots.
    edge : int32 array of shape (m,)
        The edge that joins j to its parent; -1 for roots.
    """

    order: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int32]
    edge: npt.NDArray[np.int32]


def find_cycle(graph: LabelGraph) -> int:
    """Return the first edge that closes a cycle with edges before it; -1 for a forest.

    Examples
    --------
    >>> from maxmargin.inference.labels.graph import label_graph
    >>> from maxmargin.inference.labels.tree import find_cycle
    >>> find_cycle(label_graph(4, [(0, 1), (1, 2), (2, 0), (2, 3)]))
    2
    >>> find_cycle(label_graph(4, [(0, 1), (2, 3)]))
    -1
    """
    group = list(range(len(graph.start) - 1))

    def find(label: int) -> int:
        while group[label] != label:
            group[label] = group[group[label]]
            label = group[label]
        return label

    for e, (a, b) in enumerate(graph.edges.tolist()):
        first, second = find(a), find(b)
        if first == second:
            return e
        group[first] = second
    return -1


def tree_order(graph: LabelGraph) -> TreeOrder:
    """Return an order for the forest `graph`; refuse a graph with a cycle, naming an edge of it.

    The highest label of each tree is its root. So on a path 0 - 1 - 2 ... ties are broken as by the
    kernels of chains.

    Examples
    --------
    >>> from maxmargin.inference.labels.graph import label_graph
    >>> from maxmargin.inference.labels.tree import tree_order
    >>> tree_order(label_graph(4, [(1, 2), (0, 3)]))
    TreeOrder(order=array([3, 0, 2, 1], dtype=int32), parent=array([ 3,  2, -1, -1], dtype=int32),
    edge=array([ 1,  0, -1, -1], dtype=int32))
    """
    e = find_cycle(graph)
    if e >= 0:
        a, b = graph.edges[e].tolist()
        raise ValueError(
            f"edges[{e}] is ({a}, {b}), which closes a cycle; expected edges that form a forest."
        )
    m = len(graph.start) - 1
    parent = np.full(m, -1, dtype=np.int32)
    edge = np.full(m, -1, dtype=np.int32)
    order: list[int] = []
    seen = np.zeros(m, dtype=bool)
    for root in range(m - 1, -1, -1):
        if seen[root]:
            continue
        seen[root] = True
        place = len(order)
        order.append(root)
        while place < len(order):
            label = order[place]
            place += 1
            for at in range(graph.start[label], graph.start[label + 1]):
                child = int(graph.neighbour[at])
                if not seen[child]:
                    seen[child] = True
                    parent[child] = label
                    edge[child] = graph.edge_of[at]
                    order.append(child)
    return TreeOrder(np.array(order, dtype=np.int32), parent, edge)

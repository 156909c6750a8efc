"""The shape of a hierarchy in flat arrays, nodes numbered so that parents come before children."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "HierarchyShape",
    "all_ancestors",
    "ancestors",
    "hierarchy_shape",
    "is_forest",
    "parents_first",
    "parents_of",
]


class HierarchyShape(NamedTuple):
    """Which node is below which. Of M nodes and E edges; parents have lower numbers than children.

    The parents of node v are parents[parent_at[v] : parent_at[v + 1]], in increasing order, and its
    children are children[child_at[v] : child_at[v + 1]].
    """

    parent_at: npt.NDArray[np.int64]  # (M + 1,)
    parents: npt.NDArray[np.int32]  # (E,)
    child_at: npt.NDArray[np.int64]  # (M + 1,)
    children: npt.NDArray[np.int32]  # (E,)


def hierarchy_shape(n_nodes: int, child: npt.ArrayLike, parent: npt.ArrayLike) -> HierarchyShape:
    """Return the shape with the edges (child[e], parent[e]), of which repeated ones count once.

    Raises ValueError where an edge leaves the nodes, or a parent does not come before its child;
    `parents_first` finds an order in which it does.

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> shape = hierarchy_shape(4, child=[1, 2, 3, 3], parent=[0, 0, 1, 2])
    >>> shape.parents[shape.parent_at[3] : shape.parent_at[4]].tolist()
    [1, 2]
    """
    edges = _checked_edges(n_nodes, child, parent)
    backwards = edges[edges[:, 1] >= edges[:, 0]]
    if len(backwards):
        raise ValueError(
            f"parents must come before their children, but node {backwards[0, 0]} is below node "
            f"{backwards[0, 1]}; parents_first finds an order of the nodes."
        )
    by_child = np.unique(edges, axis=0)
    by_parent = by_child[np.lexsort((by_child[:, 0], by_child[:, 1]))]
    ends = np.arange(n_nodes + 1)
    return HierarchyShape(
        np.searchsorted(by_child[:, 0], ends).astype(np.int64),
        by_child[:, 1].astype(np.int32),
        np.searchsorted(by_parent[:, 1], ends).astype(np.int64),
        by_parent[:, 0].astype(np.int32),
    )


def parents_first(
    n_nodes: int,
    child: npt.ArrayLike,
    parent: npt.ArrayLike,
    names: Sequence[Any] | None = None,
) -> npt.NDArray[np.int64]:
    """Return the nodes in an order in which parents come before children, lowest numbers first.

    Raises ValueError with the nodes of a cycle if there is one, by their names where these are
    given.

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import parents_first
    >>> parents_first(3, child=[0, 1], parent=[1, 2]).tolist()
    [2, 1, 0]
    """
    import heapq

    edges = np.unique(_checked_edges(n_nodes, child, parent), axis=0)
    below: list[list[int]] = [[] for _ in range(n_nodes)]
    for own, above in edges.tolist():
        below[above].append(own)
    n_above = np.bincount(edges[:, 0], minlength=n_nodes).tolist()
    ready = [v for v in range(n_nodes) if n_above[v] == 0]  # sorted, so a heap
    order: list[int] = []
    while ready:
        v = heapq.heappop(ready)
        order.append(v)
        for own in below[v]:
            n_above[own] -= 1
            if n_above[own] == 0:
                heapq.heappush(ready, own)
    if len(order) < n_nodes:
        cycle = _cycle(edges, np.asarray(n_above) > 0)
        called = cycle if names is None else [repr(names[v]) for v in cycle]
        raise ValueError(f"the hierarchy has a cycle: {' < '.join(map(str, called))}.")
    return np.array(order, dtype=np.int64)


def is_forest(shape: HierarchyShape) -> bool:
    """Tell whether every node has at most one parent."""
    return bool(np.diff(shape.parent_at).max(initial=0) <= 1)


def parents_of(shape: HierarchyShape) -> npt.NDArray[np.int32]:
    """Return the parent of each node of a forest, -1 for roots."""
    parent = np.full(len(shape.parent_at) - 1, -1, dtype=np.int32)
    parent[np.diff(shape.parent_at) == 1] = shape.parents
    return parent


def ancestors(shape: HierarchyShape, nodes: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return which nodes are among the given ones or above one of them: an array of M flags.

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import ancestors, hierarchy_shape
    >>> shape = hierarchy_shape(4, child=[1, 2, 3], parent=[0, 0, 1])
    >>> ancestors(shape, [3]).tolist()
    [True, True, False, True]
    """
    found = np.zeros(len(shape.parent_at) - 1, dtype=bool)
    found[np.asarray(nodes, dtype=np.int64)] = True
    for v in range(len(found) - 1, -1, -1):  # children first
        if found[v]:
            found[shape.parents[shape.parent_at[v] : shape.parent_at[v + 1]]] = True
    return found


def all_ancestors(shape: HierarchyShape) -> list[npt.NDArray[np.int64]]:
    """Return for each node itself and all nodes above it, in increasing order.

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import all_ancestors, hierarchy_shape
    >>> [own.tolist() for own in all_ancestors(hierarchy_shape(3, child=[1, 2], parent=[0, 1]))]
    [[0], [0, 1], [0, 1, 2]]
    """
    found: list[npt.NDArray[np.int64]] = []
    for v in range(len(shape.parent_at) - 1):
        above = shape.parents[shape.parent_at[v] : shape.parent_at[v + 1]]
        own = np.concatenate([*(found[p] for p in above), np.array([v])])
        found.append(np.unique(own) if len(above) > 1 else own)
    return found


def _checked_edges(n_nodes: int, child: npt.ArrayLike, parent: npt.ArrayLike) -> np.ndarray:
    """Return the edges as rows (child, parent) of numbers of nodes."""
    edges = np.stack([np.asarray(child, np.int64), np.asarray(parent, np.int64)], axis=1)
    outside = (edges < 0) | (edges >= n_nodes)
    if outside.any():
        e = int(np.flatnonzero(outside.any(axis=1))[0])
        raise ValueError(f"edge {e} is {tuple(edges[e].tolist())}, but there are {n_nodes} nodes.")
    return edges


def _cycle(edges: np.ndarray, is_left: np.ndarray) -> list[int]:
    """Return a cycle from child to parent; every node that is left has a parent that is left."""
    above = {own: up for own, up in edges.tolist() if is_left[up]}
    v, seen = int(np.flatnonzero(is_left)[0]), []
    while v not in seen:
        seen.append(v)
        v = above[v]
    return [*seen[seen.index(v) :], v]

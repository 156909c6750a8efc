"""Where the nodes of a hierarchy stand in a picture: the top at the left, leaves one per line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Layout", "lay_out", "short_name"]


@dataclass(frozen=True)
class Layout:
    """Nodes that are shown, and their places.

    Attributes
    ----------
    nodes : int array, numbers of the nodes that are shown, parents first
    parent : int array, of each shown node the place in `nodes` of the one that it hangs from; -1
    x, y : float arrays, level and line of each shown node
    hidden : int array, how many nodes below each shown one are not shown
    is_end : bool array, whether nothing is shown below the node
    """

    nodes: np.ndarray
    parent: np.ndarray
    x: np.ndarray
    y: np.ndarray
    hidden: np.ndarray
    is_end: np.ndarray

    @property
    def n_lines(self) -> int:
        """How many lines the picture has."""
        return int(self.is_end.sum())


def lay_out(hierarchy: Any, which: np.ndarray | None = None, most: int = 120) -> Layout:
    """Return places of the nodes of a hierarchy; of many nodes only the upper levels are shown.

    In a DAG a node hangs from the first of its parents that is shown.

    Parameters
    ----------
    hierarchy : Hierarchy
    which : bool array of shape (n_nodes,) or None
        Nodes that may be shown; holds the parents of its nodes. None: all.
    most : int
        Levels are added from the top while so many nodes are not exceeded, the roots in any case.
    """
    shape, n = hierarchy.shape, len(hierarchy)
    allowed = np.ones(n, dtype=bool) if which is None else np.asarray(which, dtype=bool)
    first = np.full(n, -1)
    depth = np.zeros(n, dtype=np.int64)
    for v in np.flatnonzero(allowed):
        above = [
            p for p in shape.parents[shape.parent_at[v] : shape.parent_at[v + 1]] if allowed[p]
        ]
        if above:
            first[v], depth[v] = above[0], depth[above[0]] + 1
    counts = np.bincount(depth[allowed])
    n_levels = max(1, int(np.searchsorted(np.cumsum(counts), most, side="right")))
    is_shown = allowed & (depth < n_levels)
    nodes = np.flatnonzero(is_shown)
    place = np.full(n, -1)
    place[nodes] = np.arange(len(nodes))
    parent = np.where(first[nodes] >= 0, place[first[nodes]], -1)
    hidden = np.zeros(len(nodes), dtype=np.int64)
    for v in np.flatnonzero(allowed & ~is_shown):
        up = first[v]
        while not is_shown[up]:
            up = first[up]
        hidden[place[up]] += 1
    children: list[list[int]] = [[] for _ in nodes]
    for k, up in enumerate(parent):
        if up >= 0:
            children[up].append(k)
    y = _lines(parent, children)
    is_end = np.array([not below for below in children])
    return Layout(nodes, parent, depth[nodes].astype(float), y, hidden, is_end)


def _lines(parent: np.ndarray, children: list[list[int]]) -> np.ndarray:
    """Return the line of each node: leaves follow one another, others are amid their children."""
    y = np.zeros(len(parent))
    order: list[int] = []
    stack = [int(k) for k in np.flatnonzero(parent < 0)[::-1]]
    while stack:  # depth first
        k = stack.pop()
        order.append(k)
        stack.extend(reversed(children[k]))
    line = 0
    for k in order:
        if not children[k]:
            y[k] = line
            line += 1
    for k in reversed(order):
        if children[k]:
            y[k] = (y[children[k][0]] + y[children[k][-1]]) / 2.0
    return y


def short_name(name: Any, separator: str | None, most: int = 24) -> str:
    """Return the last level of a path, or a name, cut where it is long."""
    text = str(name)
    if separator is not None:
        text = text.rpartition(separator)[2]
    return text if len(text) <= most else text[: most - 1] + "…"

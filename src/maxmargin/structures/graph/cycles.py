"""A cycle of a graph, for messages that refuse graphs with cycles."""

from __future__ import annotations

import numpy as np


def cycle_of(n_nodes: int, edges: np.ndarray) -> list[int]:
    """Return the nodes of a cycle in order, the first one again at the end; empty without one.

    Examples
    --------
    >>> cycle_of(4, np.array([[0, 1], [1, 2], [2, 3], [3, 1]]))
    [1, 2, 3, 1]
    """
    above = np.arange(n_nodes)
    neighbours: dict[int, list[int]] = {}

    def root(v: int) -> int:
        while above[v] != v:
            above[v] = above[above[v]]
            v = int(above[v])
        return v

    for a, b in edges.tolist():
        ends = root(a), root(b)
        if ends[0] == ends[1]:
            path = _path(neighbours, a, b)
            start = path.index(min(path))
            return [*path[start:], *path[:start], path[start]]
        above[ends[0]] = ends[1]
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    return []


def _path(neighbours: dict[int, list[int]], start: int, end: int) -> list[int]:
    """Return the nodes of the path between two nodes of a tree, both ends included."""
    before = {start: start}
    waiting = [start]
    while waiting:
        v = waiting.pop()
        for other in neighbours.get(v, ()):
            if other not in before:
                before[other] = v
                waiting.append(other)
    path = [end]
    while path[-1] != start:
        path.append(before[path[-1]])
    return path

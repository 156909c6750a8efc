"""Elimination orders by min-fill, and how large the tables of a junction tree become.

The node that is eliminated next is the one whose neighbours lack the fewest edges among each other;
ties go to the one with the fewest neighbours, then to the lowest. Its neighbours become a clique.
"""

from __future__ import annotations

import heapq
import itertools
from typing import NamedTuple

import numpy as np

from maxmargin.inference.graph.shape import Shape

__all__ = ["Elimination", "min_fill"]


class Elimination(NamedTuple):
    """An order of elimination, and what it costs.

    Attributes
    ----------
    order : list of int
        The nodes as they are eliminated; it ends early if the tables became too large.
    separators : list of list of int
        The neighbours of each node when it was eliminated.
    n_cells : float
        The cells of all tables, one table per node over it and its separator. A float, since it may
        be larger than an integer of 64 bits. If the order ended early: those met so far.
    is_whole : bool
        Whether all nodes are eliminated.
    """

    order: list[int]
    separators: list[list[int]]
    n_cells: float
    is_whole: bool


def neighbours(shape: Shape) -> list[set[int]]:
    """Return the nodes that share a factor with each node."""
    found: list[set[int]] = [set() for _ in range(len(shape.n_labels))]
    starts, members = shape.member_at.tolist(), shape.members.tolist()
    for first, last in itertools.pairwise(starts):
        nodes = members[first:last]
        for v in nodes:
            found[v].update(nodes)
    for v, others in enumerate(found):
        others.discard(v)
    return found


def min_fill(shape: Shape, most_cells: float = np.inf) -> Elimination:
    """Return the order of min-fill; end as soon as there are more than `most_cells` cells.

    Examples
    --------
    A cycle of four nodes with three labels each:

    >>> from maxmargin.inference.graph.junction import min_fill
    >>> from maxmargin.inference.graph.shape import graph_shape
    >>> shape = graph_shape([3] * 4, [0, 1, 1, 2, 2, 3, 3, 0], [2] * 4, [0, 9, 18, 27])
    >>> found = min_fill(shape)
    >>> found.order, found.separators, found.n_cells
    ([0, 1, 2, 3], [[1, 3], [2, 3], [3], []], 66.0)
    """
    near = neighbours(shape)
    n_labels = [float(k) for k in shape.n_labels.tolist()]
    lacking = [_lacking(near, v) for v in range(len(near))]
    heap = [(lacking[v], len(near[v]), v) for v in range(len(near))]
    heapq.heapify(heap)
    is_there = [True] * len(near)
    order: list[int] = []
    separators: list[list[int]] = []
    n_cells = 0.0
    while heap:
        fill, degree, v = heapq.heappop(heap)
        if not is_there[v] or (fill, degree) != (lacking[v], len(near[v])):
            continue
        is_there[v] = False
        around = near[v]
        cells = n_labels[v]
        for a in around:
            cells *= n_labels[a]
        n_cells += cells
        order.append(v)
        separators.append(sorted(around))
        if n_cells > most_cells:
            break
        touched = _join(near, around, lacking) if fill > 0 else set()
        for a in around:
            # The pairs of v with neighbours of a that v does not touch are lacking no more.
            lacking[a] -= len(near[a]) - len(around)
            near[a].discard(v)
        near[v] = set()
        for a in touched | around:
            if is_there[a]:
                heapq.heappush(heap, (lacking[a], len(near[a]), a))
    return Elimination(order, _by_position(order, separators), n_cells, len(order) == len(near))


def _lacking(near: list[set[int]], v: int) -> int:
    """Return how many pairs of neighbours of v share no factor."""
    around = near[v]
    present = sum(len(near[a] & around) for a in around)
    return (len(around) * (len(around) - 1) - present) // 2


def _join(near: list[set[int]], around: set[int], lacking: list[int]) -> set[int]:
    """Make a clique of these nodes; return the nodes whose neighbours lack fewer edges now."""
    touched: set[int] = set()
    for a in around:
        for b in around - near[a]:
            if b <= a:
                continue
            both = near[a] & near[b]
            for c in both:
                lacking[c] -= 1
            touched |= both
            lacking[a] += len(near[a]) - len(both)
            lacking[b] += len(near[b]) - len(both)
            near[a].add(b)
            near[b].add(a)
    return touched


def _by_position(order: list[int], separators: list[list[int]]) -> list[list[int]]:
    """Return each separator with its nodes in the order of elimination."""
    if len(separators) == 0:
        return separators
    position = {v: i for i, v in enumerate(order)}
    last = len(order)
    return [sorted(nodes, key=lambda v: (position.get(v, last), v)) for nodes in separators]

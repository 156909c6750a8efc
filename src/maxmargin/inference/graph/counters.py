"""States of rules as nodes of their own: small tables that pass a state on along a tree.

A rule over many nodes may need no more of them than a state, such as how many are on. Each label of
a member has a state, and the states of two parts make up that of both. A counter is a node whose
labels are states: that of a member and of the counter below it, or of two counters, by one table.
The last counter has the state of all members, and the scores of the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, reverse_cuthill_mckee

from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.shape import DENSE, Shape, graph_shape, nodes_of

__all__ = ["Counters", "Rule", "TooManyCellsError", "count", "tree_along"]

Ints = npt.NDArray[np.int64]


class Rule(NamedTuple):
    """A rule as scores of a state that its members make up, two parts after the other.

    Attributes
    ----------
    nodes : list of int
    states : list of arrays, the state of each label of each member
    values : scores of the states; higher states are forbidden
    merge : the state of two parts, by the state of each; in any order
    """

    nodes: list[int]
    states: list[Ints]
    values: npt.NDArray[np.float64]
    merge: Callable[[Any, Any], Any]


class TooManyCellsError(Exception):
    """The tables of counters have more cells than are allowed; `n_cells` were met so far."""

    def __init__(self, n_cells: int) -> None:
        super().__init__(n_cells)
        self.n_cells = n_cells


class Counters:
    """Nodes and tables that are added to a graph: `TooManyCellsError` where they are too large."""

    def __init__(self, shape: Shape, most_cells: float = np.inf) -> None:
        self.most_cells, self.n_cells = most_cells, 0
        self.first = len(shape.n_labels)
        self.n_labels = shape.n_labels
        self.unary: list[npt.NDArray[np.float64]] = []
        self.members: list[list[int]] = []
        self.tables: list[npt.NDArray[np.float64]] = []

    def add(self, n_counts: int) -> int:
        """Return a new node with the counts 0 .. n_counts - 1."""
        self.unary.append(np.zeros(n_counts))
        return self.first + len(self.unary) - 1

    def size(self, node: int) -> int:
        """Return how many labels a node has, old or new."""
        if node < self.first:
            return int(self.n_labels[node])
        return len(self.unary[node - self.first])

    def own_states(self, counter: int) -> tuple[int, Ints]:
        """Return a counter, and the state of each of its labels."""
        return counter, np.arange(self.size(counter))

    def merge(self, parts: list[tuple[int, Ints]], rule: Rule) -> int:
        """Return a new node with the state of one or two parts; each is a node and its states."""
        total = parts[0][1]
        for _, states in parts[1:]:
            total = rule.merge(total[:, None], states)
        n_counts = int(min(total.max(), len(rule.values) - 1)) + 1
        self.n_cells += total.size * n_counts
        if self.n_cells > self.most_cells:
            raise TooManyCellsError(self.n_cells)
        node = self.add(n_counts)
        fits = total[..., None] == np.arange(self.size(node))
        self.members.append([*(own for own, _ in parts), node])
        self.tables.append(np.where(fits, 0.0, -np.inf))
        return node

    def added_to(self, graph: FactorGraph, kept: Ints) -> FactorGraph:
        """Return the graph with these nodes and tables, and of its factors those that are kept."""
        shape = graph.shape
        slots = np.flatnonzero(np.isin(shape.factor_of, kept))
        starts = len(graph.tables) + np.concatenate([[0], np.cumsum([t.size for t in self.tables])])
        sizes = np.concatenate([np.diff(shape.member_at)[kept], [len(m) for m in self.members]])
        built = graph_shape(
            np.concatenate([shape.n_labels, [len(row) for row in self.unary]]),
            np.concatenate([shape.members[slots], *self.members]),
            sizes.astype(np.int64),
            np.concatenate([shape.table_at[kept], starts[:-1]]),
            np.concatenate([shape.kinds[kept], np.full(len(self.tables), DENSE)]),
            np.concatenate([shape.on[slots], np.zeros(sum(map(len, self.members)), np.int32)]),
        )
        unary = np.concatenate([graph.unary, *self.unary])
        tables = np.concatenate([graph.tables, *(table.ravel() for table in self.tables)])
        return FactorGraph.of_arrays(built, unary, tables)


def count(rule: Rule, above: list[tuple[int, int]], new: Counters) -> int:
    """Add the counters of a rule, along a tree: pairs of a node and the one above it, or -1.

    Returns the last counter, which has the state of the whole rule.
    """
    states = dict(zip(rule.nodes, rule.states, strict=True))
    waiting: dict[int, list[int]] = {}  # counters of the parts below a node
    last = -1
    for v, up in above:
        counters = waiting.pop(v, [])
        if v in states:
            below = [new.own_states(counters.pop())] if counters else []
            counters.append(new.merge([(v, states[v]), *below], rule))
        while len(counters) > 1:
            pair = [new.own_states(counters.pop()), new.own_states(counters.pop())]
            counters.append(new.merge(pair, rule))
        if counters:
            last = counters[0]
            waiting.setdefault(up, []).append(last)
    scores = new.unary[last - new.first]
    scores += rule.values[: len(scores)]
    return last


def tree_along(shape: Shape, factors: Ints) -> list[tuple[int, int]]:
    """Return all nodes, each with the one above it, those below first; the last has -1.

    The tree follows these factors, if they have no cycle: a factor is a path along its members.
    Otherwise it is a path through all nodes along which neighbours are close.
    """
    n_nodes = len(shape.n_labels)
    ends = [nodes_of(shape, f) for f in factors.tolist()]
    pairs = np.array([pair for own in ends for pair in pairwise(own)], dtype=np.int64)
    pairs = pairs.reshape(-1, 2)
    ones = np.ones(len(pairs))
    links = sparse.csr_matrix((ones, pairs.T), shape=(n_nodes, n_nodes))
    links = sparse.csr_matrix(links + links.T)
    n_parts, part = sparse.csgraph.connected_components(links, directed=False)
    if len(pairs) > n_nodes - n_parts:
        path = reverse_cuthill_mckee(links, symmetric_mode=True).tolist()
        return list(zip(path, [*path[1:], -1], strict=True))
    found: list[tuple[int, int]] = []
    roots = np.unique(part, return_index=True)[1].tolist()
    for root, following in zip(roots, [*roots[1:], -1], strict=True):
        order, before = breadth_first_order(links, root, directed=False)
        found += [(int(v), int(before[v]) if v != root else following) for v in order[::-1]]
    return found

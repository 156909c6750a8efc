"""Rules over many nodes as counters of small tables, so that junction trees stay small.

Exactly one, at most one, at least one and cardinality only ask how many members are on. A node of
its own counts them, from the leaves of a tree over the nodes to its root:

    count of a part = [member is on] + counts of the parts below it,

each step a table over at most three nodes. The count at the root has the score of the rule. Counts
follow from the labels of the members, so the labellings of both graphs are the same, one to one.
Where the other factors form a forest, counters follow it, and a junction tree over both is as wide
as one edge and a few counts, however many members the rule has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, reverse_cuthill_mckee

from maxmargin.inference.graph.dense import table_sizes
from maxmargin.inference.graph.factors import at_least_one, at_most_one, cardinality, exactly_one
from maxmargin.inference.graph.junction import JunctionTree, find_junction_tree, junction_tree
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.shape import DENSE, Shape, graph_shape

__all__ = ["counted_graph", "fitting_tree", "is_worth_ordering"]

#: Kinds of rules that count.
COUNTING = (exactly_one.KIND, at_most_one.KIND, at_least_one.KIND, cardinality.KIND)
#: Graphs with more nodes have a junction tree only if they are nearly forests, with at most
#: MOST_EXTRA edges too many.
MOST_NODES, MOST_EXTRA = 20_000, 2_000
#: A rule whose table has at most so many cells is left as it is.
SMALL = 64


class _Rule(NamedTuple):
    """A rule as scores of a count: those above the last are forbidden, or count as the last."""

    nodes: list[int]
    on: list[int]
    values: npt.NDArray[np.float64]
    is_capped: bool  # a count above the last is taken for the last


def counted_graph(graph: FactorGraph) -> FactorGraph:
    """Return the graph with its large counting rules replaced by counters.

    The nodes of the graph come first, then the counters; the factors that stay come first too, in
    their order. The graph itself is returned if there is nothing to replace. Scores are the same.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.counted import counted_graph
    >>> from maxmargin.inference.graph.factors import ExactlyOne
    >>> same, edges = np.eye(2), [(v, v + 1) for v in range(19)]
    >>> graph = FactorGraph(np.zeros((20, 2)), edges, same, factors=[ExactlyOne(range(20))])
    >>> counted_graph(graph)
    FactorGraph(40 nodes, 39 factors)
    """
    shape = graph.shape
    is_large = np.isin(shape.kinds, COUNTING) & (table_sizes(shape) > SMALL)
    if not is_large.any():
        return graph
    kept = np.flatnonzero(~is_large)
    above = _tree(shape, kept)
    new = _Counters(shape)
    for f in np.flatnonzero(is_large).tolist():
        _count(_rule_of(graph, f), above, new)
    slots = np.flatnonzero(~is_large[shape.factor_of])
    starts = len(graph.tables) + np.concatenate([[0], np.cumsum([t.size for t in new.tables])])
    built = graph_shape(
        np.concatenate([shape.n_labels, [len(row) for row in new.unary]]),
        np.concatenate([shape.members[slots], *new.members]),
        np.concatenate([np.diff(shape.member_at)[kept], [len(own) for own in new.members]]).astype(
            int
        ),
        np.concatenate([shape.table_at[kept], starts[:-1]]),
        np.concatenate([shape.kinds[kept], np.full(len(new.tables), DENSE)]),
        np.concatenate([shape.on[slots], np.zeros(sum(map(len, new.members)), dtype=np.int32)]),
    )
    unary = np.concatenate([graph.unary, *new.unary])
    tables = np.concatenate([graph.tables, *(table.ravel() for table in new.tables)])
    return FactorGraph.of_arrays(built, unary, tables)


def fitting_tree(
    graph: FactorGraph, most_cells: float, way_out: str | None = None
) -> tuple[FactorGraph, JunctionTree | None]:
    """Return the graph with counters, or without, and a junction tree of it that is small enough.

    If there is none the tree is None. If there is a way out the tree is a must: it is refused with
    its size, and with the way out.
    """
    fitting = counted_graph(graph)
    for each in (fitting, graph) if fitting is not graph else (graph,):
        tree = find_junction_tree(each.shape, most_cells) if is_worth_ordering(each.shape) else None
        if tree is not None:
            return each, tree
    if way_out is None:
        return fitting, None
    return fitting, junction_tree(fitting.shape, most_cells, way_out)


def is_worth_ordering(shape: Shape) -> bool:
    """Return whether a junction tree may be small: large graphs must be nearly forests."""
    n_nodes, n_extra = len(shape.n_labels), len(shape.members) - len(shape.kinds)
    return n_nodes <= MOST_NODES or n_extra - n_nodes <= MOST_EXTRA


class _Counters:
    """Nodes and tables that are added to a graph."""

    def __init__(self, shape: Shape) -> None:
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

    def counts(self, counter: int) -> tuple[int, npt.NDArray[np.int64]]:
        """Return a counter, and what each of its labels counts."""
        return counter, np.arange(self.size(counter))

    def add_up(self, parts: list[tuple[int, npt.NDArray[np.int64]]], rule: _Rule) -> int:
        """Return a new node that has the sum of what the labels of some nodes count."""
        most = len(rule.values) - 1
        total = np.zeros((), dtype=np.int64)
        for _, counts in parts:
            total = total[..., None] + counts
        total = np.asarray(np.minimum(total, most) if rule.is_capped else total)
        n_counts = int(min(total.max(), most)) + 1
        node = self.add(n_counts)
        fits = total[..., None] == np.arange(n_counts)
        self.members.append([*(own for own, _ in parts), node])
        self.tables.append(np.where(fits, 0.0, -np.inf))
        return node


def _rule_of(graph: FactorGraph, f: int) -> _Rule:
    """Return a counting rule as scores of counts."""
    shape = graph.shape
    own = slice(shape.member_at[f], shape.member_at[f + 1])
    nodes, on, kind = shape.members[own].tolist(), shape.on[own].tolist(), shape.kinds[f]
    if kind == exactly_one.KIND:
        return _Rule(nodes, on, np.array([-np.inf, 0.0]), False)
    if kind == at_most_one.KIND:
        return _Rule(nodes, on, np.zeros(2), False)
    if kind == at_least_one.KIND:
        return _Rule(nodes, on, np.array([-np.inf, 0.0]), True)
    values = graph.tables[shape.table_at[f] : shape.table_at[f] + len(nodes) + 1]
    allowed = np.flatnonzero(values > -np.inf)
    most = int(allowed[-1]) if len(allowed) else 0
    return _Rule(nodes, on, values[: most + 1].copy(), False)


def _count(rule: _Rule, above: list[tuple[int, int]], new: _Counters) -> None:
    """Add the counters of a rule, along a tree: pairs of a node and the one above it, or -1."""
    on = dict(zip(rule.nodes, rule.on, strict=True))
    waiting: dict[int, list[int]] = {}  # counts of the parts below a node
    last = -1
    for v, up in above:
        counters = waiting.pop(v, [])
        if v in on:
            is_on = (np.arange(new.size(v)) == on[v]).astype(np.int64)
            below = [new.counts(counters.pop())] if counters else []
            counters.append(new.add_up([(v, is_on), *below], rule))
        while len(counters) > 1:
            pair = [new.counts(counters.pop()), new.counts(counters.pop())]
            counters.append(new.add_up(pair, rule))
        if counters:
            last = counters[0]
            waiting.setdefault(up, []).append(last)
    scores = new.unary[last - new.first]
    scores += rule.values[: len(scores)]


def _tree(shape: Shape, kept: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return all nodes, each with the one above it, those below first; the last has -1.

    The tree follows the factors that stay, if these are pairs of a forest. Otherwise it is a path
    through all nodes along which neighbours are close.
    """
    n_nodes = len(shape.n_labels)
    ends = [
        shape.members[shape.member_at[f] : shape.member_at[f + 1]]
        for f in kept
        if shape.member_at[f + 1] - shape.member_at[f] > 1
    ]
    pairs = np.array(
        [(own[0], other) for own in ends for other in own[1:]], dtype=np.int64
    ).reshape(-1, 2)
    ones = np.ones(len(pairs))
    links = sparse.csr_matrix((ones, pairs.T), shape=(n_nodes, n_nodes))
    links = sparse.csr_matrix(links + links.T)
    n_parts, part = sparse.csgraph.connected_components(links, directed=False)
    is_forest = all(len(own) == 2 for own in ends) and len(pairs) == n_nodes - n_parts
    if not is_forest:
        path = reverse_cuthill_mckee(links, symmetric_mode=True).tolist()
        return list(zip(path, [*path[1:], -1], strict=True))
    found: list[tuple[int, int]] = []
    roots = np.unique(part, return_index=True)[1].tolist()
    for root, following in zip(roots, [*roots[1:], -1], strict=True):
        order, before = breadth_first_order(links, root, directed=False)
        found += [(int(v), int(before[v]) if v != root else following) for v in order[::-1]]
    return found

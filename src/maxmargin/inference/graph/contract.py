"""Nodes whose label another node settles, taken out of a graph.

If a table of two nodes allows at most one label of b for each label of a, then b is no choice: its
scores and factors are those of a, with the labels of b replaced by what a makes of them. Frequency
assignment has such pairs (|x_a - x_b| = 238), and so has every constraint that two nodes be equal.
The factors that a and b had with other nodes are then parallel and become one, which makes the
relaxation tighter: without it the bound of SRMP on celar6sub0 stays near 0 for thousands of search
nodes, with it branch and bound ends after some 1400.

b is taken out only if it has at least as many labels as a, so that no table grows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.factors import Table
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.shape import DENSE, nodes_of

__all__ = ["Contracted", "contract"]

Ints = npt.NDArray[np.int32]


class Contracted(NamedTuple):
    """A graph of fewer nodes with the same best score.

    Attributes
    ----------
    graph : FactorGraph
    source : list of int
        For each node of the graph that was given, the node of `graph` that settles its label.
    image : list of int32 arrays
        Its label for each label of that node.
    """

    graph: FactorGraph
    source: list[int]
    image: list[Ints]

    def labels_of(self, labels: Ints) -> Ints:
        """Return the labelling of the graph that was given, of a labelling of `graph`."""
        found = [image[labels[v]] for v, image in zip(self.source, self.image, strict=True)]
        return np.array(found, dtype=np.int32)


def contract(graph: FactorGraph) -> Contracted | None:
    """Return the graph without the nodes that others settle, or None if there are none.

    Only graphs of tables alone are looked at.

    Examples
    --------
    The labels of nodes 0 and 1 must be equal:

    >>> import numpy as np
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.contract import contract
    >>> same = np.where(np.eye(2) > 0, 0.0, -np.inf)
    >>> unary = [[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]]
    >>> graph = FactorGraph(unary, [(0, 1), (1, 2), (2, 0)], [same, np.eye(2), np.eye(2)])
    >>> found = contract(graph)
    >>> found.graph, found.graph.unary, found.graph.tables
    (FactorGraph(2 nodes, 1 factors), array([2., 1., 0., 0.]), array([2., 0., 0., 2.]))
    >>> found.labels_of(np.array([1, 0], dtype=np.int32))
    array([1, 1, 0], dtype=int32)
    """
    if (graph.shape.kinds != DENSE).any() or not np.isneginf(graph.tables).any():
        return None
    source, image = _settled(graph)
    roots = [v for v in range(graph.n_nodes) if source[v] == v]
    if len(roots) == graph.n_nodes:
        return None
    number = {v: i for i, v in enumerate(roots)}
    smaller = _rebuilt(graph, source, image, number)
    return Contracted(smaller, [number[v] for v in source], image)


def _settled(graph: FactorGraph) -> tuple[list[int], list[Ints]]:
    """Return which node settles each node, itself if none does, and its labels by that node's."""
    shape = graph.shape
    sizes = shape.n_labels.tolist()
    source = list(range(graph.n_nodes))
    image = [np.arange(size, dtype=np.int32) for size in sizes]
    group = [[v] for v in source]
    can: dict[tuple[int, int, int], bool] = {}  # of the tables as they were given
    for f in np.flatnonzero(np.diff(shape.member_at) == 2).tolist():
        a, b = nodes_of(shape, f)
        table = _table(graph, f, [a, b])
        key = int(shape.table_at[f]), sizes[a], sizes[b]
        if key not in can:
            can[key] = _settles(table) or _settles(table.T)
        if not can[key]:
            continue
        first, second = source[a], source[b]
        if first == second:
            continue  # it becomes a score of that node
        seen = table[np.ix_(image[a], image[b])]
        for one, other, rows in ((first, second, seen), (second, first, seen.T)):
            if sizes[one] <= sizes[other] and _settles(rows):
                by = rows.argmax(axis=1).astype(np.int32)
                for v in group[other]:
                    source[v], image[v] = one, image[v][by]
                group[one] += group[other]
                break
    return source, image


def _settles(table: npt.NDArray[np.float64]) -> bool:
    """Return whether each label of the rows allows at most one label of the columns."""
    return bool(((table > -np.inf).sum(axis=1) <= 1).all())


def _table(graph: FactorGraph, factor: int, nodes: Any) -> npt.NDArray[np.float64]:
    sizes = graph.shape.n_labels[nodes]
    first = graph.shape.table_at[factor]
    return graph.tables[first : first + int(np.prod(sizes))].reshape(sizes)


def _rebuilt(
    graph: FactorGraph, source: list[int], image: list[Ints], number: dict[int, int]
) -> FactorGraph:
    """Return the graph of the nodes that are their own sources."""
    shape = graph.shape
    unary = [np.zeros(int(shape.n_labels[v])) for v in number]
    for v, root in enumerate(source):
        unary[number[root]] += graph.unary[shape.unary_at[v] : shape.unary_at[v + 1]][image[v]]
    edges, pairs, factors = [], [], []
    known: dict[tuple[Any, ...], npt.NDArray[np.float64]] = {}  # shared tables stay shared
    for f in range(graph.n_factors):
        nodes = nodes_of(shape, f)
        key = (int(shape.table_at[f]), *(image[v].tobytes() for v in nodes))
        if key not in known:
            known[key] = _table(graph, f, nodes)[np.ix_(*(image[v] for v in nodes))]
        roots, table = _once([number[source[v]] for v in nodes], known[key])
        if len(roots) == 1:
            unary[roots[0]] += table
        elif len(roots) == 2:
            edges.append(roots)
            pairs.append(table)
        else:
            factors.append(Table(tuple(roots), table))
    return FactorGraph(unary, edges, pairs if edges else None, factors)


def _once(
    nodes: list[int], table: npt.NDArray[np.float64]
) -> tuple[list[int], npt.NDArray[np.float64]]:
    """Return nodes and table with each node once: the diagonal of axes of the same node."""
    for v in nodes:
        while nodes.count(v) > 1:
            i = nodes.index(v)
            j = nodes.index(v, i + 1)
            table = np.diagonal(table, axis1=i, axis2=j)
            nodes = [*nodes[:i], *nodes[i + 1 : j], *nodes[j + 1 :], v]
    return nodes, table

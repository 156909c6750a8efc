"""The rest of a graph when the labels of some nodes are held."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.dense import dense_graph
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.shape import graph_shape

__all__ = ["restrict"]


def restrict(
    graph: FactorGraph, held: npt.NDArray[np.bool_], labels: npt.NDArray[np.int32]
) -> tuple[FactorGraph, npt.NDArray[np.int64]]:
    """Return the graph of the nodes that are not held, and which nodes they are.

    Factors are sliced at the labels of held nodes; those of one node left are added to its unary
    scores. Scores differ from those of the graph by a constant. All factors become dense tables:
    the caller has seen that they are not too large.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.restrict import restrict
    >>> graph = FactorGraph([[0, 1], [2, 0], [0, 0]], [(0, 1), (1, 2)], [[3, 0], [1, 3]])
    >>> rest, nodes = restrict(graph, np.array([True, False, False]), np.array([1, 0, 0]))
    >>> rest, nodes, rest.unary
    (FactorGraph(2 nodes, 1 factors), array([1, 2]), array([3., 3., 0., 0.]))
    """
    dense = dense_graph(graph)
    shape = dense.shape
    nodes = np.flatnonzero(~held)
    number = np.cumsum(~held) - 1
    n_labels = shape.n_labels[nodes]
    unary = dense.unary[np.repeat(~held, shape.n_labels)]
    start = np.concatenate([[0], np.cumsum(n_labels)])
    n_free = np.add.reduceat((~held)[shape.members].astype(np.int64), shape.member_at[:-1])
    members: list[int] = []
    sizes, tables, table_at = [], [np.zeros(0)], [0]
    for f in np.flatnonzero(n_free > 0).tolist():
        own = shape.members[shape.member_at[f] : shape.member_at[f + 1]].tolist()
        dims = shape.n_labels[own]
        first = shape.table_at[f]
        table = dense.tables[first : first + int(np.prod(dims))].reshape(dims)
        table = table[tuple(int(labels[v]) if held[v] else slice(None) for v in own)]
        free = [int(number[v]) for v in own if not held[v]]
        if len(free) == 1:
            unary[start[free[0]] : start[free[0] + 1]] += table
            continue
        members.extend(free)
        sizes.append(len(free))
        tables.append(table.ravel())
        table_at.append(table_at[-1] + table.size)
    rest = graph_shape(n_labels, np.array(members, dtype=np.int64), sizes, table_at[:-1])
    return FactorGraph.of_arrays(rest, unary, np.concatenate(tables)), nodes

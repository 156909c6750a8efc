"""Factors of all kinds as dense tables, for methods that need tables."""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.factors.switch import factor_value
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.shape import DENSE

__all__ = ["dense_graph", "own_tables", "table_sizes"]


def table_sizes(graph: FactorGraph) -> np.ndarray:
    """Return how many cells a table of each factor has, as floats."""
    shape = graph.shape
    if len(shape.kinds) == 0:
        return np.zeros(0)
    with np.errstate(over="ignore"):
        sizes: np.ndarray = np.multiply.reduceat(
            shape.n_labels[shape.members].astype(np.float64), shape.member_at[:-1]
        )
    return sizes


def dense_graph(graph: FactorGraph) -> FactorGraph:
    """Return the graph with a table for each factor; the graph itself if it has nothing else.

    The caller has seen that the tables are not too large.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.dense import dense_graph
    >>> from maxmargin.inference.graph.factors import ExactlyOne
    >>> dense_graph(FactorGraph([[0, 0], [0, 0]], factors=[ExactlyOne((0, 1))])).tables
    array([-inf,   0.,   0., -inf])
    """
    if (graph.shape.kinds == DENSE).all():
        return graph
    shape = graph.shape
    rules = np.flatnonzero(shape.kinds != DENSE)
    ends = len(graph.tables) + np.cumsum(table_sizes(graph)[rules].astype(np.int64))
    table_at, kinds = shape.table_at.copy(), shape.kinds.copy()
    table_at[rules] = np.concatenate([[len(graph.tables)], ends[:-1]])
    kinds[rules] = DENSE
    tables = np.concatenate([graph.tables, np.empty(ends[-1] - len(graph.tables))])
    labels = np.zeros(graph.n_nodes, dtype=np.int32)
    for f in rules.tolist():
        _fill(shape, graph.tables, f, labels, tables[table_at[f] :])
    return FactorGraph.of_arrays(
        shape._replace(table_at=table_at, kinds=kinds), graph.unary, tables
    )


def own_tables(graph: FactorGraph) -> FactorGraph:
    """Return a graph of dense tables in which no two factors share one."""
    sizes = table_sizes(graph).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    at = graph.shape.table_at
    if len(np.unique(at)) == len(at) and starts[-1] == len(graph.tables):
        return graph
    owner = np.repeat(np.arange(len(sizes)), sizes)
    tables = graph.tables[at[owner] + np.arange(starts[-1]) - starts[owner]]
    return FactorGraph.of_arrays(graph.shape._replace(table_at=starts[:-1]), graph.unary, tables)


@kernel
def _fill(shape, tables, factor, labels, out):
    """Fill out with the values of a factor, in C order; labels are scratch."""
    first, last = shape.member_at[factor], shape.member_at[factor + 1]
    n_cells = 1
    for s in range(first, last):
        n_cells *= shape.n_labels[shape.members[s]]
        labels[shape.members[s]] = 0
    for cell in range(n_cells):
        out[cell] = factor_value(shape, tables, factor, labels)
        s = last - 1
        while s >= first:
            v = shape.members[s]
            labels[v] += 1
            if labels[v] < shape.n_labels[v]:
                break
            labels[v] = 0
            s -= 1

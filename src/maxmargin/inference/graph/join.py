"""A graph with further factors."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from maxmargin.inference.graph.dense import table_sizes
from maxmargin.inference.graph.factors import Factor, Table
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.shape import DENSE, nodes_of

__all__ = ["with_factors"]


def with_factors(graph: FactorGraph, factors: Iterable[Factor]) -> FactorGraph:
    """Return the graph with these factors besides its own, which are tables.

    Tables over the same nodes are added up, as a `FactorGraph` does with all that it is given.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph, solve_graph
    >>> from maxmargin.inference.graph.factors import AtMostOne
    >>> from maxmargin.inference.graph.join import with_factors
    >>> graph = FactorGraph([[0.0, 1.0], [0.0, 2.0]], [(0, 1)], [[0.0, 0.0], [0.0, 1.0]])
    >>> solve_graph(with_factors(graph, [AtMostOne((0, 1))])).labels
    array([0, 1], dtype=int32)
    """
    shape = graph.shape
    if (shape.kinds != DENSE).any():
        raise TypeError("with_factors takes a graph of tables; give all rules at once.")
    orders, sizes = np.diff(shape.member_at), table_sizes(shape).astype(np.int64)
    pairs, others, edges = [], [], []
    for f, order in enumerate(orders.tolist()):
        nodes = nodes_of(shape, f)
        first = shape.table_at[f]
        table = graph.tables[first : first + sizes[f]].reshape(shape.n_labels[nodes])
        if order == 2:
            edges.append(nodes)
            pairs.append(table)
        else:
            others.append(Table(nodes, table))
    unary = np.split(graph.unary, shape.unary_at[1:-1]) if graph.n_nodes else []
    return FactorGraph(unary, edges, pairs if pairs else None, [*others, *factors])

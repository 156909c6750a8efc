"""A graph with further factors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

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
    is_pair = np.diff(shape.member_at) == 2
    pairs = np.flatnonzero(is_pair)
    first = shape.member_at[pairs]
    edges = np.stack([shape.members[first], shape.members[first + 1]], axis=1)
    tables: Any = (
        [_table(graph, f) for f in pairs.tolist()] if len(set(shape.n_labels)) > 1 else None
    )
    if tables is None and len(pairs):  # all at once, where all nodes have as many labels
        n_labels = int(shape.n_labels[0])
        cells = shape.table_at[pairs][:, None] + np.arange(n_labels**2)
        tables = graph.tables[cells].reshape(-1, n_labels, n_labels)
    others = [
        Table(nodes_of(shape, f), _table(graph, f)) for f in np.flatnonzero(~is_pair).tolist()
    ]
    unary = np.split(graph.unary, shape.unary_at[1:-1]) if graph.n_nodes else []
    return FactorGraph(unary, edges, tables, [*others, *factors])


def _table(graph: FactorGraph, f: int) -> npt.NDArray[np.float64]:
    """Return the table of a factor."""
    sizes = graph.shape.n_labels[nodes_of(graph.shape, f)]
    first = int(graph.shape.table_at[f])
    return graph.tables[first : first + int(np.prod(sizes))].reshape(sizes)

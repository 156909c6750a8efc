"""Factors as tables of their own, for methods that need every entry of a factor."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.factors.switch import factor_value
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.projection import cell_starts
from maxmargin.inference.graph.shape import DENSE, Shape, read_only

__all__ = ["dense_graph", "own_tables", "table_sizes"]


def dense_graph(graph: FactorGraph, most_cells: float = np.inf) -> FactorGraph:
    """Return the graph with the same factors, all of them dense tables.

    Parameters
    ----------
    graph : FactorGraph
        Returned as it is if it has nothing but tables.
    most_cells : float
        A rule whose table would have more is refused; inf, the default, is for callers that have
        seen the sizes.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.dense import dense_graph
    >>> from maxmargin.inference.graph.factors import ExactlyOne
    >>> dense_graph(FactorGraph([[0.0, 1.0]] * 2, factors=[ExactlyOne((0, 1))])).tables
    array([-inf,   0.,   0., -inf])
    """
    shape = graph.shape
    rules = np.flatnonzero(shape.kinds != DENSE)
    if len(rules) == 0:
        return graph
    n_cells = table_sizes(shape)
    if n_cells[rules].max() > most_cells:
        f = int(rules[np.argmax(n_cells[rules])])
        raise ValueError(
            f"factor {f} joins {shape.member_at[f + 1] - shape.member_at[f]} nodes and has "
            f"{n_cells[f]:.3g} entries as a table; this method writes them out and takes at most "
            f"{most_cells}. Message passing and programmes take the factor as it is."
        )
    cell_at = cell_starts(shape)
    lengths = np.diff(cell_at)[rules]
    starts = len(graph.tables) + np.concatenate([[0], np.cumsum(lengths)[:-1]])
    tables = np.concatenate([graph.tables, np.empty(int(lengths.sum()))])
    labels = np.zeros(graph.n_nodes, dtype=np.int32)
    for number, start, length in zip(rules.tolist(), starts, lengths, strict=True):
        _fill(shape, graph.tables, number, labels, tables[start : start + length])
    table_at, kinds = shape.table_at.copy(), shape.kinds.copy()
    table_at[rules], kinds[rules] = starts, DENSE
    return FactorGraph.of_arrays(
        shape._replace(table_at=read_only(table_at), kinds=read_only(kinds)), graph.unary, tables
    )


def table_sizes(shape: Shape) -> npt.NDArray[np.float64]:
    """Return how many cells a table of each factor has: floats, which do not overflow."""
    if len(shape.kinds) == 0:
        return np.zeros(0)
    sizes = shape.n_labels[shape.members].astype(np.float64)
    with np.errstate(over="ignore"):
        found: npt.NDArray[np.float64] = np.multiply.reduceat(sizes, shape.member_at[:-1])
    return found


def own_tables(graph: FactorGraph) -> FactorGraph:
    """Return a graph of dense tables that lie one after the other, in the order of factors."""
    starts = cell_starts(graph.shape)
    at = graph.shape.table_at
    if starts[-1] == len(graph.tables) and np.array_equal(at, starts[:-1]):
        return graph
    owner = np.repeat(np.arange(len(at)), np.diff(starts))
    tables = graph.tables[at[owner] + np.arange(starts[-1]) - starts[owner]]
    shape = graph.shape._replace(table_at=read_only(starts[:-1]))
    return FactorGraph.of_arrays(shape, graph.unary, tables)


@kernel
def _fill(shape, tables, factor, labels, out):
    """Fill out with the values of a factor; labels is scratch for all nodes."""
    for cell in range(out.shape[0]):
        rest = cell
        for s in range(shape.member_at[factor + 1] - 1, shape.member_at[factor] - 1, -1):
            size = shape.message_at[s + 1] - shape.message_at[s]
            labels[shape.members[s]] = rest % size
            rest //= size
        out[cell] = factor_value(shape, tables, factor, labels)

"""Where the weights of graphs lie, and which of them the cells of a table read.

w has one block per type of node, then one per type of edge, then one per type of hyperedge. A block
is a matrix: one row per feature (and one for a constant, the bias), one column per label of a node,
or per column of a table. The tables of edges are made of few columns where they are symmetric,
antisymmetric or of Potts type, see `pair_table`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from maxmargin.features.rows import frozen


class GraphLayout(NamedTuple):
    """Sizes and beginnings of the blocks of w."""

    n_labels: int
    n_columns: int  # features of a node
    has_bias: int
    n_node_types: int
    n_edge_columns: int  # features of an edge
    has_edge_bias: int
    n_edge_types: int
    n_pair: int  # columns of the table of an edge
    n_hyper_columns: int  # features of a hyperedge
    has_hyper_bias: int
    edge_first: int  # where the blocks of edges begin
    hyper_first: int  # where the blocks of hyperedges begin
    n_weights: int


class CellTable(NamedTuple):
    """Which column of its block each cell of a table reads, and times what.

    A cell of sign 0 is always 0. No column is above the number of its cell: tables are filled in
    place, from the last cell to the first.
    """

    column: Any  # (n_cells,) int32
    sign: Any  # (n_cells,) float64


def _full(n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    cells = np.arange(n_labels * n_labels)
    return cells, np.ones(len(cells))


def _symmetric(n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = np.triu_indices(n_labels)
    number = np.zeros((n_labels, n_labels), dtype=np.int64)
    number[rows, columns] = number[columns, rows] = np.arange(len(rows))
    return number.reshape(-1), np.ones(n_labels * n_labels)


def _antisymmetric(n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = np.triu_indices(n_labels, 1)
    number = np.zeros((n_labels, n_labels), dtype=np.int64)
    number[rows, columns] = number[columns, rows] = np.arange(len(rows))
    sign = np.triu(np.ones((n_labels, n_labels)), 1)
    return number.reshape(-1), (sign - sign.T).reshape(-1)


def _potts(n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(n_labels * n_labels, dtype=np.int64), np.eye(n_labels).reshape(-1)


#: What the table of an edge may be, by name: a function n_labels -> (columns, signs).
PAIRS: dict[str, Callable[[int], tuple[np.ndarray, np.ndarray]]] = {
    "full": _full,
    "symmetric": _symmetric,
    "antisymmetric": _antisymmetric,
    "potts": _potts,
}


def pair_table(pairs: str, n_labels: int) -> CellTable:
    """Return which weights the table of an edge is made of.

    Parameters
    ----------
    pairs : {"full", "symmetric", "antisymmetric", "potts"}
        T has n_labels^2 weights per feature; or T = T' ; or T = -T'; or T is one weight where both
        labels are equal and 0 elsewhere.
    n_labels : int

    Examples
    --------
    >>> pair_table("symmetric", 2).column.tolist(), pair_table("antisymmetric", 2).sign.tolist()
    ([0, 1, 1, 2], [0.0, 1.0, -1.0, 0.0])
    """
    if pairs not in PAIRS:
        raise ValueError(f"pairs={pairs!r} is not known. There are: {', '.join(map(repr, PAIRS))}.")
    column, sign = PAIRS[pairs](n_labels)
    return CellTable(frozen(column, np.int32), frozen(sign, np.float64))


def n_columns_of(table: CellTable) -> int:
    """Return how many columns a block has that such tables are made of."""
    used = np.asarray(table.column)[np.asarray(table.sign) != 0.0]
    return int(used.max(initial=-1)) + 1


def graph_layout(
    n_labels: int,
    n_columns: int,
    *,
    pair: CellTable,
    n_edge_columns: int = 0,
    n_hyper_columns: int = 0,
    n_node_types: int = 1,
    n_edge_types: int = 1,
    hyper_sizes: Any = (),
    bias: bool = True,
    edge_bias: bool = True,
) -> GraphLayout:
    """Return the layout of the weights of graphs.

    Parameters
    ----------
    n_labels, n_columns : int
        Number of labels, and of features of a node.
    pair : CellTable
        What the tables of edges are made of.
    n_edge_columns, n_hyper_columns : int
        Number of features of an edge, and of a hyperedge.
    n_node_types, n_edge_types : int
    hyper_sizes : sequence of int
        Number of columns of the tables of each type of hyperedge.
    bias, edge_bias : bool
        Whether nodes, and edges and hyperedges, have a constant feature 1 besides their own.

    Examples
    --------
    >>> graph_layout(3, 5, pair=pair_table("potts", 3)).n_weights
    19
    """
    n_pair = n_columns_of(pair)
    edge_first = n_node_types * (n_columns + bool(bias)) * n_labels
    hyper_first = edge_first + n_edge_types * (n_edge_columns + bool(edge_bias)) * n_pair
    n_hyper = (n_hyper_columns + bool(edge_bias)) * int(np.sum(hyper_sizes, dtype=np.int64))
    return GraphLayout(
        int(n_labels),
        int(n_columns),
        int(bool(bias)),
        int(n_node_types),
        int(n_edge_columns),
        int(bool(edge_bias)),
        int(n_edge_types),
        n_pair,
        int(n_hyper_columns),
        int(bool(edge_bias)),
        edge_first,
        hyper_first,
        hyper_first + n_hyper,
    )

"""Factor graphs as users give them: nodes with scores, edges with tables, factors of any order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import check_potential
from maxmargin.inference.graph.factors import FACTORS, Factor, Table, custom
from maxmargin.inference.graph.score import labelling_score
from maxmargin.inference.graph.shape import Shape, graph_shape

__all__ = ["FactorGraph"]

#: The most cells of one dense table.
MOST_CELLS = 10_000_000


class FactorGraph:
    """A graph of nodes, each with labels, and factors that score the labels of some of them.

    The score of a labelling is the sum of its unary scores and of the values of all factors; -inf
    forbids. Factors over the same nodes, in whatever order, are added up into one table, and a
    table whose nodes all belong to a larger table is added to that: relaxations are tighter so.

    Parameters
    ----------
    unary : array-like of shape (n, K), or sequence of n 1-D array-likes
        Scores of the labels of each node; nodes may have different numbers of labels.
    edges : array-like of int of shape (E, 2), default=()
        Pairs of different nodes, in either direction, also repeated.
    tables : array-like of shape (K, K) or (E, K, K), or sequence of E 2-D array-likes
        The table of edge (a, b) has the labels of a as rows. One table serves all edges. Needed if
        there are edges.
    factors : iterable of Factor, default=()
        See `maxmargin.inference.graph.factors`.

    Attributes
    ----------
    shape : Shape
    unary : float64 array, flat
    tables : float64 array, flat
    n_nodes, n_factors : int

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> graph = FactorGraph([[0.0, 1.0], [0.5, 0.0]], [(0, 1)], [[1.0, 0.0], [0.0, 1.0]])
    >>> graph.score([1, 1])
    2.0
    """

    def __init__(
        self,
        unary: Any,
        edges: Any = (),
        tables: Any = None,
        factors: Iterable[Factor] = (),
    ) -> None:
        rows = [check_potential(f"unary[{v}]", row, 1) for v, row in enumerate(unary)]
        for v, row in enumerate(rows):
            if len(row) == 0:
                raise ValueError(f"unary[{v}] is empty: node {v} has no label.")
        n_labels = np.array([len(row) for row in rows], dtype=np.int64)
        given = [*_edge_tables(n_labels, edges, tables), *factors]
        for number, factor in enumerate(given):
            _check_factor(number, factor, n_labels)
        merged = _merged(given)
        self.unary = np.concatenate([np.zeros(0), *rows])
        self.shape, self.tables = _laid_out(n_labels, merged)

    @classmethod
    def of_arrays(
        cls, shape: Shape, unary: npt.NDArray[np.float64], tables: npt.NDArray[np.float64]
    ) -> FactorGraph:
        """Return a graph made of arrays that fit together; nothing is checked or copied."""
        graph = cls.__new__(cls)
        graph.shape, graph.unary, graph.tables = shape, unary, tables
        return graph

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.shape.n_labels)

    @property
    def n_factors(self) -> int:
        """Return the number of factors, after merging."""
        return len(self.shape.kinds)

    def score(self, labels: Sequence[int]) -> float:
        """Return the score of a labelling, one label per node; -inf if it is forbidden."""
        return float(
            labelling_score(self.shape, self.unary, self.tables, check_labelling(self, labels))
        )

    def __getstate__(self) -> dict[str, Any]:
        if (self.shape.kinds == custom.KIND).any():
            raise TypeError(
                "a FactorGraph with a CustomFactor holds the address of compiled code and cannot "
                "be pickled; make it anew in each process."
            )
        return self.__dict__

    def __repr__(self) -> str:
        return f"FactorGraph({self.n_nodes} nodes, {self.n_factors} factors)"


def check_labelling(graph: FactorGraph, labels: Any) -> npt.NDArray[np.int32]:
    """Return a labelling as int32; refuse a wrong length and labels that a node does not have."""
    given = np.asarray(labels)
    if given.shape != (graph.n_nodes,):
        raise ValueError(
            f"labels has shape {given.shape}; expected ({graph.n_nodes},), one per node."
        )
    if given.size and given.dtype.kind not in "iu":
        raise TypeError(f"labels must hold integers, got dtype {given.dtype}.")
    bad = (given < 0) | (given >= graph.shape.n_labels)
    if bad.any():
        v = int(np.argmax(bad))
        raise ValueError(
            f"labels[{v}] is {given[v]}; node {v} has the labels 0 to "
            f"{graph.shape.n_labels[v] - 1}."
        )
    return np.ascontiguousarray(given, dtype=np.int32)


def _edge_tables(n_labels: npt.NDArray[np.int64], edges: Any, tables: Any) -> list[Factor]:
    """Return the edges as tables; refuse nodes that are not there, loops and missing tables."""
    pairs = np.asarray(edges)
    if pairs.size == 0:
        return []
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"edges must have shape (n_edges, 2), got {pairs.shape}.")
    if pairs.dtype.kind not in "iu":
        raise TypeError(f"edges must hold integer nodes, got dtype {pairs.dtype}.")
    n_nodes, n_edges = len(n_labels), len(pairs)
    for e, (a, b) in enumerate(pairs.tolist()):
        if not (0 <= a < n_nodes and 0 <= b < n_nodes):
            raise ValueError(f"edges[{e}] is ({a}, {b}); expected nodes from 0 to {n_nodes - 1}.")
        if a == b:
            raise ValueError(f"edges[{e}] joins node {a} to itself; expected two different nodes.")
    if tables is None:
        raise ValueError(f"there are {n_edges} edges but no tables; expected one table per edge.")
    is_shared = not isinstance(tables, (list, tuple)) and np.ndim(tables) == 2
    is_shared = is_shared or (isinstance(tables, (list, tuple)) and np.ndim(tables[0]) == 1)
    if not is_shared and len(tables) != n_edges:
        raise ValueError(f"there are {n_edges} edges but {len(tables)} tables.")
    found: list[Factor] = []
    for e, pair in enumerate(pairs.tolist()):
        try:
            found.append(Table(pair, tables if is_shared else tables[e]))
        except (TypeError, ValueError) as error:
            raise type(error)(f"tables[{e}]: {error}") from None
    return found


def _check_factor(number: int, factor: Any, n_labels: npt.NDArray[np.int64]) -> None:
    """Refuse what is no factor, has nodes that are not there, or does not fit their labels."""
    if not isinstance(factor, Factor):
        raise TypeError(
            f"factors[{number}] is {factor!r}; expected one of "
            f"{', '.join(kind.__name__ for kind in FACTORS.values())}."
        )
    for v in factor.nodes:
        if not 0 <= v < len(n_labels):
            raise ValueError(
                f"factor {number} names the node {v}; expected nodes from 0 to {len(n_labels) - 1}."
            )
    factor.check(n_labels[list(factor.nodes)].tolist())


def _merged(factors: list[Factor]) -> list[Factor]:
    """Add up tables of the same nodes, and tables whose nodes all belong to a larger one."""
    tables: dict[frozenset[int], Table] = {}
    others: list[Factor] = []
    for factor in factors:
        if not isinstance(factor, Table):
            others.append(factor)
            continue
        key = frozenset(factor.nodes)
        tables[key] = _sum(tables[key], factor) if key in tables else factor
    # A table goes into the first of the smallest tables that hold all its nodes.
    by_node: dict[int, list[frozenset[int]]] = {}
    for key in tables:
        for v in key:
            by_node.setdefault(v, []).append(key)
    for key in sorted(tables, key=len):
        if all(len(other) <= 2 for other in by_node[min(key)]) and len(key) > 1:
            continue
        holders = [k for k in by_node[min(key)] if k in tables and len(k) > len(key) and key < k]
        if holders and len(key) > 1:
            holder = min(holders, key=len)
            tables[holder] = _sum(tables[holder], tables.pop(key))
    return [*tables.values(), *others]


def _sum(larger: Table, smaller: Table) -> Table:
    """Return the table of ``larger`` with ``smaller`` added, whose nodes are among its own."""
    place = [larger.nodes.index(v) for v in smaller.nodes]
    order = sorted(range(len(place)), key=place.__getitem__)
    shape = [
        size if v in smaller.nodes else 1
        for v, size in zip(larger.nodes, larger.values.shape, strict=True)
    ]
    return Table(larger.nodes, larger.values + smaller.values.transpose(order).reshape(shape))


def _laid_out(
    n_labels: npt.NDArray[np.int64], factors: list[Factor]
) -> tuple[Shape, npt.NDArray[np.float64]]:
    """Return the shape of these factors, and their numbers one after the other."""
    kinds = [factor.kind for factor in factors]
    numbers = [factor.words() for factor in factors]
    ends = np.cumsum([0, *(len(row) for row in numbers)])
    on = [factor.on(n_labels[list(factor.nodes)].tolist()) for factor in factors]
    members = [v for factor in factors for v in factor.nodes]
    shape = graph_shape(
        n_labels,
        np.array(members, dtype=np.int64),
        np.array([len(factor.nodes) for factor in factors], dtype=np.int64),
        ends[:-1],
        np.array(kinds, dtype=np.int64),
        np.concatenate([np.zeros(0, dtype=np.int32), *on]),
    )
    return shape, np.concatenate([np.zeros(0), *numbers])

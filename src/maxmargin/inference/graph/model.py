"""Factor graphs as users give them: nodes with scores, edges with tables, factors of any order."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import check_potential
from maxmargin.inference.graph.factors import FACTORS, Factor, Table, custom
from maxmargin.inference.graph.factors.base import check_nodes
from maxmargin.inference.graph.pairs import Pairs, check_pairs, merged_pairs, without
from maxmargin.inference.graph.score import labelling_score
from maxmargin.inference.graph.shape import DENSE, Shape, graph_shape

__all__ = ["FactorGraph"]

#: The most that the scores of a labelling may add up to.
LARGEST = 1e300


class FactorGraph:
    """A graph of nodes, each with labels, and factors that score the labels of some of them.

    The score of a labelling is the sum of its unary scores and of the values of all factors; -inf
    forbids. Factors over the same nodes, in whatever order, are added up into one table, and a
    table whose nodes all belong to a larger table is added to that: relaxations are tighter so.

    Parameters
    ----------
    unary : array-like of shape (n, K), or sequence of n 1-D array-likes
        Scores of the labels of each node; nodes may have different numbers of labels. -inf forbids
        a label.
    edges : array-like of int of shape (E, 2), default=()
        Pairs of different nodes, in either direction, also repeated.
    tables : array-like of shape (K, K) or (E, K, K), or sequence of E 2-D array-likes
        The table of edge (a, b) has the labels of a as rows. One table serves all edges, and is
        stored once. Needed if there are edges.
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
        self.unary, n_labels = _check_unary(unary)
        pairs = check_pairs(n_labels, edges, tables)
        given = list(factors)
        for number, factor in enumerate(given):
            _check_factor(number, factor, n_labels)
        scores = [f.numbers() for f in given if not isinstance(f, custom.CustomFactor)]
        n_parts = len(n_labels) + len(pairs.at) + len(given)
        check_sums(n_parts, self.unary, pairs.values, np.concatenate([np.zeros(0), *scores]))
        self.shape, self.tables = _laid_out(n_labels, *_merged(n_labels, pairs, given))

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


def _check_unary(unary: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the scores of all labels, flat, and how many labels each node has."""
    if isinstance(unary, np.ndarray) and unary.ndim == 2:
        scores = check_potential("unary", unary, 2)
        if len(scores) and scores.shape[1] == 0:
            raise ValueError("unary[0] is empty: node 0 has no label.")
        return scores.ravel().copy(), np.full(len(scores), scores.shape[1], dtype=np.int64)
    rows = [check_potential(f"unary[{v}]", row, 1) for v, row in enumerate(unary)]
    for v, row in enumerate(rows):
        if len(row) == 0:
            raise ValueError(f"unary[{v}] is empty: node {v} has no label.")
    n_labels = np.array([len(row) for row in rows], dtype=np.int64)
    return np.concatenate([np.zeros(0), *rows]), n_labels


def check_sums(n_parts: int, *scores: npt.NDArray[np.float64]) -> None:
    """Refuse finite scores that are so large that sums over nodes and factors could overflow.

    After an overflow bounds would be infinite, and -inf would no longer mean forbidden. Messages
    are sums in which each score occurs a few times, hence the room above the limit. The numbers of
    a factor of users are not looked at, as they need not be scores.
    """
    # numpy's maximum of numbers with NaN is NaN, which Python's passes over.
    sizes = [
        np.maximum(each.max(initial=0.0), -each.min(initial=0.0, where=each != -np.inf))
        for each in scores
    ]
    largest = float(np.max(sizes, initial=0.0))
    if not largest <= LARGEST / max(1, n_parts):  # NaN is refused as well
        raise ValueError(
            f"scores as large as {largest:g} overflow in sums over {n_parts} nodes and factors; "
            f"expected at most {LARGEST:g} in all. -inf, not a huge number, forbids a label."
        )


def _check_factor(number: int, factor: Any, n_labels: npt.NDArray[np.int64]) -> None:
    """Refuse what is no factor, has nodes that are not there, or does not fit their labels."""
    if not isinstance(factor, Factor):
        raise TypeError(
            f"factors[{number}] is {factor!r}; expected one of "
            f"{', '.join(kind.__name__ for kind in FACTORS.values())}."
        )
    if isinstance(factor, custom.CustomFactor):  # it sets its nodes itself; others checked theirs
        check_nodes(f"factors[{number}]", factor.nodes)
    for v in factor.nodes:
        if not 0 <= v < len(n_labels):
            raise ValueError(
                f"factors[{number}] names the node {v}; "
                f"expected nodes from 0 to {len(n_labels) - 1}."
            )
    factor.check(n_labels[list(factor.nodes)].tolist())


def _merged(
    n_labels: npt.NDArray[np.int64], pairs: Pairs, factors: list[Factor]
) -> tuple[Pairs, list[Factor]]:
    """Add up tables of the same nodes, and tables whose nodes all belong to a larger one."""
    small = [factor for factor in factors if isinstance(factor, Table) and len(factor.nodes) == 2]
    if small:
        starts = np.cumsum([len(pairs.values), *(table.values.size for table in small)])
        pairs = Pairs(
            np.concatenate([pairs.ends, [table.nodes for table in small]]),
            np.concatenate([pairs.at, starts[:-1]]),
            np.concatenate([pairs.values, *(table.numbers() for table in small)]),
        )
    tables: dict[frozenset[int], Table] = {}
    others: list[Factor] = []
    for factor in factors:
        if not isinstance(factor, Table):
            others.append(factor)
        elif len(factor.nodes) != 2:
            key = frozenset(factor.nodes)
            tables[key] = _sum(tables[key], factor) if key in tables else factor
    pairs = merged_pairs(n_labels, pairs)
    tables = _within(tables)
    pairs = _pairs_within(n_labels, pairs, tables)
    return pairs, [*tables.values(), *others]


def _within(tables: dict[frozenset[int], Table]) -> dict[frozenset[int], Table]:
    """Add tables of three nodes and more to the first of the smallest ones that hold them."""
    by_node: dict[int, list[frozenset[int]]] = {}
    for key in tables:
        if len(key) > 2:
            for v in key:
                by_node.setdefault(v, []).append(key)
    for key in sorted((key for key in tables if len(key) > 2), key=len):
        fewest = min(key, key=lambda v: len(by_node[v]))
        holders = [other for other in by_node[fewest] if other in tables and key < other]
        if holders:
            holder = min(holders, key=len)
            tables[holder] = _sum(tables[holder], tables.pop(key))
    return tables


def _pairs_within(
    n_labels: npt.NDArray[np.int64], pairs: Pairs, tables: dict[frozenset[int], Table]
) -> Pairs:
    """Add pairs to the first of the smallest larger tables that hold both nodes."""
    holder: dict[tuple[int, int], frozenset[int]] = {}
    for key in sorted((key for key in tables if len(key) > 2), key=len):
        for pair in itertools.combinations(sorted(key), 2):
            holder.setdefault(pair, key)
    if not holder or len(pairs.at) == 0:
        return pairs
    held = np.array(list(holder), dtype=np.int64)
    n_nodes = len(n_labels)
    codes = pairs.ends.min(axis=1) * n_nodes + pairs.ends.max(axis=1)
    gone = np.isin(codes, held[:, 0] * n_nodes + held[:, 1])
    for e in np.flatnonzero(gone).tolist():
        a, b = pairs.ends[e].tolist()
        at, sizes = pairs.at[e], (n_labels[a], n_labels[b])
        values = pairs.values[at : at + sizes[0] * sizes[1]].reshape(sizes)
        key = holder[min(a, b), max(a, b)]
        tables[key] = _sum(tables[key], Table((a, b), values))
    return without(n_labels, pairs, gone)


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
    n_labels: npt.NDArray[np.int64], pairs: Pairs, factors: list[Factor]
) -> tuple[Shape, npt.NDArray[np.float64]]:
    """Return the shape of the pairs and then the factors, and their numbers one after the other."""
    numbers = [factor.words() for factor in factors]
    ends = np.cumsum([len(pairs.values), *(len(row) for row in numbers)])
    on = [factor.on(n_labels[list(factor.nodes)].tolist()) for factor in factors]
    members = np.array([v for factor in factors for v in factor.nodes], dtype=np.int64)
    n_pairs = len(pairs.at)
    shape = graph_shape(
        n_labels,
        np.concatenate([pairs.ends.ravel(), members]),
        np.concatenate([np.full(n_pairs, 2), [len(factor.nodes) for factor in factors]]).astype(
            int
        ),
        np.concatenate([pairs.at, ends[:-1]]),
        np.concatenate([np.full(n_pairs, DENSE), [factor.kind for factor in factors]]).astype(int),
        np.concatenate([np.zeros(2 * n_pairs, dtype=np.int32), *on]),
    )
    return shape, np.concatenate([pairs.values, *numbers])

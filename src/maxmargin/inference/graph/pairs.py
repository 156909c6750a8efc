"""Edges with tables, many at once: checked, and added up where they join the same nodes.

Everything here runs over arrays, so that graphs of millions of edges are made in seconds. Edges may
share a table, and those that share one before they are added up share one afterwards.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import check_potential

__all__ = ["Pairs", "check_pairs", "merged_pairs"]

Ints = npt.NDArray[np.int64]


class Pairs(NamedTuple):
    """Tables over pairs of nodes.

    Attributes
    ----------
    ends : int64 array of shape (E, 2)
    at : int64 array of shape (E,)
        Where the table of each edge begins in `values`; edges may share a table.
    values : float64 array, flat
        The labels of the first node of an edge are the rows of its table.
    """

    ends: Ints
    at: Ints
    values: npt.NDArray[np.float64]


def check_pairs(n_labels: Ints, edges: Any, tables: Any) -> Pairs:
    """Return checked edges and tables; see `FactorGraph` for what they may be."""
    ends = _check_ends(len(n_labels), edges)
    if len(ends) == 0:
        return Pairs(ends, np.zeros(0, dtype=np.int64), np.zeros(0))
    if tables is None:
        raise ValueError(f"there are {len(ends)} edges but no tables; expected one table per edge.")
    if _is_one_table(tables):
        table = check_potential("tables", tables, 2)
        at = np.zeros(len(ends), dtype=np.int64)
        _check_sizes(ends, n_labels, np.broadcast_to(table.shape, (len(ends), 2)), "tables")
        return Pairs(ends, at, table.ravel().copy())
    if len(tables) != len(ends):
        raise ValueError(f"there are {len(ends)} edges but {len(tables)} tables.")
    if isinstance(tables, np.ndarray) and tables.ndim == 3:
        values = check_potential("tables", tables, 3)
        _check_sizes(ends, n_labels, np.broadcast_to(values.shape[1:], (len(ends), 2)))
        at = np.arange(len(ends), dtype=np.int64) * (values.shape[1] * values.shape[2])
        return Pairs(ends, at, values.ravel().copy())
    return _listed_tables(n_labels, ends, tables)


def _check_ends(n_nodes: int, edges: Any) -> Ints:
    """Return the edges; refuse nodes that are not there, and loops."""
    try:
        pairs = np.asarray(edges)
    except ValueError as error:
        raise ValueError(f"edges is not an array of pairs of nodes: {error}") from None
    if pairs.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"edges must have shape (n_edges, 2), got {pairs.shape}.")
    if pairs.dtype.kind not in "iu":
        raise TypeError(f"edges must hold integer nodes, got dtype {pairs.dtype}.")
    bad = ((pairs < 0) | (pairs >= n_nodes)).any(axis=1)
    if bad.any():
        e = int(np.argmax(bad))
        a, b = pairs[e].tolist()
        expected = (
            f"nodes from 0 to {n_nodes - 1}" if n_nodes else "no edges, as there are no nodes"
        )
        raise ValueError(f"edges[{e}] is ({a}, {b}); expected {expected}.")
    loops = pairs[:, 0] == pairs[:, 1]
    if loops.any():
        e = int(np.argmax(loops))
        raise ValueError(
            f"edges[{e}] joins node {pairs[e, 0]} to itself; expected two different nodes."
        )
    return pairs.astype(np.int64)


def _is_one_table(tables: Any) -> bool:
    """Return whether these are the rows of one table, not a sequence of tables."""
    if isinstance(tables, (list, tuple)):
        return len(tables) > 0 and np.ndim(tables[0]) == 1
    return np.ndim(tables) == 2


def _check_sizes(ends: Ints, n_labels: Ints, sizes: Any, name: str = "") -> None:
    """Refuse a table whose shape is not that of the labels of its nodes."""
    bad = (n_labels[ends] != sizes).any(axis=1)
    if bad.any():
        e = int(np.argmax(bad))
        a, b = ends[e].tolist()
        raise ValueError(
            f"{name or f'tables[{e}]'} has the shape {tuple(np.asarray(sizes[e]).tolist())}; "
            f"expected ({n_labels[a]}, {n_labels[b]}) for the edge ({a}, {b}), the numbers of "
            "labels of these nodes."
        )


def _listed_tables(n_labels: Ints, ends: Ints, tables: Any) -> Pairs:
    """Return the pairs of tables that were given one by one; the same object is stored once."""
    place: dict[int, int] = {}
    kept: list[npt.NDArray[np.float64]] = []
    which = np.empty(len(ends), dtype=np.int64)
    for e, table in enumerate(tables):
        found = place.get(id(table))
        if found is None:
            found = place[id(table)] = len(kept)
            kept.append(check_potential(f"tables[{e}]", table, 2))
        which[e] = found
    sizes = np.array([table.shape for table in kept], dtype=np.int64)
    _check_sizes(ends, n_labels, sizes[which])
    starts = np.concatenate([[0], np.cumsum([table.size for table in kept])])
    values = np.concatenate([table.ravel() for table in kept])
    return Pairs(ends, starts[which].astype(np.int64), values)


def merged_pairs(n_labels: Ints, pairs: Pairs) -> Pairs:
    """Add up the tables of edges over the same two nodes, transposed where needed.

    The first edge of each pair of nodes stays, with its direction.
    """
    low, high = pairs.ends.min(axis=1), pairs.ends.max(axis=1)
    order = np.argsort(low * max(len(n_labels), 1) + high, kind="stable")
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (low[order][1:] != low[order][:-1]) | (high[order][1:] != high[order][:-1])
    if is_first.all():
        return pairs
    # Edges of one group stand together, the first given one first. Round r adds the edge number r
    # of each group to its first edge, so that a round changes no table twice.
    start = np.flatnonzero(is_first)
    sizes = np.diff(np.append(start, len(order)))
    rank = np.arange(len(order)) - np.repeat(start, sizes)
    first = np.repeat(order[start], sizes)
    at, values = pairs.at.copy(), [pairs.values]
    for r in range(1, int(rank.max()) + 1):
        chosen = rank == r
        added = _sums(n_labels, pairs.ends, at, first[chosen], order[chosen], values)
        values.append(added)
    kept = np.sort(order[start])
    return _compact(n_labels, Pairs(pairs.ends[kept], at[kept], np.concatenate(values)))


def _sums(
    n_labels: Ints, ends: Ints, at: Ints, into: Ints, from_: Ints, values: list[Any]
) -> npt.NDArray[np.float64]:
    """Return the sums of the tables of two edges each; set `at` of the first to where they go.

    Sums of the same two tables in the same directions are made once.
    """
    flat = values[0] if len(values) == 1 else np.concatenate(values)
    values[:] = [flat]
    is_turned = ends[into, 0] != ends[from_, 0]
    # Numbers of the tables, not their places: the product of two fits into 64 bits.
    _, first = np.unique(at[into], return_inverse=True)
    _, second = np.unique(at[from_], return_inverse=True)
    keys = (first * (second.max() + 1) + second) * 2 + is_turned
    _, example, which = np.unique(keys, return_index=True, return_inverse=True)
    rows, columns = n_labels[ends[into[example]]].T
    starts = np.concatenate([[0], np.cumsum(rows * columns)])
    owner = np.repeat(np.arange(len(example)), rows * columns)
    cell = np.arange(starts[-1]) - starts[owner]
    x, y = cell // columns[owner], cell % columns[owner]
    other = np.where(is_turned[example][owner], y * rows[owner] + x, cell)
    summed: npt.NDArray[np.float64] = (
        flat[at[into[example]][owner] + cell] + flat[at[from_[example]][owner] + other]
    )
    at[into] = len(flat) + starts[which]
    return summed


def _compact(n_labels: Ints, pairs: Pairs) -> Pairs:
    """Return the pairs with no table that no edge uses."""
    unique, example, which = np.unique(pairs.at, return_index=True, return_inverse=True)
    sizes = n_labels[pairs.ends[example]].prod(axis=1)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    if starts[-1] == len(pairs.values):
        return pairs
    owner = np.repeat(np.arange(len(unique)), sizes)
    values = pairs.values[unique[owner] + np.arange(starts[-1]) - starts[owner]]
    return Pairs(pairs.ends, starts[which].astype(np.int64), values)


def without(n_labels: Ints, pairs: Pairs, gone: npt.NDArray[np.bool_]) -> Pairs:
    """Return the pairs that are not marked."""
    return _compact(n_labels, Pairs(pairs.ends[~gone], pairs.at[~gone], pairs.values))

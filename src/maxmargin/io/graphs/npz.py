"""Factor graphs in npz files: the flat arrays that they are made of.

Keys: ``n_labels`` (one per node), ``unary`` (the scores of all nodes, one after the other),
``orders`` (how many nodes each factor has), ``members`` (the nodes of all factors), ``tables`` (the
scores of all factors) and perhaps ``table_at`` (where those of each begin; without it they come one
after the other). Factors are dense tables in C order, and may share them.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.arrays import read_arrays
from maxmargin.io.files import Source, source_name
from maxmargin.io.graphs.parts import MOST_CELLS, as_graph
from maxmargin.io.graphs.tables import dense_tables
from maxmargin.io.replace import atomic_write
from maxmargin.io.unpack import most_unpacked

if TYPE_CHECKING:
    from maxmargin.inference import FactorGraph

__all__ = ["read_graph_npz", "save_arrays", "write_graph_npz"]

_NEEDED = {"n_labels": "iu", "unary": "fiu", "orders": "iu", "members": "iu", "tables": "fiu"}
_KINDS = {**_NEEDED, "table_at": "iu"}


def write_graph_npz(path: str | os.PathLike[str], graph: FactorGraph) -> None:
    """Write a factor graph; the file is replaced in one step, and scores keep every digit.

    Parameters
    ----------
    path : path
    graph : FactorGraph
        Of tables. Rules become tables, if these are small.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.inference import FactorGraph
    >>> graph = FactorGraph([[0.0, 1.0], [0.5, 0.0]], [(0, 1)], [[1.0, 0.0], [0.0, 1.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "graph.npz")
    ...     write_graph_npz(path, graph)
    ...     read_graph_npz(path).score([1, 1])
    2.0
    """
    shape = graph.shape
    if (shape.kinds == 0).all():
        orders, members = np.diff(shape.member_at), shape.members
        tables, table_at = graph.tables, shape.table_at
    else:
        dense = dense_tables(graph, "an npz file of graphs")
        orders = np.array([len(nodes) for nodes, _ in dense], dtype=np.int64)
        members = np.array([v for nodes, _ in dense for v in nodes], dtype=np.int32)
        tables = np.concatenate([table.reshape(-1) for _, table in dense])
        sizes = np.array([table.size for _, table in dense], dtype=np.int64)
        table_at = np.cumsum(sizes) - sizes
    save_arrays(
        path,
        {
            "n_labels": shape.n_labels,
            "unary": graph.unary,
            "orders": orders,
            "members": members,
            "tables": tables,
            "table_at": table_at,
        },
    )


def save_arrays(path: str | os.PathLike[str], arrays: dict[str, NDArray[Any]]) -> None:
    """Write arrays to an npz file, whole or not at all, so that reading accepts them."""
    with atomic_write(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        if sum(array.nbytes for array in arrays.values()) > most_unpacked(file.tell()):
            # Not packed: an array of nearly all zeros packs so small that reading would refuse it
            # as a file made to fill the memory.
            file.seek(0)
            file.truncate()
            np.savez(file, **arrays)  # type: ignore[arg-type]


def read_graph_npz(source: Source, *, most_cells: int = MOST_CELLS) -> FactorGraph:
    """The factor graph of an npz file that :func:`write_graph_npz` wrote.

    Parameters
    ----------
    source : path or file open for reading bytes
    most_cells : int, default 30_000_000
        The most scores that factors may have which share their tables. One table that all edges
        share counts once.

    Raises
    ------
    ValueError
        Naming the file, for arrays that do not fit together.
    """
    name = source_name(source)
    arrays = read_arrays(source, _KINDS)
    for key in _NEEDED:
        if key not in arrays:
            raise ValueError(f"{name} has no key {key!r}; it is no file of a factor graph.")
    for key, array in arrays.items():
        if array.ndim != 1:
            raise ValueError(f"{name}: {key} has shape {array.shape}; expected one axis.")
    sizes, orders, members = (
        _whole(name, key, arrays[key], low)
        for key, low in (("n_labels", 1), ("orders", 1), ("members", 0))
    )
    unary, flat = (arrays[key].astype(np.float64) for key in ("unary", "tables"))
    _check_sums(name, sizes, orders, members, unary)
    cells, starts = _places(name, arrays, sizes, orders, members, flat)
    is_uniform = len(sizes) > 0 and (sizes == sizes[0]).all()
    rows = unary.reshape(len(sizes), -1) if is_uniform else np.split(unary, np.cumsum(sizes)[:-1])
    if is_uniform and (orders == 2).all():
        # One array, or one table for all: no factor is touched by itself.
        k, is_shared = int(sizes[0]), len(starts) > 0 and (starts == starts[0]).all()
        if is_shared or np.array_equal(starts, np.arange(len(starts)) * k * k):
            tables = (
                flat[starts[0] : starts[0] + k * k] if is_shared else flat[: len(starts) * k * k]
            )
            values = tables.reshape((k, k) if is_shared else (-1, k, k))
            return _made(name, rows, members.reshape(-1, 2), values)
    if cells.sum() > max(most_cells, len(flat)):
        raise ValueError(
            f"{name}: the factors have {cells.sum():.0f} scores, more than {most_cells}; if that "
            "is meant, say most_cells."
        )
    listed = _cut(name, sizes, orders, members, starts, flat)
    rows = list(rows)[: len(sizes)]
    for nodes, table in listed:
        if len(nodes) == 1:
            rows[nodes[0]] = rows[nodes[0]] + table
    return as_graph(name, rows, [pair for pair in listed if len(pair[0]) > 1])


def _made(
    name: str, rows: Any, edges: NDArray[np.int64], values: NDArray[np.float64]
) -> FactorGraph:
    from maxmargin.inference import FactorGraph

    try:
        return FactorGraph(rows, edges, values if len(edges) else None)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None


def _whole(name: str, key: str, array: NDArray[Any], low: int) -> NDArray[np.int64]:
    if len(array) and not low <= int(array.min()) <= int(array.max()) < 2**31:
        raise ValueError(f"{name}: {key} must hold whole numbers of at least {low}, below 2^31.")
    return array.astype(np.int64)


def _check_sums(
    name: str,
    sizes: NDArray[np.int64],
    orders: NDArray[np.int64],
    members: NDArray[np.int64],
    unary: NDArray[np.float64],
) -> None:
    """Refuse numbers of labels and of members that are not those of the arrays beside them."""
    if sizes.sum() != len(unary):
        raise ValueError(
            f"{name}: unary has {len(unary)} scores, but the nodes have {sizes.sum()} labels."
        )
    if orders.sum() != len(members):
        raise ValueError(
            f"{name}: members has {len(members)} nodes, but the factors have {orders.sum()}."
        )
    if len(members) and members.max() >= len(sizes):
        raise ValueError(
            f"{name}: members names the node {members.max()}; expected 0 to {len(sizes) - 1}."
        )


def _places(
    name: str,
    arrays: dict[str, NDArray[Any]],
    sizes: NDArray[np.int64],
    orders: NDArray[np.int64],
    members: NDArray[np.int64],
    flat: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return how many scores each factor has, as a float, and where they begin."""
    # Floats, which do not overflow: 64 nodes of two labels are more than int64 holds.
    cells = np.ones(0)
    if len(orders):
        firsts = np.cumsum(orders) - orders
        with np.errstate(over="ignore"):
            cells = np.multiply.reduceat(sizes[members].astype(np.float64), firsts)
    given = arrays.get("table_at")
    if given is None:
        with np.errstate(over="ignore", invalid="ignore"):
            ends = np.cumsum(cells)
        if len(cells) and ends[-1] != len(flat):
            raise ValueError(f"{name}: tables has {len(flat)} scores; expected {ends[-1]:.0f}.")
        return cells, (ends - cells).astype(np.int64)
    starts = _whole(name, "table_at", given, 0)
    if len(starts) != len(orders):
        raise ValueError(
            f"{name}: table_at is of {len(starts)} factors, but there are {len(orders)}."
        )
    beyond = starts + cells > len(flat)
    if beyond.any():
        number = int(np.argmax(beyond))
        raise ValueError(
            f"{name}: tables has {len(flat)} scores, and ends within those of factor {number}."
        )
    return cells, starts


def _cut(
    name: str,
    sizes: NDArray[np.int64],
    orders: NDArray[np.int64],
    members: NDArray[np.int64],
    starts: NDArray[np.int64],
    flat: NDArray[np.float64],
) -> list[tuple[tuple[int, ...], NDArray[np.float64]]]:
    """Return (nodes, table) of each factor."""
    found = []
    first = 0
    for number, (order, start) in enumerate(zip(orders.tolist(), starts.tolist(), strict=True)):
        nodes = tuple(members[first : first + order].tolist())
        first += order
        if len(set(nodes)) < order or order > 32:
            raise ValueError(
                f"{name}: factor {number} has the nodes {nodes[:40]}; expected 32 different ones "
                "at most."
            )
        shape = [int(sizes[v]) for v in nodes]
        found.append((nodes, flat[start : start + math.prod(shape)].reshape(shape)))
    return found

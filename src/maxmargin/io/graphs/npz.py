"""Factor graphs in npz files: the flat arrays that they are made of.

Keys: ``n_labels`` (one per node), ``unary`` (the scores of all nodes, one after the other),
``orders`` (how many nodes each factor has), ``members`` (the nodes of all factors), ``tables`` (the
scores of all factors). Factors are dense tables in C order.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.arrays import read_arrays
from maxmargin.io.files import Source, source_name
from maxmargin.io.graphs.tables import dense_tables
from maxmargin.io.replace import atomic_write
from maxmargin.io.unpack import most_unpacked

if TYPE_CHECKING:
    from maxmargin.inference import FactorGraph

__all__ = ["read_graph_npz", "save_arrays", "write_graph_npz"]

_KINDS = {"n_labels": "iu", "unary": "fiu", "orders": "iu", "members": "iu", "tables": "fiu"}


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
    tables = dense_tables(graph, "an npz file of graphs")
    none = np.zeros(0)
    save_arrays(
        path,
        {
            "n_labels": graph.shape.n_labels,
            "unary": graph.unary,
            "orders": np.array([len(nodes) for nodes, _ in tables], dtype=np.int64),
            "members": np.array([v for nodes, _ in tables for v in nodes], dtype=np.int64),
            "tables": np.concatenate([none, *(table.reshape(-1) for _, table in tables)]),
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


def read_graph_npz(source: Source) -> FactorGraph:
    """The factor graph of an npz file that :func:`write_graph_npz` wrote.

    Parameters
    ----------
    source : path or file open for reading bytes

    Raises
    ------
    ValueError
        Naming the file, for arrays that do not fit together.
    """
    from maxmargin.io.graphs.parts import as_graph

    name = source_name(source)
    arrays = read_arrays(source, _KINDS)
    for key in _KINDS:
        if key not in arrays:
            raise ValueError(f"{name} has no key {key!r}; it is no file of a factor graph.")
        if arrays[key].ndim != 1:
            raise ValueError(f"{name}: {key} has shape {arrays[key].shape}; expected one axis.")
    sizes, orders, members = (
        _whole(name, key, arrays[key], low)
        for key, low in (("n_labels", 1), ("orders", 1), ("members", 0))
    )
    unary, flat = (arrays[key].astype(np.float64) for key in ("unary", "tables"))
    if sum(sizes.tolist()) != len(unary):
        raise ValueError(
            f"{name}: unary has {len(unary)} scores, but the nodes have {sum(sizes.tolist())} "
            "labels."
        )
    if sum(orders.tolist()) != len(members):
        raise ValueError(
            f"{name}: members has {len(members)} nodes, but the factors have "
            f"{sum(orders.tolist())}."
        )
    if len(members) and members.max() >= len(sizes):
        raise ValueError(
            f"{name}: members names the node {members.max()}; expected 0 to {len(sizes) - 1}."
        )
    tables = _cut(name, sizes, orders, members, flat)
    rows = np.split(unary, np.cumsum(sizes)[:-1]) if len(sizes) else []
    singles = [(nodes, table) for nodes, table in tables if len(nodes) == 1]
    for nodes, table in singles:
        rows[nodes[0]] = rows[nodes[0]] + table
    return as_graph(name, rows, [pair for pair in tables if len(pair[0]) > 1])


def _whole(name: str, key: str, array: NDArray[Any], low: int) -> NDArray[np.int64]:
    if len(array) and not low <= int(array.min()) <= int(array.max()) < 2**31:
        raise ValueError(f"{name}: {key} must hold whole numbers of at least {low}, below 2^31.")
    return array.astype(np.int64)


def _cut(
    name: str,
    sizes: NDArray[np.int64],
    orders: NDArray[np.int64],
    members: NDArray[np.int64],
    flat: NDArray[np.float64],
) -> list[tuple[tuple[int, ...], NDArray[np.float64]]]:
    """Return (nodes, table) of each factor."""
    found = []
    at = start = 0
    for number, order in enumerate(orders.tolist()):
        nodes = tuple(members[start : start + order].tolist())
        if len(set(nodes)) < order or order > 32:
            raise ValueError(
                f"{name}: factor {number} has the nodes {nodes[:40]}; expected 32 different ones "
                "at most."
            )
        shape = [int(sizes[v]) for v in nodes]
        n_cells = 1
        for size in shape:
            n_cells *= size
        if n_cells > len(flat) - at:
            raise ValueError(
                f"{name}: tables has {len(flat)} scores, and ends within those of factor {number}."
            )
        found.append((nodes, flat[at : at + n_cells].reshape(shape)))
        at, start = at + n_cells, start + order
    if at != len(flat):
        raise ValueError(f"{name}: tables has {len(flat)} scores; expected {at}.")
    return found

"""The shape of a factor graph: which nodes each factor joins, and where everything is.

A labelling x gives node v one of its labels 0 .. n_labels[v] - 1, and its score is

    S(x) = sum_v unary[unary_at[v] + x_v] + sum_f T_f(x_f),

where f runs over the factors and x_f are the labels of the nodes of f. The potentials are two flat
arrays, `unary` and `tables`. They come with each call; the shape is made once. A factor is one of
several kinds (maxmargin.inference.graph.factors); most are dense tables, in C order, with one axis
per member. Nothing assumes that the members of a factor rise: an edge (b, a) has the labels of b as
rows. Several factors may share one table.

A slot is a place of a node in a factor; those of factor f are member_at[f] to member_at[f + 1] - 1.
A message belongs to a slot, and has one number per label of its node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["DENSE", "Shape", "graph_shape", "read_only"]

#: The kind of a factor that is a dense table.
DENSE = 0


class Shape(NamedTuple):
    """What is where in a factor graph of n nodes, F factors and S slots; all arrays are read-only.

    Attributes
    ----------
    n_labels : int32 array of shape (n,)
    unary_at : int64 array of shape (n + 1,)
        The unary potentials of node v are unary[unary_at[v] : unary_at[v + 1]].
    member_at : int64 array of shape (F + 1,)
    members : int32 array of shape (S,)
        The node of each slot.
    on : int32 array of shape (S,)
        The label that counts as "on" at this slot, for factors over switches; 0 for tables.
    kinds : int32 array of shape (F,)
    table_at : int64 array of shape (F,)
        Where the table of each factor begins in `tables`, or what its kind keeps there instead.
    message_at : int64 array of shape (S + 1,)
        The message of slot s is messages[message_at[s] : message_at[s + 1]].
    slot_at : int64 array of shape (n + 1,)
    slots : int32 array of shape (S,)
        The slots at node v are slots[slot_at[v] : slot_at[v + 1]], in the order of factors.
    factor_of : int32 array of shape (S,)
        The factor of each slot.
    """

    n_labels: npt.NDArray[np.int32]
    unary_at: npt.NDArray[np.int64]
    member_at: npt.NDArray[np.int64]
    members: npt.NDArray[np.int32]
    on: npt.NDArray[np.int32]
    kinds: npt.NDArray[np.int32]
    table_at: npt.NDArray[np.int64]
    message_at: npt.NDArray[np.int64]
    slot_at: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int32]
    factor_of: npt.NDArray[np.int32]


def graph_shape(
    n_labels: npt.ArrayLike,
    members: npt.ArrayLike,
    sizes: npt.ArrayLike,
    table_at: npt.ArrayLike,
    kinds: npt.ArrayLike | None = None,
    on: npt.ArrayLike | None = None,
) -> Shape:
    """Return the shape of a factor graph whose parts were checked before.

    Parameters
    ----------
    n_labels : int array of shape (n,)
    members : int array of shape (S,)
        The nodes of all factors, one factor after the other.
    sizes : int array of shape (F,)
        How many nodes each factor has.
    table_at : int array of shape (F,)
    kinds : int array of shape (F,), or None
        None: all are dense tables.
    on : int array of shape (S,), or None
        None: label 0 everywhere.

    Examples
    --------
    Three nodes of 2, 3 and 2 labels; the edges (0, 1) and (2, 1).

    >>> from maxmargin.inference.graph.shape import graph_shape
    >>> shape = graph_shape([2, 3, 2], [0, 1, 2, 1], [2, 2], [0, 6])
    >>> shape.unary_at.tolist(), shape.message_at.tolist()
    ([0, 2, 5, 7], [0, 2, 5, 7, 10])
    >>> shape.slots[shape.slot_at[1] : shape.slot_at[2]].tolist()
    [1, 3]
    """
    labels = np.asarray(n_labels, dtype=np.int32)
    nodes = np.asarray(members, dtype=np.int32)
    orders = np.asarray(sizes, dtype=np.int64)
    n_factors, n_slots = len(orders), len(nodes)
    shape = Shape(
        labels,
        _starts(labels),
        _starts(orders),
        nodes,
        np.zeros(n_slots, dtype=np.int32) if on is None else np.asarray(on, dtype=np.int32),
        np.full(n_factors, DENSE, dtype=np.int32)
        if kinds is None
        else np.asarray(kinds, dtype=np.int32),
        np.asarray(table_at, dtype=np.int64),
        _starts(labels[nodes]),
        _starts(np.bincount(nodes, minlength=len(labels))),
        np.argsort(nodes, kind="stable").astype(np.int32),
        np.repeat(np.arange(n_factors, dtype=np.int32), orders),
    )
    arrays: tuple[Any, ...] = shape
    return Shape(*map(read_only, arrays))


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view of an array that cannot be written.

    Writeable and read-only arrays are different types to numba. What kernels only read is read-only
    wherever it comes from, so that they are compiled once.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def _starts(lengths: Any) -> npt.NDArray[np.int64]:
    """Return where each piece begins, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def nodes_of(shape: Shape, factor: int) -> Sequence[int]:
    """Return the nodes of a factor, in the order of the axes of its table."""
    nodes: list[int] = shape.members[shape.member_at[factor] : shape.member_at[factor + 1]].tolist()
    return nodes

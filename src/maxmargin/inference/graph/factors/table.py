"""Dense tables: one number per labelling of the members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import jitable
from maxmargin.inference._checks import check_potential
from maxmargin.inference.graph.factors.base import Factor, check_nodes
from maxmargin.inference.graph.factors.pair import pair_message, place
from maxmargin.inference.graph.shape import DENSE

KIND = DENSE


class Table(Factor):
    """A dense table of scores, with one axis per node.

    Parameters
    ----------
    nodes : sequence of int
    values : array-like with one axis per node
        Finite numbers, or -inf where forbidden.

    Examples
    --------
    >>> from maxmargin.inference.graph.factors import Table
    >>> table = Table((0, 2), [[1.0, 0.0], [0.0, 2.0]])
    >>> table.value((1, 1))
    2.0
    """

    def __init__(self, nodes: Sequence[int], values: Any) -> None:
        self.nodes = check_nodes("Table", nodes)
        self.values = check_potential("values of a Table", values, len(self.nodes))

    def check(self, n_labels: Sequence[int]) -> None:
        """Refuse a table whose shape is not that of the labels of its nodes."""
        if self.values.shape != tuple(n_labels):
            raise ValueError(
                f"the table of the nodes {self.nodes} has the shape {self.values.shape}; expected "
                f"{tuple(n_labels)}, the numbers of labels of these nodes."
            )

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return the table, flat."""
        return self.values.reshape(-1)

    def value(self, labels: Sequence[int]) -> float:
        """Return the entry of these labels."""
        return float(self.values[tuple(labels)])


@jitable
def message(shape: Any, tables: Any, factor: int, slot: int, incoming: Any, out: Any) -> None:
    """Fill out with the best of each row, for the axis of `slot`; see base.py."""
    first, last = shape.member_at[factor], shape.member_at[factor + 1]
    table = shape.table_at[factor]
    own = shape.message_at[slot]
    n_own = shape.message_at[slot + 1] - own
    if last - first == 1:
        for x in range(n_own):
            out[x] = tables[table + x]
        return
    if last - first == 2:
        other = first + last - 1 - slot
        at = shape.message_at[other]
        n_other = shape.message_at[other + 1] - at
        pair_message(tables, table, slot == first, incoming, at, n_other, out, 0, n_own)
        return
    _message_of_many(shape, tables, factor, slot, incoming, out)


@jitable
def _message_of_many(
    shape: Any, tables: Any, factor: int, slot: int, incoming: Any, out: Any
) -> None:
    """Do as `message`, for tables of three axes and more: row by row along the last axis."""
    first, last = shape.member_at[factor], shape.member_at[factor + 1] - 1
    end = shape.message_at[last]
    n_last = shape.message_at[last + 1] - end
    n_rows = 1
    for s in range(first, last):
        n_rows *= shape.message_at[s + 1] - shape.message_at[s]
    for x in range(shape.message_at[slot + 1] - shape.message_at[slot]):
        out[x] = -np.inf
    for row in range(n_rows):
        at = shape.table_at[factor] + row * n_last
        added = 0.0
        rest = row
        own = 0
        for s in range(last - 1, first - 1, -1):
            size = shape.message_at[s + 1] - shape.message_at[s]
            label = rest % size
            rest //= size
            if s == slot:
                own = label
            else:
                added += incoming[shape.message_at[s] + label]
        if slot == last:
            for x in range(n_last):
                value = tables[place(at + x)] + added
                out[x] = value if value > out[x] else out[x]
        else:
            best = out[own]
            for x in range(n_last):
                value = tables[place(at + x)] + incoming[place(end + x)] + added
                best = value if value > best else best
            out[own] = best


@jitable
def value(shape: Any, tables: Any, factor: int, labels: Any) -> float:
    """Return the entry at a labelling of all nodes."""
    cell = 0
    for s in range(shape.member_at[factor], shape.member_at[factor + 1]):
        cell = cell * shape.n_labels[shape.members[s]] + labels[shape.members[s]]
    score: float = tables[shape.table_at[factor] + cell]
    return score

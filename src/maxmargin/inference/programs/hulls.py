"""Linear descriptions of factors: columns and rows whose integral points are labellings.

The columns of a programme are first mu_v(x), one per label of each node, laid out as `unary` is;
then those of the factors. Some of the latter have a cell of `tables`, by which they are priced.
Each kind of factor is described exactly: over its own nodes the rows leave the convex hull of its
labellings, and no more.

    table        mu_f(x_f) >= 0, which sums to mu_v(x) over the labels of the others
    exactly one  sum y = 1;   at most one: sum y <= 1;   at least one: sum y >= 1
    implies      y_a <= y_b
    Potts        z_l <= mu_v(l) of every member, sum_l z_l + z = 1, z priced as "different"
    cardinality  p_c >= 0 with sum 1, 0 <= y_vc <= p_c, sum_v y_vc = c p_c, y_v = sum_c y_vc

where y_v is mu_v of the label at which the member v is on. Users' own kinds are not described.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.factors import (
    at_least_one,
    at_most_one,
    cardinality,
    exactly_one,
    implies,
    potts,
)
from maxmargin.inference.graph.factors.switch import KINDS
from maxmargin.inference.graph.shape import DENSE, Shape

__all__ = ["Hulls", "hulls"]

Ints = npt.NDArray[np.int64]

#: The most cells of all tables, that is, columns of a programme.
MOST_COLUMNS = 10_000_000


class Hulls(NamedTuple):
    """A programme over a factor graph, but for its prices and upper bounds.

    Attributes
    ----------
    n_columns : int
    cell : int64 array of shape (n_columns - n_unary,)
        The cell of `tables` by which a column of a factor is priced, or -1.
    rows, columns : int64 arrays, one entry per coefficient
    values : float64 array
    low, high : float64 arrays with one entry per row
    message : int64 array, one entry per coefficient
        The cell of the messages that the dual of this row adds to; -1 for columns of factors.
    """

    n_columns: int
    cell: Ints
    rows: Ints
    columns: Ints
    values: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    message: Ints


class _Builder:
    """Collects columns and rows, in blocks."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.n_columns = int(shape.unary_at[-1])
        self.n_rows = 0
        self.cells: list[Ints] = []
        self.entries: list[tuple[Ints, Ints, npt.NDArray[np.float64], Ints]] = []
        self.low: list[npt.NDArray[np.float64]] = []
        self.high: list[npt.NDArray[np.float64]] = []

    def add_columns(self, cells: Ints) -> Ints:
        """Add columns that are priced by these cells of `tables`; return their numbers."""
        first = self.n_columns
        self.n_columns += len(cells)
        if self.n_columns > MOST_COLUMNS:
            raise ValueError(
                f"the programme of this graph would have over {MOST_COLUMNS} columns, one per cell "
                "of its tables; expected a smaller graph. Method 'srmp' takes larger ones."
            )
        self.cells.append(cells)
        return np.arange(first, self.n_columns)

    def add_rows(self, count: int, low: float, high: float) -> Ints:
        """Add rows with these limits; return their numbers."""
        first = self.n_rows
        self.n_rows += count
        self.low.append(np.full(count, low))
        self.high.append(np.full(count, high))
        return np.arange(first, self.n_rows)

    def add(self, rows: Ints, columns: Ints, value: Any) -> None:
        """Add coefficients of columns of factors."""
        values = np.broadcast_to(np.asarray(value, dtype=float), rows.shape)
        self.entries.append((rows, columns, values, np.full(len(rows), -1)))

    def add_labels(self, rows: Ints, slots: Ints, labels: Any, value: Any) -> None:
        """Add coefficients of mu_v(x), where v is the node of a slot and x a label."""
        values = np.broadcast_to(np.asarray(value, dtype=float), rows.shape)
        columns = self.shape.unary_at[self.shape.members[slots]] + labels
        self.entries.append((rows, columns, values, self.shape.message_at[slots] + labels))


def hulls(shape: Shape) -> Hulls:
    """Return the rows and columns of all factors, and the rows that say: one label per node."""
    build = _Builder(shape)
    n_nodes = len(shape.n_labels)
    nodes = np.repeat(np.arange(n_nodes), shape.n_labels)
    build.add(build.add_rows(n_nodes, 1.0, 1.0)[nodes], np.arange(len(nodes)), 1.0)
    for kind in np.unique(shape.kinds).tolist():
        if kind not in _HULLS:
            f = int(np.argmax(shape.kinds == kind))
            name = KINDS[kind].__name__.rpartition(".")[2]
            raise ValueError(
                f"factor {f} is of kind {name!r}, for which there is no linear programme. A Table "
                "says the same if it is small."
            )
        _HULLS[kind](build, np.flatnonzero(shape.kinds == kind))
    rows, columns, values, message = (
        np.concatenate([entry[i] for entry in build.entries]) for i in range(4)
    )
    return Hulls(
        build.n_columns,
        np.concatenate([np.zeros(0, dtype=np.int64), *build.cells]),
        rows,
        columns,
        values,
        np.concatenate(build.low),
        np.concatenate(build.high),
        message,
    )


def _slots_of(shape: Shape, factors: Ints) -> tuple[Ints, Ints]:
    """Return all slots of these factors, and for each of them which of the factors it is in."""
    orders = shape.member_at[factors + 1] - shape.member_at[factors]
    return _ragged(shape.member_at[factors], orders), np.repeat(np.arange(len(factors)), orders)


def _ragged(starts: Ints, lengths: Ints) -> Ints:
    """Return starts[0], starts[0] + 1, .. (lengths[0] numbers), then the same for the others."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)


def _tables(build: _Builder, factors: Ints) -> None:
    shape = build.shape
    slots, _ = _slots_of(shape, factors)
    sizes = shape.n_labels[shape.members[slots]].astype(np.int64)
    orders = shape.member_at[factors + 1] - shape.member_at[factors]
    first = np.cumsum(orders) - orders
    # step[i]: how far apart in the table two neighbouring labels of slots[i] are.
    steps = np.ones(len(slots), dtype=np.int64)
    n_cells = np.ones(len(factors), dtype=np.int64)
    for place in range(int(orders.max()) - 1, -1, -1):
        here = np.flatnonzero(orders > place)
        steps[first[here] + place] = n_cells[here]
        if float(n_cells[here].max(initial=1)) * float(sizes.max()) > MOST_COLUMNS:
            build.add_columns(np.zeros(MOST_COLUMNS + 1, dtype=np.int64))  # refuses
        n_cells[here] *= sizes[first[here] + place]
    columns = build.add_columns(_ragged(shape.table_at[factors], n_cells))
    owner = np.repeat(np.arange(len(factors)), n_cells)
    local = _ragged(np.zeros(len(factors), dtype=np.int64), n_cells)
    row_at = np.cumsum(sizes) - sizes
    rows = build.add_rows(int(sizes.sum()), 0.0, 0.0)
    for place in range(int(orders.max())):
        cells = np.flatnonzero(orders[owner] > place)
        at = first[owner[cells]] + place
        labels = local[cells] // steps[at] % sizes[at]
        build.add(rows[row_at[at] + labels], columns[cells], 1.0)
    labels = _ragged(np.zeros(len(slots), dtype=np.int64), sizes)
    build.add_labels(rows, np.repeat(slots, sizes), labels, -1.0)


def _count(low: float, high: float) -> Callable[[_Builder, Ints], None]:
    def describe(build: _Builder, factors: Ints) -> None:
        slots, of = _slots_of(build.shape, factors)
        rows = build.add_rows(len(factors), low, high)
        build.add_labels(rows[of], slots, build.shape.on[slots], 1.0)

    return describe


def _implies(build: _Builder, factors: Ints) -> None:
    first = build.shape.member_at[factors]
    rows = build.add_rows(len(factors), -np.inf, 0.0)
    build.add_labels(rows, first, build.shape.on[first], 1.0)
    build.add_labels(rows, first + 1, build.shape.on[first + 1], -1.0)


def _potts(build: _Builder, factors: Ints) -> None:
    shape = build.shape
    slots, of = _slots_of(shape, factors)
    n_labels = shape.n_labels[shape.members[shape.member_at[factors]]].astype(np.int64)
    columns = build.add_columns(_ragged(shape.table_at[factors], n_labels + 1))
    column_at = np.cumsum(n_labels + 1) - n_labels - 1
    whole = build.add_rows(len(factors), 1.0, 1.0)
    build.add(np.repeat(whole, n_labels + 1), columns, 1.0)
    sizes = n_labels[of]
    labels = _ragged(np.zeros(len(slots), dtype=np.int64), sizes)
    rows = build.add_rows(len(labels), -np.inf, 0.0)
    build.add(rows, columns[np.repeat(column_at[of], sizes) + 1 + labels], 1.0)
    build.add_labels(rows, np.repeat(slots, sizes), labels, -1.0)


def _cardinality(build: _Builder, factors: Ints) -> None:
    shape = build.shape
    for f in factors.tolist():
        slots = np.arange(shape.member_at[f], shape.member_at[f + 1])
        k = len(slots)
        counts = np.arange(k + 1)
        p = build.add_columns(shape.table_at[f] + counts)
        y = build.add_columns(np.full(k * (k + 1), -1)).reshape(k, k + 1)
        build.add(np.repeat(build.add_rows(1, 1.0, 1.0), k + 1), p, 1.0)
        rows = build.add_rows(k + 1, 0.0, 0.0)
        build.add(np.tile(rows, k), y.ravel(), 1.0)
        build.add(rows, p, -counts)
        rows = build.add_rows(k * (k + 1), -np.inf, 0.0)
        build.add(rows, y.ravel(), 1.0)
        build.add(rows, np.tile(p, k), -1.0)
        rows = build.add_rows(k, 0.0, 0.0)
        build.add(np.repeat(rows, k + 1), y.ravel(), 1.0)
        build.add_labels(rows, slots, shape.on[slots], -1.0)


_HULLS: dict[int, Callable[[_Builder, Ints], None]] = {
    DENSE: _tables,
    exactly_one.KIND: _count(1.0, 1.0),
    at_most_one.KIND: _count(-np.inf, 1.0),
    at_least_one.KIND: _count(1.0, np.inf),
    implies.KIND: _implies,
    potts.KIND: _potts,
    cardinality.KIND: _cardinality,
}

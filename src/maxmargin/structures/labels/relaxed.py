"""Label sets relaxed to the local polytope: outputs are fractional, kept as sparse differences.

Roof duality finds the best vertex. An output has the cells that
`maxmargin.core.contract.fractional` describes: the parts are the labels first, then the edges.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    add_row,
    are_outputs,
    connect,
    difference_potentials,
    implements,
    margin_error,
    maximize,
    mix,
    output_cost,
    output_length,
    output_size,
    output_sizes,
    parts,
    row_product,
    shift,
    truth_sizes,
    truths,
    workspace,
)
from maxmargin.core.contract.fractional import (
    add_entry,
    difference_length,
    difference_product,
    index_of,
    mix_differences,
    most_cells,
    n_entries,
    spread_difference,
    value_of,
)
from maxmargin.core.sealed import write_addresses
from maxmargin.costs.tables import SwitchCost
from maxmargin.inference.labels.roof_duality import ROOF_DUAL, RoofRoom, roof_room
from maxmargin.structures.labels.costs import scales_with_ties
from maxmargin.structures.labels.data import RelaxedLabels, label_potentials
from maxmargin.structures.labels.oracles import augment
from maxmargin.structures.labels.parts import set_parts

#: By how much rounding may move a point out of the polytope, where cells come from a file.
ROUNDING = 1e-9


class RelaxedRoom(NamedTuple):
    """Room for the best output of one example."""

    augmented: Any  # (n_labels,)
    joint: Any  # (n_edges,)
    roof: RoofRoom
    node2: Any  # (n_labels,) int32
    edge2: Any  # (n_edges,) int32
    entries: Any  # (1,) int64: the address of `roof_dual`


@implements(workspace, RelaxedLabels)
def _workspace(data):
    """Return theta and room for roof duality."""
    m, n_edges = data.n_labels, len(data.graph.edges)
    node2, edge2 = np.zeros(m, dtype=np.int32), np.zeros(n_edges, dtype=np.int32)
    entries = np.zeros(1, dtype=np.int64)
    room = RelaxedRoom(np.zeros(m), np.zeros(n_edges), roof_room(data.graph), node2, edge2, entries)
    return label_potentials(data), room


@implements(connect, RelaxedRoom)
def _connect(room, cost):
    """Compile or load roof duality, and write its address."""
    write_addresses(room.entries, ROOF_DUAL)


# -- cells ---------------------------------------------------------------------------------------


@implements(output_size, RelaxedLabels)
@jitable
def size_of_points(data, i):
    """Return the cells of an output that differs from the truth in all labels and edges."""
    return most_cells(data.n_labels + data.graph.edges.shape[0])


@implements(output_sizes, RelaxedLabels)
def sizes_of_points(data):
    """Return `size_of_points` for every example."""
    return np.full(len(data.labels), size_of_points(data, 0), dtype=np.int64)


@implements(output_length, RelaxedLabels)
@jitable
def length_of_point(data, i, outputs, at):
    """Return the cells in use."""
    return difference_length(outputs, at)


@implements(truths, RelaxedLabels)
def true_points(data):
    """Return one cell per example: the truth differs in no part."""
    return np.zeros(len(data.labels))


@implements(truth_sizes, RelaxedLabels)
def sizes_of_true_points(data):
    """Return 1 for every example."""
    return np.ones(len(data.labels), dtype=np.int64)


def write_point(
    data: Any, i: int, node: np.ndarray, edge: np.ndarray, outputs: np.ndarray, at: int
) -> None:
    """Write a point of the polytope, its labels and edges, as an output of example i."""
    on = data.labels[i] == 1
    first, second = data.graph.edges.T
    known = np.where(data.labels[i] >= 0, node - on, 0.0)
    change = np.concatenate([known, edge - (on[first] & on[second])])
    where = np.flatnonzero(change)
    outputs[at] = len(where)
    outputs[at + 1 : at + most_cells(len(where))] = np.stack([where, change[where]], 1).reshape(-1)


def read_point(data: Any, i: int, outputs: np.ndarray, at: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels and edges of an output of example i: a point of the polytope."""
    on = data.labels[i] == 1
    first, second = data.graph.edges.T
    point = np.concatenate([on, on[first] & on[second]]).astype(np.float64)
    entries = outputs[at + 1 : at + difference_length(outputs, at)].reshape(-1, 2)
    point[entries[:, 0].astype(np.int64)] += entries[:, 1]
    return point[: data.n_labels], point[data.n_labels :]


@implements(are_outputs, RelaxedLabels)
def are_points(
    data: Any, examples: np.ndarray, cells: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Tell which cells are differences whose labels and edges lie in the local polytope."""
    ends = np.cumsum(lengths)
    spans = zip(examples.tolist(), (ends - lengths).tolist(), ends.tolist(), strict=True)
    return np.array([_is_point(data, i, cells[first:end]) for i, first, end in spans], dtype=bool)


def _is_point(data: Any, i: int, cells: np.ndarray) -> bool:
    if len(cells) % 2 == 0 or 2.0 * cells[0] + 1.0 != len(cells) or not np.isfinite(cells).all():
        return False
    index = cells[1::2]
    n_parts = data.n_labels + len(data.graph.edges)
    if len(index) and (index[0] < 0 or index[-1] >= n_parts or (index != np.floor(index)).any()):
        return False
    if (np.diff(index) <= 0).any():
        return False
    node, edge = read_point(data, i, cells, 0)
    known, (a, b) = data.labels[i] >= 0, node[data.graph.edges].T
    highest, lowest = np.minimum(a, b), np.maximum(a + b - 1.0, 0.0)
    low, high = -ROUNDING, 1.0 + ROUNDING
    return bool(
        (node >= low).all()
        and (node <= np.where(known, high, ROUNDING)).all()
        and (edge >= lowest + low).all()
        and (edge <= highest + ROUNDING).all()
    )


@implements(mix, RelaxedLabels)
def mix_points(data, i, left, left_at, right, right_at, share, outputs, at):
    """Write the mean, which is a point of the polytope too."""
    mix_differences(left, left_at, right, right_at, share, outputs, at)
    return True


# -- the structure -------------------------------------------------------------------------------


@implements(parts, RelaxedLabels)
def _parts(data, i, outputs, at, scale, mu):
    """Add the parts of the truth, and what the output differs by."""
    set_parts(data, i, data.labels[i], 0, scale, mu)
    spread_difference(outputs, at, scale, mu)


@implements(margin_error, RelaxedLabels)
def _margin_error(data, i, theta, outputs, at):
    """Return the score of the difference."""
    return difference_product(theta, outputs, at)


@implements(add_difference, RelaxedLabels)
def _add_difference(data, i, outputs, at, scale, w):
    """Subtract the joint features of the difference."""
    m = data.n_labels
    n_rows = data.n_columns + data.has_bias
    W = w[: n_rows * m].reshape((n_rows, m))
    for entry in range(n_entries(outputs, at)):
        part, mass = index_of(outputs, at, entry), -scale * value_of(outputs, at, entry)
        if part < m:
            add_row(data.features, i, part, mass, W)
            if data.has_bias:
                W[data.n_columns, part] += mass
        else:
            w[(n_rows - 1) * m + part] += mass


@implements(difference_potentials, RelaxedLabels)
def _difference_potentials(data, i, outputs, at, spare, theta):
    """Score labels and edges at Psi_i(y): |x|^2 times what truth and output differ by."""
    theta.unary[:] = 0.0
    theta.pair[:] = 0.0
    spread_difference(outputs, at, -1.0, theta)
    square = row_product(data.features, i, i) + data.has_bias
    for j in range(data.n_labels):
        theta.unary[0, j] *= square


# -- costs ---------------------------------------------------------------------------------------


@jitable
def _sum_over_wrong(data, table, i, outputs, at):
    """Return the sum of table[j, truth_j] over the labels j, each times how wrong it is."""
    total = 0.0
    for entry in range(n_entries(outputs, at)):
        part = index_of(outputs, at, entry)
        if part >= data.n_labels:
            break
        total += table[part, data.labels[i, part]] * abs(value_of(outputs, at, entry))
    return total


@implements(output_cost, RelaxedLabels, SwitchCost)
@jitable
def cost_of_point(data, cost, i, outputs, at):
    """Return the prices of wrong labels, each times how wrong it is, and the cost of the truth."""
    return cost.base[i] + cost.scale[i] * _sum_over_wrong(data, cost.price, i, outputs, at)


@implements(shift, RelaxedLabels, SwitchCost)
@jitable
def shift_of_point(data, cost, i, outputs, at):
    """Return the shifts of wrong labels, each times how wrong it is."""
    if cost.shift.shape[0] == 0:
        return 0.0
    return cost.scale[i] * _sum_over_wrong(data, cost.shift, i, outputs, at)


# -- the best output -----------------------------------------------------------------------------

call_roof_dual = ROOF_DUAL.call


@implements(maximize, RelaxedLabels, SwitchCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write the vertex that roof duality finds."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    augment(data, cost, i, theta, room, score_scale, cost_scale)
    call_roof_dual(
        room.entries,
        room.augmented,
        data.graph,
        room.joint,
        room.roof,
        room.node2,
        room.edge2,
    )
    labels, edges = data.labels, data.graph.edges
    outputs[at] = 0.0
    for j in range(data.n_labels):
        if labels[i, j] >= 0:
            add_entry(outputs, at, j, 0.5 * room.node2[j] - labels[i, j])
    for e in range(edges.shape[0]):
        was = labels[i, edges[e, 0]] == 1 and labels[i, edges[e, 1]] == 1
        add_entry(outputs, at, data.n_labels + e, 0.5 * room.edge2[e] - was)

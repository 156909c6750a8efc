"""Label sets relaxed to the local polytope: outputs are half-integral vertices, or means of two.

Scores, features and costs are linear on the polytope. They are computed for the two vertices of an
output, its sides, and added up as (1 - share) left + share right. Where the share is 0, only the
left side is computed.
See `RelaxedLabels` for the cells.
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
    difference_potentials,
    implements,
    margin_error,
    maximize,
    mix,
    output_cost,
    output_size,
    output_sizes,
    parts,
    row_product,
    shift,
    truths,
    workspace,
)
from maxmargin.costs.tables import SwitchCost
from maxmargin.inference.labels.roof_duality import RoofRoom, roof_dual, roof_room
from maxmargin.structures.labels.costs import scales_with_ties
from maxmargin.structures.labels.data import RelaxedLabels, label_potentials
from maxmargin.structures.labels.oracles import augment

#: How many edges have their bits in one int32 cell: all but the sign bit are used.
BITS = 31

#: The number that stands for a share of 1 in a cell.
WHOLE = 2**30


class RelaxedRoom(NamedTuple):
    """Room for the best outputs of one example."""

    augmented: Any  # (n_labels,)
    joint: Any  # (n_edges,)
    roof: RoofRoom
    node2: Any  # (n_labels,) int32
    edge2: Any  # (n_edges,) int32


@implements(workspace, RelaxedLabels)
def _workspace(data):
    """Return theta and room for roof duality."""
    m, n_edges = data.n_labels, len(data.graph.edges)
    node2, edge2 = np.zeros(m, dtype=np.int32), np.zeros(n_edges, dtype=np.int32)
    room = RelaxedRoom(np.zeros(m), np.zeros(n_edges), roof_room(data.graph), node2, edge2)
    return label_potentials(data), room


# -- cells ---------------------------------------------------------------------------------------


@jitable
def side_size(data):
    """Return the number of cells of one vertex."""
    return data.n_labels + (data.graph.edges.shape[0] + BITS - 1) // BITS


@jitable
def share_of(data, outputs, at):
    """Return the share of the right vertex."""
    return outputs[at + 2 * side_size(data)] / WHOLE


@jitable
def edge_twice(data, outputs, at, a, b, e):
    """Return twice the value of edge e = (a, b) of the vertex whose cells begin at ``at``."""
    first, second = outputs[at + a], outputs[at + b]
    if first <= 0 or second <= 0:
        return 0
    if first == 2 or second == 2:
        return min(first, second)
    return (outputs[at + data.n_labels + e // BITS] >> (e % BITS)) & 1


@implements(output_size, RelaxedLabels)
def _output_size(data, i):
    """Return the cells of two vertices, and one for the share."""
    return 2 * side_size(data) + 1


@implements(output_sizes, RelaxedLabels)
def _output_sizes(data):
    """Return the cells of two vertices, and one for the share, for every example."""
    return np.full(len(data.labels), 2 * side_size(data) + 1, dtype=np.int64)


@implements(truths, RelaxedLabels)
def _truths(data):
    """Return the true label sets as vertices: twice the labels, left = right, share 0."""
    side = side_size(data)
    cells = np.zeros((len(data.labels), 2 * side + 1), dtype=np.int32)
    twice = np.where(data.labels >= 0, 2 * data.labels, -1)
    cells[:, : data.n_labels] = cells[:, side : side + data.n_labels] = twice
    return cells.reshape(-1)


@implements(are_outputs, RelaxedLabels)
def _are_means(data: Any, examples: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Tell which cells hold two vertices and a share from 0 to 1."""
    side, m = side_size(data), data.n_labels
    rows = cells.reshape(len(examples), 2 * side + 1)
    known = np.asarray(data.labels)[examples] >= 0
    good = (rows[:, 2 * side] >= 0) & (rows[:, 2 * side] <= WHOLE)
    for first in (0, side):
        twice = rows[:, first : first + m]
        good &= (np.where(known, twice >= 0, twice >= -1) & (twice <= 2)).all(axis=1)
        good &= (rows[:, first + m : first + side] >= 0).all(axis=1)
    return good


@implements(mix, RelaxedLabels)
def _mix(data, i, left, left_at, right, right_at, share, outputs, at):
    """Write the mean of two vertices; refuse outputs that are means themselves."""
    side = side_size(data)
    if left[left_at + 2 * side] != 0 or right[right_at + 2 * side] != 0:
        return False  # the result would be a mean of more than two vertices
    part = round(share * WHOLE)
    for cell in range(side):
        first, second = left[left_at + cell], right[right_at + cell]
        outputs[at + cell] = first if part < WHOLE else second
        outputs[at + side + cell] = second if part > 0 else first
    outputs[at + 2 * side] = part if part < WHOLE else 0
    return True


# -- the structure -------------------------------------------------------------------------------


@jitable
def _add_side_parts(data, i, outputs, at, scale, mu):
    """Add scale times the labels and pairs of the vertex whose cells begin at ``at``."""
    graph = data.graph
    for a in range(data.n_labels):
        if outputs[at + a] > 0:
            mu.unary[0, a] += 0.5 * scale * outputs[at + a]
            for k in range(graph.start[a], graph.start[a + 1]):
                b, e = graph.neighbour[k], graph.edge_of[k]
                if b > a:
                    mu.pair[e] += 0.5 * scale * edge_twice(data, outputs, at, a, b, e)


@implements(parts, RelaxedLabels)
def _parts(data, i, outputs, at, scale, mu):
    """Add the labels and pairs of both vertices, by their shares."""
    share = share_of(data, outputs, at)
    _add_side_parts(data, i, outputs, at, scale * (1.0 - share), mu)
    if share > 0.0:
        _add_side_parts(data, i, outputs, at + side_size(data), scale * share, mu)


@jitable
def _side_error(data, i, theta, outputs, at):
    """Return the margin error of a vertex."""
    graph = data.graph
    error = 0.0
    for j in range(data.n_labels):
        if data.labels[i, j] >= 0:
            error += (outputs[at + j] - 2 * data.labels[i, j]) * theta.unary[0, j]
    for a in range(data.n_labels if theta.pair.shape[0] > 0 else 0):
        if outputs[at + a] > 0 or data.labels[i, a] == 1:
            for k in range(graph.start[a], graph.start[a + 1]):
                b = graph.neighbour[k]
                if b > a:
                    e = graph.edge_of[k]
                    twice = edge_twice(data, outputs, at, a, b, e)
                    if data.labels[i, a] == 1 and data.labels[i, b] == 1:
                        twice -= 2
                    if twice != 0:
                        error += twice * theta.pair[e]
    return 0.5 * error


@implements(margin_error, RelaxedLabels)
def _margin_error(data, i, theta, outputs, at):
    """Return the mean of the margin errors of both vertices."""
    error = _side_error(data, i, theta, outputs, at)
    share = share_of(data, outputs, at)
    if share > 0.0:
        other = _side_error(data, i, theta, outputs, at + side_size(data))
        error = (1.0 - share) * error + share * other
    return error


@jitable
def _add_side(data, i, outputs, at, scale, w):
    """Add scale * Psi_i of the vertex whose cells begin at ``at``."""
    m = data.n_labels
    n_rows = data.n_columns + data.has_bias
    W = w[: n_rows * m].reshape((n_rows, m))
    for j in range(m):
        truth = data.labels[i, j]
        if truth >= 0 and outputs[at + j] != 2 * truth:
            signed = scale * (truth - 0.5 * outputs[at + j])
            add_row(data.features, i, j, signed, W)
            if data.has_bias:
                W[data.n_columns, j] += signed
    graph = data.graph
    first = n_rows * m
    for a in range(m if graph.edges.shape[0] > 0 else 0):
        if outputs[at + a] > 0 or data.labels[i, a] == 1:
            for k in range(graph.start[a], graph.start[a + 1]):
                b = graph.neighbour[k]
                if b > a:
                    e = graph.edge_of[k]
                    twice = edge_twice(data, outputs, at, a, b, e)
                    if data.labels[i, a] == 1 and data.labels[i, b] == 1:
                        twice -= 2
                    if twice != 0:
                        w[first + e] -= 0.5 * scale * twice


@implements(add_difference, RelaxedLabels)
def _add_difference(data, i, outputs, at, scale, w):
    """Add Psi_i of both vertices, by their shares."""
    share = share_of(data, outputs, at)
    _add_side(data, i, outputs, at, scale * (1.0 - share), w)
    if share > 0.0:
        _add_side(data, i, outputs, at + side_size(data), scale * share, w)


@jitable
def _add_side_potentials(data, i, outputs, at, scale, square, theta):
    """Add to theta the scores at scale * Psi_i of the vertex whose cells begin at ``at``."""
    graph = data.graph
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        if truth >= 0:
            theta.unary[0, j] += scale * square * (truth - 0.5 * outputs[at + j])
    for a in range(data.n_labels if theta.pair.shape[0] > 0 else 0):
        if outputs[at + a] > 0 or data.labels[i, a] == 1:
            for k in range(graph.start[a], graph.start[a + 1]):
                b = graph.neighbour[k]
                if b > a:
                    e = graph.edge_of[k]
                    twice = edge_twice(data, outputs, at, a, b, e)
                    if data.labels[i, a] == 1 and data.labels[i, b] == 1:
                        twice -= 2
                    theta.pair[e] -= 0.5 * scale * twice


@implements(difference_potentials, RelaxedLabels)
def _difference_potentials(data, i, outputs, at, spare, theta):
    """Fill theta with the scores at Psi_i of the mean of both vertices."""
    square = row_product(data.features, i, i) + data.has_bias
    theta.unary[:] = 0.0
    theta.pair[:] = 0.0
    share = share_of(data, outputs, at)
    _add_side_potentials(data, i, outputs, at, 1.0 - share, square, theta)
    if share > 0.0:
        _add_side_potentials(data, i, outputs, at + side_size(data), share, square, theta)


# -- costs ---------------------------------------------------------------------------------------


@jitable
def _side_sum(data, table, i, outputs, at):
    """Return the sum of table[j, truth_j] over the wrong labels j of a vertex; 1/2 counts half."""
    total = 0.0
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        if truth >= 0 and outputs[at + j] != 2 * truth:
            total += table[j, truth] * abs(truth - 0.5 * outputs[at + j])
    return total


@jitable
def _sum_over_wrong(data, table, scale, i, outputs, at):
    """Return scale times the mean of `_side_sum` over both vertices."""
    total = scale * _side_sum(data, table, i, outputs, at)
    share = share_of(data, outputs, at)
    if share > 0.0:
        other = scale * _side_sum(data, table, i, outputs, at + side_size(data))
        total = (1.0 - share) * total + share * other
    return total


@implements(output_cost, RelaxedLabels, SwitchCost)
def _output_cost(data, cost, i, outputs, at):
    """Return the mean cost of both vertices."""
    return cost.base[i] + _sum_over_wrong(data, cost.price, cost.scale[i], i, outputs, at)


@implements(shift, RelaxedLabels, SwitchCost)
def _shift(data, cost, i, outputs, at):
    """Return the mean shift of both vertices; 0 for a cost without shifts."""
    if cost.shift.shape[0] == 0:
        return 0.0
    return _sum_over_wrong(data, cost.shift, cost.scale[i], i, outputs, at)


# -- the best output -----------------------------------------------------------------------------


@implements(maximize, RelaxedLabels, SwitchCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write the vertex that roof duality finds, as left and as right, with share 0."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    augment(data, cost, i, theta, room, score_scale, cost_scale)
    roof_dual(room.augmented, data.graph, room.joint, room.roof, room.node2, room.edge2)
    m, graph = data.n_labels, data.graph
    side = side_size(data)
    for cell in range(side):
        outputs[at + cell] = 0
    for a in range(m):
        outputs[at + a] = room.node2[a] if data.labels[i, a] >= 0 else -1
        if room.node2[a] == 1:
            for k in range(graph.start[a], graph.start[a + 1]):
                b, e = graph.neighbour[k], graph.edge_of[k]
                if b > a and room.node2[b] == 1 and room.edge2[e] == 1:
                    outputs[at + m + e // BITS] |= 1 << (e % BITS)
    for cell in range(side):
        outputs[at + side + cell] = outputs[at + cell]
    outputs[at + 2 * side] = 0

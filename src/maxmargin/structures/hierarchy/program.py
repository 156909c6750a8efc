"""Unions of paths to leaves of a DAG, by HiGHS: relaxed for training, integral for prediction.

To find the best of these sets is NP-hard. `RelaxedPathSets` solves the linear relaxation, whose
outputs may be fractional, so the certificate of a run is that of the relaxed problem.
`PathSetsByProgram` solves the relaxation too, and the integer programme where that is fractional.
Both run as Python and are slow; for the closed sets of a DAG one minimum cut does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.core.contract import (
    add_difference,
    add_parts,
    are_outputs,
    belongs,
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
    potentials,
    row_product,
    score_lengths,
    shift,
    true_parts,
    truth_sizes,
    truths,
    workspace,
)
from maxmargin.core.contract.fractional import difference_length, mix_differences, most_cells
from maxmargin.costs.tables import SetEdgeCost, SumOverNodes, SwitchCost
from maxmargin.inference.hierarchy.shape import HierarchyShape
from maxmargin.inference.programs.hierarchy import PathsProgram
from maxmargin.structures.hierarchy.costs import augment, scales_with_ties
from maxmargin.structures.hierarchy.data import HierarchyData, NodeSets
from maxmargin.structures.hierarchy.sets import (
    NodePotentials,
    bound_scores,
    node_states,
    write_difference,
)

#: HiGHS solves to this precision: values of nodes so near to 0 or 1 are taken for 0 or 1, and rows
#: hold up to it.
ROUNDING = 1e-7


class PathPrograms:
    """Family of the sets that a programme finds."""


class _PathSets:
    """Fields that both have, with the names and meanings of `TreeSets`."""

    missed = 1.0

    def __init__(self, X: Any, shared: tuple[Any, ...], shape: HierarchyShape) -> None:
        self.X: Any = sp.csr_matrix(X) if sp.issparse(X) else np.asarray(X)
        self.features, self.node_at, self.nodes, self.n_columns = shared[:4]
        self.n_nodes, self.has_bias, self.alpha = shared[4:]
        self.shape = shape
        self.relaxed = PathsProgram(shape, integral=False)

    def true_set(self, i: int) -> np.ndarray:
        """Return the true set of example i as numbers of all nodes."""
        y = np.zeros(self.n_nodes)
        y[self.nodes[self.node_at[i] : self.node_at[i + 1]]] = 1.0
        return y

    def row(self, i: int) -> tuple[Any, np.ndarray]:
        """Return which columns of x_i are stored, and their values, the constant among them."""
        if sp.issparse(self.X):
            own = slice(self.X.indptr[i], self.X.indptr[i + 1])
            columns, values = self.X.indices[own], self.X.data[own]
        else:
            columns, values = np.arange(self.n_columns), self.X[i]
        values = np.asarray(values, dtype=np.float64)
        if self.has_bias:
            return np.append(columns, self.n_columns), np.append(values, 1.0)
        return columns, values

    def add_nodes(self, i: int, nodes: np.ndarray, mass: np.ndarray, w: np.ndarray) -> None:
        """Add mass times alpha times x_i and the bias to the columns of different nodes."""
        W = w.reshape(self.n_columns + self.has_bias, self.n_nodes)
        columns, values = self.row(i)
        W[np.ix_(columns, nodes)] += np.multiply.outer(values, mass * self.alpha[nodes])

    def solve_relaxed(self, gains: np.ndarray) -> np.ndarray:
        """Return the best point of the relaxation, with whole numbers where it has them."""
        node = self.relaxed.solve(gains).node
        whole = np.rint(node)
        return np.where(np.abs(node - whole) <= ROUNDING, whole, node)


@belongs(PathPrograms, HierarchyData)
class RelaxedPathSets(_PathSets):
    """Unions of paths of a DAG, relaxed: an output is a point of a polytope.

    It is kept by what its nodes differ by from the truth: the sparse cells that
    `maxmargin.core.contract.fractional` describes.
    """


@belongs(PathPrograms, NodeSets, HierarchyData)
class PathSetsByProgram(_PathSets):
    """Unions of paths of a DAG, exact; outputs have the cells of all sets of nodes."""

    def __init__(self, X: Any, shared: tuple[Any, ...], shape: HierarchyShape) -> None:
        super().__init__(X, shared, shape)
        self.integral = PathsProgram(shape, integral=True)


# -- what both share -----------------------------------------------------------------------------


@implements(workspace, PathPrograms)
def _workspace(data):
    """Return theta; HiGHS has its own room."""
    return NodePotentials(np.zeros((1, data.n_nodes))), ()


@implements(potentials, PathPrograms)
def _potentials(data, i, w, scale, theta):
    """Score every node."""
    W = w.reshape(data.n_columns + data.has_bias, data.n_nodes)
    columns, values = data.row(i)
    theta.nodes[0] = scale * (values @ W[columns])


@implements(add_parts, PathPrograms)
def _add_parts(data, i, mu, scale, w):
    """Add the features of every node, times its share in mu."""
    nodes = np.flatnonzero(mu.nodes[0])
    data.add_nodes(i, nodes, scale * mu.nodes[0, nodes], w)


def _gains(data, cost, i, theta, score_scale, cost_scale):
    """Return what each node adds to score and cost when it is in the output."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    gains = np.zeros(data.n_nodes)
    augment(data, cost, i, theta, score_scale, cost_scale, gains)
    return gains


# -- integral ------------------------------------------------------------------------------------


@implements(add_difference, PathSetsByProgram)
def _add_difference(data, i, outputs, at, scale, w):
    """Add the features of nodes that the truth alone has; subtract those of the output alone."""
    cells = outputs[at + 1 : at + 1 + int(outputs[at])]
    is_taken = cells >= 0
    data.add_nodes(i, np.where(is_taken, cells, -1 - cells), np.where(is_taken, -scale, scale), w)


@implements(maximize, PathSetsByProgram, SumOverNodes)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Solve the relaxation; where it is fractional, the integer programme."""
    gains = _gains(data, cost, i, theta, score_scale, cost_scale)
    node = data.solve_relaxed(gains)
    if (node != np.rint(node)).any():
        node = data.integral.solve(gains).node
    write_difference(data, i, node, outputs, at)


# -- relaxed: cells ------------------------------------------------------------------------------


@implements(output_size, RelaxedPathSets)
def _output_size(data, i):
    """Return the cells of an output that differs from the truth in all nodes."""
    return most_cells(data.n_nodes)


@implements(output_sizes, RelaxedPathSets)
def _output_sizes(data):
    """Return the same for every example."""
    return np.full(len(data.node_at) - 1, most_cells(data.n_nodes), dtype=np.int64)


@implements(output_length, RelaxedPathSets)
def _output_length(data, i, outputs, at):
    """Return the cells in use."""
    return difference_length(outputs, at)


@implements(truths, RelaxedPathSets)
def _truths(data):
    """Return one cell per example: the truth differs in no part."""
    return np.zeros(len(data.node_at) - 1)


@implements(truth_sizes, RelaxedPathSets)
def _truth_sizes(data):
    """Return 1 for every example."""
    return np.ones(len(data.node_at) - 1, dtype=np.int64)


implements(true_parts, RelaxedPathSets)(node_states)
implements(score_lengths, RelaxedPathSets)(bound_scores)


def write_point(data: Any, i: int, node: np.ndarray, outputs: np.ndarray, at: int) -> None:
    """Write a point of the polytope as an output of example i."""
    change = node - data.true_set(i)
    where = np.flatnonzero(change)
    outputs[at] = len(where)
    outputs[at + 1 : at + most_cells(len(where))] = np.stack([where, change[where]], 1).reshape(-1)


def _entries(outputs: np.ndarray, at: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes in which an output differs from the truth, and by how much."""
    pairs = outputs[at + 1 : at + difference_length(outputs, at)].reshape(-1, 2)
    return pairs[:, 0].astype(np.int64), pairs[:, 1]


@implements(are_outputs, RelaxedPathSets)
def _are_points(
    data: Any, examples: np.ndarray, cells: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Tell which cells are differences that lead to a point of the polytope."""
    ends = np.cumsum(lengths)
    return np.array(
        [
            _is_point(data, i, cells[end - length : end])
            for i, end, length in zip(examples, ends, lengths, strict=True)
        ],
        dtype=bool,
    )


def _is_point(data: Any, i: int, cells: np.ndarray) -> bool:
    if len(cells) % 2 == 0 or 2.0 * cells[0] + 1.0 != len(cells) or not np.isfinite(cells).all():
        return False
    index = cells[1::2]
    if len(index) == 0:
        return True
    if index[0] < 0 or index[-1] >= data.n_nodes or (index != np.floor(index)).any():
        return False
    if (np.diff(index) <= 0).any():
        return False
    z, shape = data.true_set(i), data.shape
    nodes, values = _entries(cells, 0)
    z[nodes] += values
    child = np.repeat(np.arange(data.n_nodes), np.diff(shape.parent_at))
    below = np.bincount(shape.parents, weights=z[child], minlength=data.n_nodes)
    is_leaf, is_root = np.diff(shape.child_at) == 0, np.diff(shape.parent_at) == 0
    slack = 10.0 * ROUNDING * (1.0 + len(z))
    return bool(
        (z >= -slack).all()
        and (z <= 1.0 + slack).all()
        and (z[child] <= z[shape.parents] + slack).all()
        and (z <= np.where(is_leaf, 1.0, below) + slack).all()
        and z[is_leaf].sum() >= 1.0 - slack
        and z[is_root].sum() >= 1.0 - slack
    )


@implements(mix, RelaxedPathSets)
def _mix(data, i, left, left_at, right, right_at, share, outputs, at):
    """Write the mean, which is a point of the polytope too."""
    mix_differences(left, left_at, right, right_at, share, outputs, at)
    return True


# -- relaxed: the structure ----------------------------------------------------------------------


@implements(parts, RelaxedPathSets)
def _parts(data, i, outputs, at, scale, mu):
    """Add the nodes of the truth, and what the output differs by."""
    mu.nodes[0] += scale * data.true_set(i)
    nodes, values = _entries(outputs, at)
    mu.nodes[0, nodes] += scale * values


@implements(margin_error, RelaxedPathSets)
def _margin_error(data, i, theta, outputs, at):
    """Return the score of the difference."""
    nodes, values = _entries(outputs, at)
    return float(theta.nodes[0, nodes] @ values)


@implements(add_difference, RelaxedPathSets)
def _add_relaxed_difference(data, i, outputs, at, scale, w):
    """Subtract the joint features of the difference."""
    nodes, values = _entries(outputs, at)
    data.add_nodes(i, nodes, -scale * values, w)


@implements(difference_potentials, RelaxedPathSets)
def _difference_potentials(data, i, outputs, at, spare, theta):
    """Score nodes at Psi_i(y): |x|^2 alpha_n times what truth and output differ by."""
    square = row_product(data.features, i, i) + data.has_bias
    nodes, values = _entries(outputs, at)
    theta.nodes[0] = 0.0
    theta.nodes[0, nodes] = -square * data.alpha[nodes] * values


def _sum_over_wrong(table, outputs, at):
    """Return the sum of table[n, truth_n] over the nodes, each times how wrong it is."""
    nodes, values = _entries(outputs, at)
    return float(table[nodes, (values < 0.0).astype(np.int64)] @ np.abs(values))


@implements(output_cost, RelaxedPathSets, SwitchCost)
def _output_cost(data, cost, i, outputs, at):
    """Return the prices of wrong nodes, each times how wrong it is, and the cost of the truth."""
    return float(cost.base[i]) + float(cost.scale[i]) * _sum_over_wrong(cost.price, outputs, at)


@implements(output_cost, RelaxedPathSets, SetEdgeCost)
def _output_cost_edges(data, cost, i, outputs, at):
    """Return the cost as a sum over nodes, which a fractional point has too."""
    z = data.true_set(i)
    child = np.repeat(np.arange(data.n_nodes), np.diff(cost.parent_at))
    is_below = z[cost.parents] > 0.0  # of the edges below a true node, those to true nodes
    is_true = z[child] > 0.0
    nodes, values = _entries(outputs, at)
    change = np.zeros(data.n_nodes)
    change[nodes] = values
    taken = np.where(is_true, change[cost.parents] - change[child], change[child])
    total = cost.root @ np.abs(change) + cost.edge[is_below] @ taken[is_below]
    return float(cost.scale[i]) * max(float(total), 0.0)


@implements(shift, RelaxedPathSets, SwitchCost)
def _shift(data, cost, i, outputs, at):
    """Return the shifts of wrong nodes, each times how wrong it is."""
    if len(cost.shift) == 0:
        return 0.0
    return float(cost.scale[i]) * _sum_over_wrong(cost.shift, outputs, at)


@implements(maximize, RelaxedPathSets, SumOverNodes)
def _maximize_relaxed(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write the best point of the relaxation."""
    gains = _gains(data, cost, i, theta, score_scale, cost_scale)
    write_point(data, i, data.solve_relaxed(gains), outputs, at)

"""Label sets by HiGHS: integer programmes, or linear ones for the relaxation. Runs as Python.

They are the reference for the compiled kinds of label sets. Their oracles are in
program_oracles.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    mix,
    n_weights,
    output_cost,
    output_length,
    output_size,
    output_sizes,
    parts,
    potentials,
    score_lengths,
    shift,
    switches,
    true_parts,
    truth_sizes,
    truths,
    workspace,
)
from maxmargin.costs.tables import SwitchCost, WholeCost
from maxmargin.inference.labels.graph import label_graph
from maxmargin.inference.programs.labels import LabelProgram, ProgramAnswer
from maxmargin.structures.labels.data import (
    are_sets,
    check_label_sets,
    label_lengths,
    label_potentials,
)
from maxmargin.structures.labels.relaxed import (
    are_points,
    length_of_point,
    mix_points,
    read_point,
    size_of_points,
    sizes_of_points,
    sizes_of_true_points,
    true_points,
    write_point,
)


class LabelPrograms:
    """Family of the label sets whose best output a programme finds."""


@belongs(LabelPrograms)
class ProgramLabels:
    """Label sets with any edges, the best of them by an integer programme.

    Parameters
    ----------
    X, Y, edges, bias : as `maxmargin.structures.labels_data` takes them
    time_limit : float or None
        Seconds for each call of the oracle; None for no limit. When it is reached, the best
        output found so far is used, with the bound proved so far.

    Examples
    --------
    >>> import numpy as np
    >>> data = ProgramLabels(np.eye(2), [[1, 0], [0, 1]], [(0, 1)])
    >>> int(n_weights(data))
    7
    """

    is_integral = True

    def __init__(
        self,
        X: Any,
        Y: Any,
        edges: Any = (),
        bias: bool = True,
        time_limit: float | None = None,
    ) -> None:
        if time_limit is not None and not time_limit > 0.0:
            raise ValueError(f"time_limit must be positive or None, got {time_limit!r}.")
        self.labels = check_label_sets(Y, X.shape[0])
        self.X = sp.csr_matrix(X) if sp.issparse(X) else np.asarray(X)
        self.n_columns = int(X.shape[1])
        self.n_labels = self.labels.shape[1]
        self.has_bias = int(bias)
        self.graph = label_graph(self.n_labels, edges)
        self.program = LabelProgram(self.graph, self.is_integral)
        self.time_limit = time_limit

    def true_part(self, i: int) -> Part:
        """Return the true output of example i as a point of the polytope."""
        return self.with_edges((self.labels[i] == 1).astype(np.float64))

    def part(self, i: int, outputs: np.ndarray, at: int) -> Part:
        """Return an output of example i as a point of the polytope."""
        return self.with_edges((outputs[at : at + self.n_labels] == 1).astype(np.float64))

    def with_edges(self, node: np.ndarray) -> Part:
        """Return the point of an integral label set: an edge is 1 if both its labels are."""
        return Part(node, node[self.graph.edges[:, 0]] * node[self.graph.edges[:, 1]])

    def write(self, i: int, part: Part, outputs: np.ndarray, at: int) -> None:
        """Write a point as an output of example i."""
        cells = np.where(self.labels[i] >= 0, np.rint(part.node), -1)
        outputs[at : at + self.n_labels] = cells

    def solve(self, i: int, unary: np.ndarray, pair: np.ndarray, **options: Any) -> ProgramAnswer:
        """Solve the programme on the known labels of example i."""
        known = np.where(self.labels[i] >= 0, unary, -np.inf)
        return self.program.solve(known, pair, time_limit=self.time_limit, **options)


@belongs(LabelPrograms)
class RelaxedProgramLabels(ProgramLabels):
    """Label sets with any edges, relaxed to the local polytope, by a linear programme.

    An output has the cells of `RelaxedLabels`: a sparse difference from the truth.
    """

    is_integral = False

    def part(self, i: int, outputs: np.ndarray, at: int) -> Part:
        """Return an output of example i as a point of the polytope."""
        return Part(*read_point(self, i, outputs, at))

    def write(self, i: int, part: Part, outputs: np.ndarray, at: int) -> None:
        """Write a point as an output of example i."""
        write_point(self, i, part.node, part.edge, outputs, at)


class Part(NamedTuple):
    """A point of the local polytope: an integral or fractional label set."""

    node: np.ndarray  # (n_labels,), 0 where a label is not known
    edge: np.ndarray  # (n_edges,)


# -- the structure -------------------------------------------------------------------------------


@implements(n_weights, LabelPrograms)
def _n_weights(data):
    """Return the length of w: the weights of labels, their biases, and the weights of edges."""
    return (data.n_columns + data.has_bias) * data.n_labels + len(data.graph.edges)


@implements(output_sizes, ProgramLabels)
def _output_sizes(data):
    """Return the number of labels for every example."""
    return np.full(len(data.labels), data.n_labels, dtype=np.int64)


implements(are_outputs, ProgramLabels)(are_sets)

# The cells of the relaxation are those of the one that is solved by roof duality.
implements(output_sizes, RelaxedProgramLabels)(sizes_of_points)
implements(output_size, RelaxedProgramLabels)(size_of_points)
implements(output_length, RelaxedProgramLabels)(length_of_point)
implements(truths, RelaxedProgramLabels)(true_points)
implements(truth_sizes, RelaxedProgramLabels)(sizes_of_true_points)
implements(are_outputs, RelaxedProgramLabels)(are_points)
implements(mix, RelaxedProgramLabels)(mix_points)


@implements(output_size, ProgramLabels)
def _output_size(data, i):
    """Return the number of labels."""
    return data.n_labels


@implements(truths, ProgramLabels)
def _truths(data):
    """Return the true label sets: 1, 0, or -1 where a label is not known."""
    return data.labels.reshape(-1)


@implements(true_parts, LabelPrograms)
def _true_parts(data):
    """Return the true states of all labels, for costs that price switches."""
    return switches(data.labels)


@implements(score_lengths, LabelPrograms)
def _score_lengths(data):
    """Bound phi by the row of the example: see `label_lengths`."""
    squares = data.X.multiply(data.X) if sp.issparse(data.X) else np.square(data.X)
    with np.errstate(over="ignore"):
        lengths = np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64)).reshape(-1)
    return label_lengths(data, lengths, np.full(len(lengths), float(data.n_columns)))


@implements(workspace, LabelPrograms)
def _workspace(data):
    """Return theta; HiGHS has its own room."""
    return label_potentials(data), ()


def _weights(data, w):
    """Return views of w: a matrix with one column per label, and the weights of edges."""
    n_rows = data.n_columns + data.has_bias
    n_unary = n_rows * data.n_labels
    return w[:n_unary].reshape(n_rows, data.n_labels), w[n_unary:]


@implements(potentials, LabelPrograms)
def _potentials(data, i, w, scale, theta):
    """Fill theta with the scores of labels and edges."""
    W, pair = _weights(data, w)
    theta.unary[0] = scale * np.asarray(data.X[i] @ W[: data.n_columns]).reshape(-1)
    if data.has_bias:
        theta.unary[0] += scale * W[data.n_columns]
    theta.pair[:] = scale * pair


def _difference(data, i, outputs, at):
    """Return labels and edges of the truth less those of an output."""
    truth, part = data.true_part(i), data.part(i, outputs, at)
    return truth.node - part.node, truth.edge - part.edge


@implements(parts, LabelPrograms)
def _parts(data, i, outputs, at, scale, mu):
    """Add the labels and edges of the output."""
    part = data.part(i, outputs, at)
    mu.unary[0] += scale * part.node
    mu.pair[:] += scale * part.edge


@implements(add_parts, LabelPrograms)
def _add_parts(data, i, mu, scale, w):
    """Add the joint features of mu."""
    _add_features(data, i, mu.unary[0], mu.pair, scale, w)


@implements(margin_error, LabelPrograms)
def _margin_error(data, i, theta, outputs, at):
    """Return the score of the output less that of the truth."""
    node, edge = _difference(data, i, outputs, at)
    return -float(theta.unary[0] @ node + theta.pair @ edge)


@implements(add_difference, LabelPrograms)
def _add_difference(data, i, outputs, at, scale, w):
    """Add the joint features of the truth less those of the output."""
    _add_features(data, i, *_difference(data, i, outputs, at), scale, w)


def _add_features(data, i, node, edge, scale, w):
    """w += scale * the joint features of labels ``node`` and edges ``edge``."""
    W, pair = _weights(data, w)
    row = data.X[i]
    if sp.issparse(row):
        W[row.indices] += scale * np.multiply.outer(row.data, node)
    else:
        W[: data.n_columns] += scale * np.multiply.outer(np.asarray(row, dtype=float), node)
    if data.has_bias:
        W[data.n_columns] += scale * node
    pair += scale * edge


@implements(difference_potentials, LabelPrograms)
def _difference_potentials(data, i, outputs, at, spare, theta):
    """Score labels and edges at Psi_i(y): |x|^2 times what truth and output differ by."""
    node, edge = _difference(data, i, outputs, at)
    values = data.X[i].data if sp.issparse(data.X) else np.asarray(data.X[i])
    square = float(np.square(values, dtype=np.float64).sum()) + data.has_bias
    theta.unary[0] = square * node
    theta.pair[:] = edge


# -- costs ---------------------------------------------------------------------------------------


def _of_truth(data, table, i):
    """Return table[j, truth_j] for each label j, 0 where the truth is not known."""
    truth = data.labels[i]
    return np.where(truth >= 0, table[np.arange(data.n_labels), np.maximum(truth, 0)], 0.0)


@implements(output_cost, LabelPrograms, SwitchCost)
def _output_cost(data, cost, i, outputs, at):
    """Return the prices of wrong labels, each times how wrong it is, and the cost of the truth."""
    node, _ = _difference(data, i, outputs, at)
    return float(cost.base[i] + cost.scale[i] * (_of_truth(data, cost.price, i) @ np.abs(node)))


@implements(shift, LabelPrograms, SwitchCost)
def _shift(data, cost, i, outputs, at):
    """Return the shifts of wrong labels, each times how wrong it is."""
    if len(cost.shift) == 0:
        return 0.0
    node, _ = _difference(data, i, outputs, at)
    return float(cost.scale[i] * (_of_truth(data, cost.shift, i) @ np.abs(node)))


@implements(output_cost, ProgramLabels, WholeCost)
def _output_cost_whole(data, cost, i, outputs, at):
    """Return the price of the example if any label is wrong."""
    is_right = np.array_equal(outputs[at : at + data.n_labels], data.labels[i])
    return 0.0 if is_right else float(cost.price[i])


def gains(data: Any, cost: Any, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what each label adds to `shift` and to the cost when it is switched on."""
    sign = np.where(data.labels[i] == 1, -1.0, 1.0)
    price = cost.scale[i] * _of_truth(data, cost.price, i) * sign
    if len(cost.shift) == 0:
        return np.zeros(data.n_labels), price
    return cost.scale[i] * _of_truth(data, cost.shift, i) * sign, price

"""Label sets by HiGHS: integer programmes, or linear ones for the relaxation. Runs as Python.

They are the reference for the compiled kinds of label sets. Beyond 16 labels they alone have the
oracle `constrained`. With a time limit an oracle may miss the best output, but returns a bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.core.contract import (
    add_difference,
    add_parts,
    are_outputs,
    capabilities,
    constrained,
    difference_potentials,
    implements,
    k_best,
    k_best_room,
    margin_error,
    maximize,
    maximize_bounded,
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
from maxmargin.structures.labels.costs import scales_with_ties
from maxmargin.structures.labels.data import (
    are_sets,
    check_label_sets,
    implements_each,
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

#: `constrained` asks for slopes > low, but a linear programme knows only >=, and the truth has the
#: slope 0. So the relaxation is asked for at least this slope. An output below it is worth at most
#: LEAST_SLOPE * (1 + h)^2.
LEAST_SLOPE = 1e-7

#: If HiGHS finds a label set that meets a bound only up to rounding, `constrained` bans it and asks
#: again. After this many bans it raises an error.
MOST_BANS = 100


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


BOTH = (ProgramLabels, RelaxedProgramLabels)


# -- the structure -------------------------------------------------------------------------------


@implements_each(n_weights, BOTH)
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


@implements_each(true_parts, BOTH)
def _true_parts(data):
    """Return the true states of all labels, for costs that price switches."""
    return switches(data.labels)


@implements_each(score_lengths, BOTH)
def _score_lengths(data):
    """Bound phi by the row of the example: see `label_lengths`."""
    squares = data.X.multiply(data.X) if sp.issparse(data.X) else np.square(data.X)
    with np.errstate(over="ignore"):
        lengths = np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64)).reshape(-1)
    return label_lengths(data, lengths, np.full(len(lengths), float(data.n_columns)))


@implements_each(workspace, BOTH)
def _workspace(data):
    """Return theta; HiGHS has its own room."""
    return label_potentials(data), ()


def _weights(data, w):
    """Return views of w: a matrix with one column per label, and the weights of edges."""
    n_rows = data.n_columns + data.has_bias
    n_unary = n_rows * data.n_labels
    return w[:n_unary].reshape(n_rows, data.n_labels), w[n_unary:]


@implements_each(potentials, BOTH)
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


@implements_each(parts, BOTH)
def _parts(data, i, outputs, at, scale, mu):
    """Add the labels and edges of the output."""
    part = data.part(i, outputs, at)
    mu.unary[0] += scale * part.node
    mu.pair[:] += scale * part.edge


@implements_each(add_parts, BOTH)
def _add_parts(data, i, mu, scale, w):
    """Add the joint features of mu."""
    _add_features(data, i, mu.unary[0], mu.pair, scale, w)


@implements_each(margin_error, BOTH)
def _margin_error(data, i, theta, outputs, at):
    """Return the score of the output less that of the truth."""
    node, edge = _difference(data, i, outputs, at)
    return -float(theta.unary[0] @ node + theta.pair @ edge)


@implements_each(add_difference, BOTH)
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


@implements_each(difference_potentials, BOTH)
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


@implements_each(output_cost, BOTH, SwitchCost)
def _output_cost(data, cost, i, outputs, at):
    """Return the prices of wrong labels, each times how wrong it is, and the cost of the truth."""
    node, _ = _difference(data, i, outputs, at)
    return float(cost.base[i] + cost.scale[i] * (_of_truth(data, cost.price, i) @ np.abs(node)))


@implements_each(shift, BOTH, SwitchCost)
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


def _gains(data, cost, i):
    """Return what each label adds to `shift` and to the cost when it is switched on."""
    sign = np.where(data.labels[i] == 1, -1.0, 1.0)
    price = cost.scale[i] * _of_truth(data, cost.price, i) * sign
    if len(cost.shift) == 0:
        return np.zeros(data.n_labels), price
    return cost.scale[i] * _of_truth(data, cost.shift, i) * sign, price


# -- oracles -------------------------------------------------------------------------------------


def _answer(data, cost, i, theta, score_scale, cost_scale, banned=()):
    """Solve the programme of `maximize`, without the label sets in ``banned``."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    added, price = _gains(data, cost, i)
    unary = score_scale * (theta.unary[0] + added) + cost_scale * price
    pair = score_scale * theta.pair
    answer = data.solve(i, unary, pair, banned=banned)
    # HiGHS may have no bound when its time is over. The sum of all positive weights is one.
    most = float(np.maximum(unary, 0.0).sum() + np.maximum(pair, 0.0).sum())
    return answer._replace(bound=min(answer.bound, most))


@implements_each(maximize_bounded, BOTH, SwitchCost)
def _maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write what HiGHS found; return the bound that it proved."""
    answer = _answer(data, cost, i, theta, score_scale, cost_scale)
    if np.isfinite(answer.value):
        part, excess = Part(answer.node, answer.edge), answer.bound - answer.value
    else:  # HiGHS found no output in its time: take the truth
        part = data.true_part(i)
        added, price = _gains(data, cost, i)
        unary = score_scale * (theta.unary[0] + added) + cost_scale * price
        value = unary @ part.node + score_scale * (theta.pair @ part.edge)
        excess = answer.bound - float(value)
    data.write(i, part, outputs, at)
    h = margin_error(data, i, theta, outputs, at) + shift(data, cost, i, outputs, at)
    g = output_cost(data, cost, i, outputs, at)
    return score_scale * h + cost_scale * g + max(excess, 0.0)


@implements_each(maximize, BOTH, SwitchCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write what HiGHS found."""
    _maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)


@implements(maximize_bounded, ProgramLabels, WholeCost)
def _maximize_bounded_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Compare the best label set other than the truth with the truth, whose value is 0."""
    truth = data.true_part(i)
    price = cost_scale * float(cost.price[i])
    data.write(i, truth, outputs, at)
    if not (data.labels[i] >= 0).any():
        return 0.0
    answer = data.solve(i, theta.unary[0], theta.pair, banned=[truth.node])
    own = float(theta.unary[0] @ truth.node + theta.pair @ truth.edge)
    if np.isfinite(answer.value) and score_scale * (answer.value - own) + price >= 0.0:
        data.write(i, Part(answer.node, answer.edge), outputs, at)
    return max(0.0, score_scale * (answer.bound - own) + price)


@implements(maximize, ProgramLabels, WholeCost)
def _maximize_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write what `_maximize_bounded_whole` finds."""
    _maximize_bounded_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)


@implements_each(capabilities, BOTH)
def _capabilities(data, cost):
    """Name what the oracles offer, which is less where there is a time limit."""
    named = capabilities.__wrapped__(data, cost)
    # A programme that is stopped by its time limit may miss a better output, or find none although
    # there is one. Only `maximize_bounded` can report that.
    return named if data.time_limit is None else named - {"k_best", "constrained"}


@implements(k_best_room, ProgramLabels)
def _k_best_room(data, cost, k):
    """Return nothing to work in."""
    return np.zeros(0)


@implements_each(k_best, (ProgramLabels,), SwitchCost)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Solve k programmes, each without the label sets that were found before."""
    found = []
    for rank in range(k):
        answer = _answer(data, cost, i, theta, score_scale, cost_scale, found)
        if not np.isfinite(answer.value):
            return rank
        found.append(answer.node)
        part = Part(answer.node, answer.edge)
        data.write(i, part, outputs, at + rank * data.n_labels)
    return k


@implements_each(constrained, BOTH, SwitchCost)
def _constrained(
    data, cost, i, theta, room, tilt, low, high, is_closed, banned, n_banned, outputs, at
):
    """Solve a programme with the bounds of the slope as linear constraints."""
    # For a point of the polytope: h = its score - base, and g = price . node + start.
    added, price = _gains(data, cost, i)
    score = theta.unary[0] + added
    truth = data.true_part(i)
    base = float(score @ truth.node + theta.pair @ truth.edge)
    start = float(cost.base[i]) - float(price @ truth.node)
    # The relaxation has points exactly on the bounds, with which a search would never get on: its
    # angle would not shrink. So the bounds 1 + h > 0 and slope > 0 are moved by edge_off.
    edge_off = 0.0 if data.is_integral else LEAST_SLOPE
    rows = [(score, theta.pair, base - 1.0 + edge_off, np.inf)]
    least = max(low, edge_off)
    for slope, is_low in ((least, True), (high, False)):
        if np.isfinite(slope):  # g >= slope (1 + h), or <=
            edge = slope * (1.0 - base) - start
            bounds = (edge, np.inf) if is_low else (-np.inf, edge)
            rows.append((price - slope * score, -slope * theta.pair, *bounds))
    weights = (score + tilt * price, theta.pair) if tilt < np.inf else (price, 0.0 * theta.pair)
    # A programme knows only <=, not <. If an integer programme finds a label set that lies on a
    # strict bound, the label set is banned and the programme is solved again.
    size = output_size(data, i)
    bans = []
    if data.is_integral:
        bans = [data.part(i, banned, b * size).node for b in range(n_banned)]
    for _ in range(MOST_BANS):
        answer = data.solve(i, *weights, rows=rows, banned=bans)
        if not np.isfinite(answer.value):
            return False
        part = Part(answer.node, answer.edge)
        data.write(i, part, outputs, at)
        if not data.is_integral:
            return True
        h = margin_error(data, i, theta, outputs, at) + shift(data, cost, i, outputs, at)
        if 1.0 + h > 0.0:
            slope = output_cost(data, cost, i, outputs, at) / (1.0 + h)
            if slope > low and (slope < high or (is_closed and slope == high)):
                return True
        bans.append(part.node)
    raise RuntimeError(
        f"More than {MOST_BANS} label sets of example {i} lie on the bounds of one angle: the "
        "angular search cannot tell them apart by programmes. Choose search='hull'."
    )

"""Chains: a label a position, scored by the position's features and by neighbouring labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    add_parts,
    add_row,
    add_scores,
    are_outputs,
    clear_row,
    difference_potentials,
    implements,
    margin_error,
    maximize,
    n_weights,
    output_cost,
    output_size,
    output_sizes,
    parts,
    potentials,
    row_product,
    score_lengths,
    spare_size,
    truths,
    workspace,
)
from maxmargin.costs.tables import PartCost
from maxmargin.features.rows import as_features, check_labels, frozen, row_lengths
from maxmargin.inference.chain.best import best_path

#: Wrong positions for each label up to which their products with all others, one by one, are
#: cheaper than weights made of them: these are spread over memory.
MOST_PAIRED = 2


class ChainLayout(NamedTuple):
    """Where the blocks of w begin, seen as a matrix with a column a label.

    Rows: the weights of each feature, then bias, transitions (from each label), start, end; a block
    that is switched off has no rows.
    """

    n_columns: int
    n_labels: int
    bias: int
    transitions: int
    start: int
    end: int
    n_rows: int


def chain_layout(
    n_columns: int,
    n_labels: int,
    bias: bool = True,
    transitions: bool = True,
    start: bool = True,
    end: bool = True,
) -> ChainLayout:
    """Lay out the weights of a chain."""
    rows = [n_columns, bool(bias), bool(transitions) * n_labels, bool(start), bool(end)]
    return ChainLayout(int(n_columns), int(n_labels), *np.cumsum(rows).tolist())


class ChainData(NamedTuple):
    """Sequences to label, their positions stacked: sequence i is rows offsets[i]:offsets[i+1].

    ``borders[i]`` tells whether sequence i begins, and ends, where a sentence does: a piece cut out
    of a longer one has no start or end bias there. Barriers are 0 where allowed and -inf where not:
    ``edge_barrier`` has the transitions in its first n_labels rows, then start, then end;
    ``node_barrier`` has no rows where every label is allowed everywhere.
    """

    features: Any
    offsets: Any  # (n_examples + 1,) int64
    labels: Any  # (n_positions,) int32
    borders: Any  # (n_examples, 2) int8
    layout: ChainLayout
    edge_barrier: Any  # (n_labels + 2, n_labels)
    node_barrier: Any  # (n_positions or 0, n_labels)


class ChainPotentials(NamedTuple):
    """Potentials of one sequence, or how often labellings use each of them.

    The transitions are one table for all positions: parts count how often each is taken.
    """

    unary: Any  # (longest, n_labels)
    edges: Any  # (n_labels + 2, n_labels): transitions, start, end


class ChainRoom(NamedTuple):
    """Room for the search of the best labelling of one sequence."""

    augmented: Any  # (longest, n_labels)
    delta: Any  # (longest, n_labels)


def chain_data(
    X: Any,
    offsets: Any,
    labels: Any,
    layout: ChainLayout,
    borders: Any = None,
    edge_barrier: Any = None,
    node_barrier: Any = None,
) -> ChainData:
    """Wrap stacked features, finite numbers, and labels encoded as 0 .. n_labels - 1."""
    n_labels = layout.n_labels
    check_labels(labels, X.shape[0], n_labels)
    steps = np.diff(offsets)
    if len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != X.shape[0] or (steps < 1).any():
        raise ValueError(
            f"offsets must rise from 0 to {X.shape[0]}, the number of rows of X; a sequence has a "
            f"position at least."
        )
    if X.shape[1] != layout.n_columns:
        raise ValueError(f"X has {X.shape[1]} columns but the layout {layout.n_columns}.")
    if borders is None:
        borders = np.ones((len(offsets) - 1, 2))
    if edge_barrier is None:
        edge_barrier = np.zeros((n_labels + 2, n_labels))
    if node_barrier is None:
        node_barrier = np.zeros((0, n_labels))
    for name, array, shape in (
        ("borders", borders, (len(offsets) - 1, 2)),
        ("edge_barrier", edge_barrier, (n_labels + 2, n_labels)),
        ("node_barrier", node_barrier, (len(node_barrier) and X.shape[0], n_labels)),
    ):
        if np.shape(array) != shape:
            raise ValueError(f"{name} must have the shape {shape}, got {np.shape(array)}.")
    return ChainData(
        as_features(X),
        frozen(offsets, np.int64),
        frozen(labels, np.int32),
        frozen(borders, np.int8),
        layout,
        frozen(edge_barrier, np.float64),
        frozen(node_barrier, np.float64),
    )


@implements(n_weights, ChainData)
def _n_weights(data):
    return data.layout.n_rows * data.layout.n_labels


@implements(output_sizes, ChainData)
def _output_sizes(data):
    return np.diff(data.offsets)


@implements(truths, ChainData)
def _truths(data):
    return data.labels


@implements(are_outputs, ChainData)
def _are_labellings(data: Any, examples: np.ndarray, cells: np.ndarray) -> np.ndarray:
    sizes = np.diff(data.offsets)[examples]
    n_labels = data.layout.n_labels
    allowed = (cells >= 0) & (cells < n_labels)
    at = np.where(allowed, cells, 0)
    if len(data.node_barrier):
        rows = np.concatenate(
            [np.arange(data.offsets[i], data.offsets[i + 1]) for i in examples]
            or [np.zeros(0, dtype=np.int64)]
        )
        allowed &= np.isfinite(data.node_barrier[rows, at])
    ends = np.cumsum(sizes)
    begins = ends - sizes
    edges = np.isfinite(data.edge_barrier)
    follows = np.ones(len(cells), dtype=bool)
    follows[begins] = False
    inner = np.flatnonzero(follows)
    allowed[inner] &= edges[at[inner - 1], at[inner]]
    # A piece cut out of a longer sequence has no border where it was cut.
    borders = np.asarray(data.borders)[examples] != 0
    allowed[begins] &= edges[n_labels, at[begins]] | ~borders[:, 0]
    allowed[ends - 1] &= edges[n_labels + 1, at[ends - 1]] | ~borders[:, 1]
    if len(sizes) == 0:
        return np.zeros(0, dtype=bool)
    return np.asarray(np.logical_and.reduceat(allowed, begins))


@implements(workspace, ChainData)
def _workspace(data):
    longest = int(np.diff(data.offsets).max(initial=1))
    n_labels = data.layout.n_labels
    unary, augmented, delta = (np.zeros((longest, n_labels)) for _ in range(3))
    theta = ChainPotentials(unary, np.zeros((n_labels + 2, n_labels)))
    return theta, ChainRoom(augmented, delta)


@implements(score_lengths, ChainData)
def _score_lengths(data):
    # Every position adds its features, a bias and a transition.
    lengths, terms = row_lengths(data.features)
    starts, sizes = data.offsets[:-1], np.diff(data.offsets)
    most = np.maximum.reduceat(terms, starts) if len(starts) else terms
    total = np.add.reduceat(lengths, starts) if len(starts) else lengths
    return total + 2.0 * sizes + 2.0, most + 2.0 * sizes + 2.0


@implements(output_size, ChainData)
def _output_size(data, i):
    return data.offsets[i + 1] - data.offsets[i]


@implements(potentials, ChainData)
def _potentials(data, i, w, scale, theta):
    layout = data.layout
    n_labels = layout.n_labels
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    W = w.reshape((layout.n_rows, n_labels))
    has_bias = layout.transitions > layout.bias
    for t in range(length):
        for k in range(n_labels):
            theta.unary[t, k] = scale * W[layout.bias, k] if has_bias else 0.0
    add_scores(data.features, first, length, scale, W, theta.unary)
    if data.node_barrier.shape[0] > 0:
        for t in range(length):
            for k in range(n_labels):
                theta.unary[t, k] += data.node_barrier[first + t, k]

    starts, ends = data.borders[i, 0] > 0, data.borders[i, 1] > 0
    for row in range(n_labels + 2):
        if (row == n_labels and not starts) or (row == n_labels + 1 and not ends):
            for k in range(n_labels):
                theta.edges[row, k] = 0.0
        else:
            for k in range(n_labels):
                theta.edges[row, k] = data.edge_barrier[row, k]
    for row in range(layout.start - layout.transitions):
        for k in range(n_labels):
            theta.edges[row, k] += scale * W[layout.transitions + row, k]
    if starts and layout.end > layout.start:
        for k in range(n_labels):
            theta.edges[n_labels, k] += scale * W[layout.start, k]
    if ends and layout.n_rows > layout.end:
        for k in range(n_labels):
            theta.edges[n_labels + 1, k] += scale * W[layout.end, k]


@implements(spare_size, ChainData)
def _spare_size(data):
    longest = int(np.diff(data.offsets).max(initial=1))
    is_long = longest > MOST_PAIRED * data.layout.n_labels
    return data.layout.n_rows * data.layout.n_labels if is_long else 0


@jitable
def add_paired(data: Any, i: int, outputs: Any, at: int, theta: Any) -> None:
    """Add to theta.unary the products of all positions with those that are wrong."""
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    has_bias = data.layout.transitions > data.layout.bias
    for s in range(length):
        truth, label = data.labels[first + s], outputs[at + s]
        if truth != label:
            for t in range(length):
                product = row_product(data.features, first + s, first + t) + has_bias
                theta.unary[t, truth] += product
                theta.unary[t, label] -= product


@jitable
def add_scattered(data: Any, i: int, outputs: Any, at: int, spare: Any, theta: Any) -> None:
    """Do the same through ``spare``, weights that are 0 before and after.

    What is wrong is added up there, once over the positions, and only cells that were touched are
    cleared.
    """
    layout = data.layout
    n_labels = layout.n_labels
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    W = spare.reshape((layout.n_rows, n_labels))
    for t in range(length):
        truth, label = data.labels[first + t], outputs[at + t]
        if truth != label:
            add_row(data.features, first + t, truth, 1.0, W)
            add_row(data.features, first + t, label, -1.0, W)
    add_scores(data.features, first, length, 1.0, W, theta.unary)
    for t in range(length):
        truth, label = data.labels[first + t], outputs[at + t]
        if truth != label:
            clear_row(data.features, first + t, truth, W)
            clear_row(data.features, first + t, label, W)
    if layout.transitions > layout.bias:
        for t in range(length):
            truth, label = data.labels[first + t], outputs[at + t]
            if truth != label:
                W[layout.bias, truth] += 1.0
                W[layout.bias, label] -= 1.0
        for t in range(length):
            for k in range(n_labels):
                theta.unary[t, k] += W[layout.bias, k]
        for k in range(n_labels):
            W[layout.bias, k] = 0.0


@implements(difference_potentials, ChainData)
def _difference_potentials(data, i, outputs, at, spare, theta):
    layout = data.layout
    n_labels = layout.n_labels
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    n_wrong = 0
    for t in range(length):
        n_wrong += 1 if data.labels[first + t] != outputs[at + t] else 0
        for k in range(n_labels):
            theta.unary[t, k] = 0.0
    # Every wrong position with every other, or every position with every label.
    if n_wrong > MOST_PAIRED * n_labels and spare.shape[0] > 0:
        add_scattered(data, i, outputs, at, spare, theta)
    else:
        add_paired(data, i, outputs, at, theta)
    theta.edges[:] = 0.0
    if layout.start > layout.transitions:
        for t in range(1, length):
            theta.edges[data.labels[first + t - 1], data.labels[first + t]] += 1.0
            theta.edges[outputs[at + t - 1], outputs[at + t]] -= 1.0
    if data.borders[i, 0] > 0 and layout.end > layout.start:
        theta.edges[n_labels, data.labels[first]] += 1.0
        theta.edges[n_labels, outputs[at]] -= 1.0
    if data.borders[i, 1] > 0 and layout.n_rows > layout.end:
        theta.edges[n_labels + 1, data.labels[first + length - 1]] += 1.0
        theta.edges[n_labels + 1, outputs[at + length - 1]] -= 1.0


@implements(parts, ChainData)
def _parts(data, i, outputs, at, scale, mu):
    n_labels = data.layout.n_labels
    length = data.offsets[i + 1] - data.offsets[i]
    for t in range(length):
        mu.unary[t, outputs[at + t]] += scale
    for t in range(1, length):
        mu.edges[outputs[at + t - 1], outputs[at + t]] += scale
    if data.borders[i, 0] > 0:
        mu.edges[n_labels, outputs[at]] += scale
    if data.borders[i, 1] > 0:
        mu.edges[n_labels + 1, outputs[at + length - 1]] += scale


@implements(add_parts, ChainData)
def _add_parts(data, i, mu, scale, w):
    layout = data.layout
    n_labels = layout.n_labels
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    W = w.reshape((layout.n_rows, n_labels))
    for t in range(length):
        for k in range(n_labels):
            mass = scale * mu.unary[t, k]
            if mass != 0.0:
                add_row(data.features, first + t, k, mass, W)
                if layout.transitions > layout.bias:
                    W[layout.bias, k] += mass
    for row in range(layout.start - layout.transitions):
        for k in range(n_labels):
            if mu.edges[row, k] != 0.0:
                W[layout.transitions + row, k] += scale * mu.edges[row, k]
    for k in range(n_labels):
        if layout.end > layout.start and mu.edges[n_labels, k] != 0.0:
            W[layout.start, k] += scale * mu.edges[n_labels, k]
        if layout.n_rows > layout.end and mu.edges[n_labels + 1, k] != 0.0:
            W[layout.end, k] += scale * mu.edges[n_labels + 1, k]


@implements(margin_error, ChainData)
def _margin_error(data, i, theta, outputs, at):
    n_labels = data.layout.n_labels
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    # Part by part, without asking which parts are shared: those give exactly 0, and a branch that
    # is hard to predict costs more than four reads.
    error = 0.0
    before = truth_before = n_labels  # the row of start biases
    for t in range(length):
        label, truth = outputs[at + t], data.labels[first + t]
        error += theta.unary[t, label] - theta.unary[t, truth]
        error += theta.edges[before, label] - theta.edges[truth_before, truth]
        before, truth_before = np.int64(label), np.int64(truth)
    return error + (theta.edges[n_labels + 1, before] - theta.edges[n_labels + 1, truth_before])


@implements(add_difference, ChainData)
def _add_difference(data, i, outputs, at, scale, w):
    layout = data.layout
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    W = w.reshape((layout.n_rows, layout.n_labels))
    has_bias = layout.transitions > layout.bias
    has_transitions = layout.start > layout.transitions
    for t in range(length):
        truth, label = data.labels[first + t], outputs[at + t]
        if truth != label:
            add_row(data.features, first + t, truth, scale, W)
            add_row(data.features, first + t, label, -scale, W)
            if has_bias:
                W[layout.bias, truth] += scale
                W[layout.bias, label] -= scale
        if has_transitions and t > 0:
            W[layout.transitions + data.labels[first + t - 1], truth] += scale
            W[layout.transitions + outputs[at + t - 1], label] -= scale
    if data.borders[i, 0] > 0 and layout.end > layout.start:
        W[layout.start, data.labels[first]] += scale
        W[layout.start, outputs[at]] -= scale
    if data.borders[i, 1] > 0 and layout.n_rows > layout.end:
        W[layout.end, data.labels[first + length - 1]] += scale
        W[layout.end, outputs[at + length - 1]] -= scale


@jitable
def augment(
    data: Any, cost: Any, i: int, theta: Any, room: Any, score_scale: float, cost_scale: float
) -> None:
    """Fill room.augmented: unary potentials with the cost added to them.

    Scaling the unary potentials by a / score_scale leaves the transitions as they are. Without a
    score, a tilt so large that scores only break ties stands for it.
    """
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    factor = cost_scale * cost.scale[i] / max(score_scale, 1e-9)
    for t in range(length):
        truth = data.labels[first + t]
        for k in range(data.layout.n_labels):
            room.augmented[t, k] = theta.unary[t, k] + factor * cost.matrix[truth, k]


@implements(maximize, ChainData, PartCost)
def _maximize_part(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    n_labels = data.layout.n_labels
    length = data.offsets[i + 1] - data.offsets[i]
    augment(data, cost, i, theta, room, score_scale, cost_scale)
    best_path(
        room.augmented[:length],
        theta.edges[:n_labels],
        theta.edges[n_labels],
        theta.edges[n_labels + 1],
        room.delta,
        outputs[at : at + length],
    )


@implements(output_cost, ChainData, PartCost)
def _output_cost_part(data, cost, i, outputs, at):
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    total = 0.0
    for t in range(length):
        total += cost.matrix[data.labels[first + t], outputs[at + t]]
    return cost.scale[i] * total

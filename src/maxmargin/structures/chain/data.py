"""Chains: one label per position, scored by the features there and by neighbouring labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    add_scores,
    are_outputs,
    implements,
    kernel_use,
    n_weights,
    output_size,
    output_sizes,
    potentials,
    score_lengths,
    truths,
    workspace,
)
from maxmargin.features.rows import as_features, check_labels, frozen, kernel_rows, row_lengths


class ChainLayout(NamedTuple):
    """At which row each block of w begins; w is seen as a matrix with one column per label.

    The rows are: one per feature, then the bias, the transitions (one row per label before), start
    and end. A block that is switched off has no rows.
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
    """Return the layout of the weights of a chain.

    Parameters
    ----------
    n_columns, n_labels : int
        Number of features of a position, and of labels.
    bias, transitions, start, end : bool
        Whether w has this block: a weight per label, per pair of neighbouring labels, per first
        label and per last label of a sequence.
    """
    heights = [n_columns, bool(bias), bool(transitions) * n_labels, bool(start), bool(end)]
    return ChainLayout(int(n_columns), int(n_labels), *np.cumsum(heights).tolist())


class ChainData(NamedTuple):
    """Sequences to label, their positions stacked: sequence i is rows offsets[i]:offsets[i+1].

    ``borders[i]`` has two flags: whether sequence i begins, and whether it ends, where the sequence
    of the user does. A piece that was cut out of a longer sequence has no start bias or end bias at
    the cut. The barriers are 0 where something is allowed and -inf where it is not.
    ``edge_barrier`` has the transitions in its first n_labels rows, then start, then end.
    ``node_barrier`` has no rows where every label is allowed at every position.
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

    All positions share one table of transitions, so mu counts how often each transition is taken.
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
    """Return sequences with their true labels, as solvers take them.

    Parameters
    ----------
    X : dense or CSR matrix of finite numbers, of shape (n_positions, n_columns)
        The positions of all sequences, one sequence after the other.
    offsets : int array of shape (n_examples + 1,)
        Sequence i is rows offsets[i] .. offsets[i + 1] - 1; it has at least one.
    labels : int array of shape (n_positions,)
        The true labels, 0 .. n_labels - 1.
    layout : ChainLayout
    borders : array of shape (n_examples, 2), or None
        Whether each sequence begins and ends at a border. None: all do.
    edge_barrier : array of shape (n_labels + 2, n_labels), or None
        0 or -inf for every transition, start and end. None: all are allowed.
    node_barrier : array of shape (n_positions, n_labels), or None
        0 or -inf for every label at every position. None: all are allowed.
    """
    n_labels = layout.n_labels
    check_labels(labels, X.shape[0], n_labels)
    steps = np.diff(offsets)
    if len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != X.shape[0] or (steps < 1).any():
        raise ValueError(
            f"offsets must rise from 0 to {X.shape[0]}, the number of rows of X; a sequence has at "
            "least one position."
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
    """Return the length of w: all rows of the layout, one column per label."""
    return data.layout.n_rows * data.layout.n_labels


@implements(kernel_use, ChainData)
def _kernel_use(data):
    """Return the one matrix of coefficients, with a column per label."""
    return kernel_rows(data.features, ((0, data.layout.n_labels),), data.offsets)


@implements(output_sizes, ChainData)
def _output_sizes(data):
    """Return the length of every sequence: an output is one label per position."""
    return np.diff(data.offsets)


@implements(truths, ChainData)
def _truths(data):
    """Return the true labels of all positions."""
    return data.labels


@implements(are_outputs, ChainData)
def _are_labellings(
    data: Any, examples: np.ndarray, cells: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Tell which labellings have known labels and break no barrier."""
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
    """Return theta and room for the longest sequence."""
    longest = int(np.diff(data.offsets).max(initial=1))
    n_labels = data.layout.n_labels
    unary, augmented, delta = (np.zeros((longest, n_labels)) for _ in range(3))
    theta = ChainPotentials(unary, np.zeros((n_labels + 2, n_labels)))
    return theta, ChainRoom(augmented, delta)


@implements(score_lengths, ChainData)
def _score_lengths(data):
    """Bound phi by the sum over positions: each adds its features, a bias and a transition."""
    lengths, terms = row_lengths(data.features)
    starts, sizes = data.offsets[:-1], np.diff(data.offsets)
    most = np.maximum.reduceat(terms, starts) if len(starts) else terms
    total = np.add.reduceat(lengths, starts) if len(starts) else lengths
    return total + 2.0 * sizes + 2.0, most + 2.0 * sizes + 2.0


@implements(output_size, ChainData)
def _output_size(data, i):
    """Return the number of positions of sequence i."""
    return data.offsets[i + 1] - data.offsets[i]


@implements(potentials, ChainData)
def _potentials(data, i, w, scale, theta):
    """Fill theta: scores of labels and steps, with the barriers added (-inf where forbidden)."""
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


#: The most bytes that a profile, or a list of the k best labellings, may take.
MOST_BYTES = 1 << 32


def check_room(data: Any, what: str, n_bytes: int) -> None:
    """Refuse to make ``what`` if it takes more than MOST_BYTES, because sequences are too long."""
    if n_bytes > MOST_BYTES:
        longest = int(np.diff(data.offsets).max(initial=1))
        raise ValueError(
            f"{what} of a sequence of {longest} positions would take {n_bytes / 1e9:.3g} GB, above "
            f"{MOST_BYTES / 1e9:.3g} GB. Cut the sequences into shorter ones, take "
            "surrogate='margin', or search=ConvexHull(integral=False), which bounds the losses."
        )

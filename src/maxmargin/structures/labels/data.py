"""Label sets: any number of labels per example, on or off, with weights for pairs of labels.

phi(x, y) puts x, and a constant, into the column of every label that is on, and counts for every
edge (a, b) of the graph whether both its labels are on. A weight >= 0 of an edge is attractive.

There is one type of data for each way of inference. The fields that they share have the same names
and meanings, so what does not depend on inference is written once, for a family of these types.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    add_scores,
    are_outputs,
    belongs,
    implements,
    kernel_use,
    n_weights,
    output_size,
    output_sizes,
    potentials,
    score_lengths,
    switches,
    true_parts,
    truths,
)
from maxmargin.features.rows import frozen, kernel_rows, row_lengths
from maxmargin.inference.labels.graph import LabelGraph
from maxmargin.inference.labels.tree import TreeOrder


class LabelData:
    """Family of all types of label sets that run compiled: they have the fields of each other."""


class IntegralLabels:
    """Family of those whose outputs have one cell per label: 1 (on), 0 (off) or -1 (unknown)."""


@belongs(IntegralLabels, LabelData)
class IndependentLabels(NamedTuple):
    """Label sets without edges: closed forms. w = [weights (n_columns, n_labels) | bias | pairs].

    A label is 1 (on), 0 (off) or -1 (unknown). A label that is unknown in the truth is unknown in
    all outputs of the example. w has one weight per edge of the graph, which here has no edges.
    """

    features: Any
    labels: Any  # (n_examples, n_labels) int32
    n_columns: int
    n_labels: int
    has_bias: int
    graph: LabelGraph


@belongs(IntegralLabels, LabelData)
class TreeLabels(NamedTuple):
    """Label sets whose edges form a forest: max-product. Fields of `IndependentLabels`, and:"""

    features: Any
    labels: Any
    n_columns: int
    n_labels: int
    has_bias: int
    graph: LabelGraph
    tree: TreeOrder


@belongs(IntegralLabels, LabelData)
class ListedLabels(NamedTuple):
    """Label sets with any edges, so few labels that all sets are listed."""

    features: Any
    labels: Any
    n_columns: int
    n_labels: int
    has_bias: int
    graph: LabelGraph


@belongs(IntegralLabels, LabelData)
class PairwiseLabels(NamedTuple):
    """Label sets with any edges: roof duality, then a local search, bounded by the relaxation.

    Where no edge has a negative weight, one minimum cut finds the best output exactly.
    """

    features: Any
    labels: Any
    n_columns: int
    n_labels: int
    has_bias: int
    graph: LabelGraph


@belongs(LabelData)
class RelaxedLabels(NamedTuple):
    """Label sets with any edges, relaxed to the local polytope: roof duality, exact for that.

    An output is a point of the polytope, by what its labels and edges differ from those of the
    truth: the sparse cells that `maxmargin.core.contract.fractional` describes.
    """

    features: Any
    labels: Any
    n_columns: int
    n_labels: int
    has_bias: int
    graph: LabelGraph


class LabelPotentials(NamedTuple):
    """Scores of the labels and edges of one example; as mu, how much of each is on in an output."""

    unary: Any  # (1, n_labels)
    pair: Any  # (n_edges,)


def label_potentials(data: Any) -> LabelPotentials:
    """Return potentials for any one example, all 0; all examples have the same graph."""
    return LabelPotentials(np.zeros((1, data.n_labels)), np.zeros(len(data.graph.edges)))


#: How label sets are inferred in compiled passes, by name.
INFERENCES: dict[str, type] = {
    "independent": IndependentLabels,
    "tree": TreeLabels,
    "listed": ListedLabels,
    "pairwise": PairwiseLabels,
    "relaxed": RelaxedLabels,
}


def check_label_sets(Y: Any, n_rows: int) -> np.ndarray:
    """Return label sets as int32; refuse what is no matrix of -1, 0 and 1."""
    given = np.asarray(Y)
    if given.ndim != 2 or given.shape[0] != n_rows or given.shape[1] < 1:
        raise ValueError(
            f"Y must be a matrix of {n_rows} rows, as X has, and one column per label; got shape "
            f"{given.shape}."
        )
    if given.dtype.kind not in "biuf":
        raise TypeError(f"Y must hold the numbers 1, 0 and -1, got dtype {given.dtype}.")
    wrong = ~((given == 0) | (given == 1) | (given == -1))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(
            f"Y[{i}, {j}] is {given[i, j]}; expected 1 (on), 0 (off) or -1 (not known)."
        )
    return frozen(given, np.int32)


@implements(n_weights, LabelData)
def _n_weights(data):
    """Return the length of w: the weights of labels, their biases, and the weights of edges."""
    return (data.n_columns + data.has_bias) * data.n_labels + len(data.graph.edges)


@implements(kernel_use, LabelData)
def _kernel_use(data):
    """Return the one matrix of coefficients, with a column per label."""
    return kernel_rows(data.features, ((0, data.n_labels),))


@implements(output_sizes, IntegralLabels)
def _output_sizes(data):
    """Return the number of labels for every example."""
    return np.full(len(data.labels), data.n_labels, dtype=np.int64)


@implements(truths, IntegralLabels)
def _truths(data):
    """Return the true label sets: 1, 0, or -1 where a label is not known."""
    return data.labels.reshape(-1)


@implements(true_parts, LabelData)
def _true_parts(data):
    """Return the true states of all labels, for costs that price switches."""
    return switches(data.labels)


@implements(are_outputs, IntegralLabels)
def are_sets(data: Any, examples: np.ndarray, cells: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Tell which cells are label sets, as `are_outputs` says."""
    sets = cells.reshape(len(examples), data.n_labels)
    known = np.asarray(data.labels)[examples] >= 0
    # The cell of a label that is not known may hold -1, 0 or 1: nobody reads it.
    good = np.where(known, (sets == 0) | (sets == 1), (sets >= -1) & (sets <= 1))
    return np.asarray(good.all(axis=1))


@implements(score_lengths, LabelData)
def _score_lengths(data):
    """Bound phi by the row of the example: see `label_lengths`."""
    return label_lengths(data, *row_lengths(data.features))


def label_lengths(data: Any, lengths: np.ndarray, terms: np.ndarray) -> tuple[Any, Any]:
    """Return what `score_lengths` returns, given the lengths of rows and the terms of each.

    Every label that is on adds its row and a bias, every edge whose labels are both on a weight.
    """
    n_edges = len(data.graph.edges)
    labels = np.sqrt(data.n_labels) * (lengths + data.has_bias)
    return labels + np.sqrt(n_edges), terms + (1.0 + data.n_labels + n_edges)


@implements(output_size, IntegralLabels)
def _output_size(data, i):
    """Return the number of labels."""
    return data.n_labels


@implements(potentials, LabelData)
def _potentials(data, i, w, scale, theta):
    """Fill theta with the scores of labels and edges."""
    m = data.n_labels
    n_rows = data.n_columns + data.has_bias
    W = w[: n_rows * m].reshape((n_rows, m))
    for j in range(m):
        theta.unary[0, j] = scale * W[data.n_columns, j] if data.has_bias else 0.0
    add_scores(data.features, i, 1, scale, W, theta.unary)
    pair = w[n_rows * m :]
    for e in range(theta.pair.shape[0]):
        theta.pair[e] = scale * pair[e]

"""Classes: phi(x, y) puts x, and a constant, into the column of class y."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    add_difference,
    add_few,
    add_listed,
    add_outer,
    add_parts,
    add_row,
    add_scores,
    are_outputs,
    belongs,
    difference_potentials,
    few_scores,
    implements,
    kernel_use,
    listed_norms,
    margin_error,
    n_listed,
    n_weights,
    output_size,
    output_sizes,
    parts,
    potentials,
    row_product,
    score_few,
    score_lengths,
    truths,
    workspace,
)
from maxmargin.features.rows import (
    as_features,
    check_labels,
    frozen,
    kernel_rows,
    row_lengths,
    squared_norms,
)


class OneLabel:
    """Family of data whose outputs are one label of ``n_labels``, with a score in theta each.

    They have the fields ``labels`` and ``n_labels``, and theta a field ``scores``. So the oracles
    of classes serve them all.
    """


@belongs(OneLabel)
class MulticlassData(NamedTuple):
    """Examples to classify. w = [weights (n_columns, n_labels) | bias (n_labels)]."""

    features: Any
    labels: Any  # (n_examples,) int32
    n_columns: int
    n_labels: int
    has_bias: int


class ClassPotentials(NamedTuple):
    """Scores of the classes of one example, or how much of each class there is."""

    scores: Any  # (1, n_labels)


def multiclass_data(X: Any, labels: Any, n_labels: int, bias: bool = True) -> MulticlassData:
    """Wrap a matrix of finite numbers and labels encoded as 0 .. n_labels - 1."""
    check_labels(labels, X.shape[0], n_labels)
    return MulticlassData(
        as_features(X), frozen(labels, np.int32), int(X.shape[1]), int(n_labels), int(bias)
    )


@implements(n_weights, MulticlassData)
def _n_weights(data):
    """Return the length of w: one weight per feature and class, and one bias per class."""
    return (data.n_columns + data.has_bias) * data.n_labels


@implements(kernel_use, MulticlassData)
def _kernel_use(data):
    """Return the one matrix of coefficients, with a column per class."""
    return kernel_rows(data.features, ((0, data.n_labels),))


@implements(output_sizes, OneLabel)
def _output_sizes(data):
    """Return 1 for every example: an output is the index of one class."""
    return np.ones(len(data.labels), dtype=np.int64)


@implements(truths, OneLabel)
def _truths(data):
    """Return the true class of every example."""
    return data.labels


@implements(are_outputs, OneLabel)
def _are_classes(
    data: Any, examples: np.ndarray, cells: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Tell which cells are indices of classes."""
    return (cells >= 0) & (cells < data.n_labels)


@implements(workspace, MulticlassData)
def _workspace(data):
    """Return theta; the oracles of classes need no room."""
    return ClassPotentials(np.zeros((1, data.n_labels))), ()


@implements(score_lengths, MulticlassData)
def _score_lengths(data):
    """Bound phi by the row of the example and its bias, which is one more term."""
    lengths, terms = row_lengths(data.features)
    return lengths + data.has_bias, terms + 1.0


@implements(output_size, OneLabel)
def _output_size(data, i):
    """Return 1: the index of the class."""
    return 1


@implements(potentials, MulticlassData)
def _potentials(data, i, w, scale, theta):
    """Fill theta with the score of every class."""
    W = w.reshape((data.n_columns + data.has_bias, data.n_labels))
    for k in range(data.n_labels):
        theta.scores[0, k] = scale * W[data.n_columns, k] if data.has_bias else 0.0
    add_scores(data.features, i, 1, scale, W, theta.scores)


@implements(difference_potentials, MulticlassData)
def _difference_potentials(data, i, outputs, at, spare, theta):
    """Score classes at Psi_i(y): the truth gets +|x|^2, the class of the output -|x|^2."""
    square = row_product(data.features, i, i) + data.has_bias
    theta.scores[:] = 0.0
    theta.scores[0, data.labels[i]] += square
    theta.scores[0, outputs[at]] -= square


@implements(parts, OneLabel)
def _parts(data, i, outputs, at, scale, mu):
    """Add scale to the class of the output."""
    mu.scores[0, outputs[at]] += scale


@implements(add_parts, MulticlassData)
def _add_parts(data, i, mu, scale, w):
    """Add x_i and the bias to the column of every class, times its share in mu."""
    W = w.reshape((data.n_columns + data.has_bias, data.n_labels))
    for k in range(data.n_labels):
        mass = scale * mu.scores[0, k]
        if mass != 0.0:
            add_row(data.features, i, k, mass, W)
            if data.has_bias:
                W[data.n_columns, k] += mass


@implements(margin_error, OneLabel)
def _margin_error(data, i, theta, outputs, at):
    """Return the score of the output less that of the true class."""
    return theta.scores[0, outputs[at]] - theta.scores[0, data.labels[i]]


@implements(add_difference, MulticlassData)
def _add_difference(data, i, outputs, at, scale, w):
    """Add x_i and the bias to the column of the truth; subtract them from that of the output."""
    truth, label = data.labels[i], outputs[at]
    if label == truth:
        return
    W = w.reshape((data.n_columns + data.has_bias, data.n_labels))
    add_row(data.features, i, truth, scale, W)
    add_row(data.features, i, label, -scale, W)
    if data.has_bias:
        W[data.n_columns, truth] += scale
        W[data.n_columns, label] -= scale


@implements(n_listed, OneLabel)
def _n_listed(data):
    """Return the number of classes, each of which is one output."""
    return data.n_labels


@implements(listed_norms, MulticlassData)
def _listed_norms(data):
    """Return |x_i|^2, plus 1 for the bias."""
    return squared_norms(data.features) + data.has_bias


@implements(add_listed, MulticlassData)
def _add_listed(data, i, mass, scale, w):
    """Add x_i and the bias to the columns of all classes, times ``mass``."""
    W = w.reshape((data.n_columns + data.has_bias, data.n_labels))
    add_outer(data.features, i, mass, scale, W)
    if data.has_bias:
        for k in range(data.n_labels):
            W[data.n_columns, k] += scale * mass[k]


@implements(few_scores, MulticlassData)
def _few_scores(data, i, outputs, n_few, w, scores):
    """Write the scores of the classes that outputs[i] lists."""
    W = w.reshape((data.n_columns + data.has_bias, data.n_labels))
    score_few(data.features, i, outputs, i, n_few, W, scores)
    if data.has_bias:
        for a in range(n_few):
            scores[a] += W[data.n_columns, outputs[i, a]]


@implements(add_few, MulticlassData)
def _add_few(data, i, outputs, n_few, mass, scale, w):
    """Add x_i and the bias to the columns of the classes that outputs[i] lists, times ``mass``."""
    W = w.reshape((data.n_columns + data.has_bias, data.n_labels))
    for a in range(n_few):
        if mass[a] != 0.0:
            add_row(data.features, i, outputs[i, a], scale * mass[a], W)
            if data.has_bias:
                W[data.n_columns, outputs[i, a]] += scale * mass[a]

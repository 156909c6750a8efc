"""Label sets: the labels and pairs that are on, and the joint features that follow from them."""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    add_parts,
    add_row,
    difference_potentials,
    implements,
    margin_error,
    parts,
    row_product,
)
from maxmargin.structures.labels.data import IntegralLabels, LabelData


@implements(parts, IntegralLabels)
@jitable
def set_parts(data, i, outputs, at, scale, mu):
    """Add the labels and pairs that are on."""
    graph = data.graph
    for a in range(data.n_labels):
        if outputs[at + a] == 1:
            mu.unary[0, a] += scale
            for k in range(graph.start[a], graph.start[a + 1]):
                if graph.neighbour[k] > a and outputs[at + graph.neighbour[k]] == 1:
                    mu.pair[graph.edge_of[k]] += scale


@implements(add_parts, LabelData)
def _add_parts(data, i, mu, scale, w):
    """Add x_i and the bias to the column of every label, times mu; then the edges."""
    m = data.n_labels
    n_rows = data.n_columns + data.has_bias
    W = w[: n_rows * m].reshape((n_rows, m))
    for j in range(m):
        mass = scale * mu.unary[0, j]
        if mass != 0.0:
            add_row(data.features, i, j, mass, W)
            if data.has_bias:
                W[data.n_columns, j] += mass
    for e in range(mu.pair.shape[0]):
        if mu.pair[e] != 0.0:
            w[n_rows * m + e] += scale * mu.pair[e]


@implements(margin_error, IntegralLabels)
def _margin_error(data, i, theta, outputs, at):
    """Return the scores of labels and edges that are on, less those that are on in the truth."""
    # Most labels are off, so only the edges of labels that are on are visited.
    error = 0.0
    for j in range(data.n_labels):
        label = outputs[at + j]
        if label != data.labels[i, j]:
            error += theta.unary[0, j] if label == 1 else -theta.unary[0, j]
    graph = data.graph
    for a in range(data.n_labels if theta.pair.shape[0] > 0 else 0):
        if outputs[at + a] == 1 or data.labels[i, a] == 1:
            for k in range(graph.start[a], graph.start[a + 1]):
                b = graph.neighbour[k]
                if b > a:
                    was = data.labels[i, a] == 1 and data.labels[i, b] == 1
                    now = outputs[at + a] == 1 and outputs[at + b] == 1
                    if was != now:
                        weight = theta.pair[graph.edge_of[k]]
                        error += weight if now else -weight
    return error


@implements(add_difference, IntegralLabels)
def _add_difference(data, i, outputs, at, scale, w):
    """Add the features of the true label set; subtract those of the output."""
    m = data.n_labels
    n_rows = data.n_columns + data.has_bias
    W = w[: n_rows * m].reshape((n_rows, m))
    for j in range(m):
        truth, label = data.labels[i, j], outputs[at + j]
        if truth != label:
            signed = scale if truth == 1 else -scale
            add_row(data.features, i, j, signed, W)
            if data.has_bias:
                W[data.n_columns, j] += signed
    graph = data.graph
    first = n_rows * m
    for a in range(m if graph.edges.shape[0] > 0 else 0):
        if outputs[at + a] == 1 or data.labels[i, a] == 1:
            for k in range(graph.start[a], graph.start[a + 1]):
                b = graph.neighbour[k]
                if b > a:
                    was = data.labels[i, a] == 1 and data.labels[i, b] == 1
                    now = outputs[at + a] == 1 and outputs[at + b] == 1
                    if was != now:
                        w[first + graph.edge_of[k]] += scale if was else -scale


@implements(difference_potentials, IntegralLabels)
def _difference_potentials(data, i, outputs, at, spare, theta):
    """Score labels and edges at Psi_i(y): |x|^2 times what truth and output differ by."""
    square = row_product(data.features, i, i) + data.has_bias
    for j in range(data.n_labels):
        truth, label = data.labels[i, j], outputs[at + j]
        theta.unary[0, j] = square * (truth - label)
    theta.pair[:] = 0.0
    graph = data.graph
    for a in range(data.n_labels if theta.pair.shape[0] > 0 else 0):
        if outputs[at + a] == 1 or data.labels[i, a] == 1:
            for k in range(graph.start[a], graph.start[a + 1]):
                b = graph.neighbour[k]
                if b > a:
                    was = data.labels[i, a] == 1 and data.labels[i, b] == 1
                    now = outputs[at + a] == 1 and outputs[at + b] == 1
                    if was != now:
                        theta.pair[graph.edge_of[k]] = 1.0 if was else -1.0

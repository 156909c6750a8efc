"""Chains: the parts of a labelling, and the joint features that follow from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    add_parts,
    add_row,
    add_scores,
    clear_row,
    difference_potentials,
    implements,
    margin_error,
    parts,
    row_product,
    spare_size,
)
from maxmargin.structures.chain.data import ChainData

#: If an output has at most this many wrong positions per label, `add_paired` is cheaper: it takes
#: products of rows, where `add_scattered` writes to weights that are spread over memory.
MOST_PAIRED = 2


@implements(spare_size, ChainData)
def _spare_size(data):
    """Return the number of unary weights if some sequence is long enough for `add_scattered`."""
    longest = int(np.diff(data.offsets).max(initial=1))
    is_long = longest > MOST_PAIRED * data.layout.n_labels
    return data.layout.n_rows * data.layout.n_labels if is_long else 0


@jitable
def add_paired(data: Any, i: int, outputs: Any, at: int, theta: Any) -> None:
    """Add to theta.unary the products of the rows of all positions with those of the wrong ones."""
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
    """Do what `add_paired` does, by way of ``spare``: weights that are 0 before and after.

    First Psi_i(y) is added up in ``spare``; then all positions are scored with it; then only those
    cells are cleared that were written to.
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
    """Fill theta with the scores at the weights Psi_i(y), in the cheaper of two ways."""
    layout = data.layout
    n_labels = layout.n_labels
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    n_wrong = 0
    for t in range(length):
        n_wrong += 1 if data.labels[first + t] != outputs[at + t] else 0
        for k in range(n_labels):
            theta.unary[t, k] = 0.0
    # `add_scattered` takes each position once per label, `add_paired` once per wrong position.
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
    """Count the labels of positions, the transitions, and start and end at borders."""
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
    """Add the features of every position to the columns of its labels, times mu; then the steps."""
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
    """Return the score of the labelling less that of the true one, position by position."""
    n_labels = data.layout.n_labels
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    # Parts that output and truth share add exactly 0. They are not skipped: a branch that is hard
    # to predict costs more than four reads.
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
    """Add the features and steps of the true labels; subtract those of the output."""
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

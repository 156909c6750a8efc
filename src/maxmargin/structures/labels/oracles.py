"""Label sets: what their oracles share. Scores with costs added, label sets written as outputs."""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.structures.labels.costs import label_gains


@jitable
def augment(data, cost, i, theta, room, score_scale, cost_scale):
    """Fill room.augmented with what each label gains when on, and room.joint with the edges.

    A label that is not known gains -inf, so it stays off.
    """
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        if truth < 0:
            room.augmented[j] = -np.inf
        else:
            added, price = label_gains(cost, i, j, truth)
            score = theta.unary[0, j] + added
            room.augmented[j] = score_scale * score + cost_scale * price
    for e in range(theta.pair.shape[0]):
        room.joint[e] = score_scale * theta.pair[e]


@jitable
def add_shifts(data, cost, i, theta, room):
    """Fill room.augmented with score plus `shift` of each label; return their sum over the truth.

    For an output without edges, h is its sum of room.augmented less the sum returned. Labels that
    are not known have -inf.
    """
    total = 0.0
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        if truth < 0:
            room.augmented[j] = -np.inf
        else:
            room.augmented[j] = theta.unary[0, j] + label_gains(cost, i, j, truth)[0]
            total += room.augmented[j] if truth == 1 else 0.0
    return total


@jitable
def known_scores(data, i, theta, room):
    """Fill room.augmented with the scores of known labels, -inf for the others."""
    for j in range(data.n_labels):
        room.augmented[j] = theta.unary[0, j] if data.labels[i, j] >= 0 else -np.inf


@jitable
def write_set(data, i, ys, rank, outputs, at):
    """Copy label set ``rank`` of ys into an output, with -1 where a label is not known."""
    for j in range(data.n_labels):
        outputs[at + j] = ys[rank, j] if data.labels[i, j] >= 0 else -1


@jitable
def write_with_price(data, i, score_scale, price, k, count, ys, scores, outputs, at):
    """Write the k best label sets, where all but the truth have a price added; return how many.

    ``ys`` and ``scores`` hold the ``count`` best label sets by score alone, at most k + 1.
    """
    m = data.n_labels
    place = count
    for rank in range(count):
        is_truth = True
        for j in range(m):
            is_truth = is_truth and (data.labels[i, j] < 0 or ys[rank, j] == data.labels[i, j])
        if is_truth:
            place = rank
    # The truth, at ``place``, is the only one without the price. It moves down to ``after``, right
    # before the first label set that is worse even with the price added.
    after = place
    while after + 1 < count and score_scale * (scores[place] - scores[after + 1]) <= price:
        after += 1
    n_written = min(count, k)
    for rank in range(n_written):
        source = rank
        if place <= rank < after:
            source = rank + 1
        elif rank == after:
            source = place
        write_set(data, i, ys, source, outputs, at + rank * m)
    return n_written


@jitable
def hide_unknown(data, i, outputs, at):
    """Write -1 into the cells of labels that are not known."""
    for j in range(data.n_labels):
        if data.labels[i, j] < 0:
            outputs[at + j] = -1

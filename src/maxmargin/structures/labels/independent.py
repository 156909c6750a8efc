"""Label sets without edges: the best output and the k best, read off sorted lists of labels."""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    implements,
    k_best,
    k_best_room,
    maximize,
    workspace,
)
from maxmargin.costs.tables import F1Cost, SwitchCost, WholeCost
from maxmargin.inference.labels.independent import (
    best_counts,
    best_k_labels,
    write_counts,
)
from maxmargin.structures.labels.costs import label_gains, scales_with_ties
from maxmargin.structures.labels.data import IndependentLabels, label_potentials
from maxmargin.structures.labels.oracles import (
    augment,
    hide_unknown,
    known_scores,
    write_set,
    write_with_price,
)


class IndependentRoom(NamedTuple):
    """Room for the best outputs of one example."""

    augmented: Any  # (n_labels,)
    joint: Any  # (0,)
    order: Any  # (n_labels,) int32
    spare: Any  # (n_labels,) int32
    sums: Any  # (2, n_labels + 1)


@implements(workspace, IndependentLabels)
def _workspace(data):
    """Return theta and room for sorted lists of labels."""
    m = data.n_labels
    order, spare = np.zeros((2, m), dtype=np.int32)
    room = IndependentRoom(np.zeros(m), np.zeros(0), order, spare, np.zeros((2, m + 1)))
    return label_potentials(data), room


# -- the best output -----------------------------------------------------------------------------


@jitable
def _weighted_gain(score, price, score_scale, cost_scale):
    """Return what a label gains when on; if a scale is 0, its criterion breaks ties."""
    gain = score_scale * score + cost_scale * price
    if gain == 0.0 and score_scale * cost_scale == 0.0:
        return score + price
    return gain


@implements(maximize, IndependentLabels, SwitchCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Switch on every label that gains something."""
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        if truth < 0:
            outputs[at + j] = -1
        else:
            added, price = label_gains(cost, i, j, truth)
            score = theta.unary[0, j] + added
            gain = _weighted_gain(score, price, score_scale, cost_scale)
            outputs[at + j] = 1 if gain > 0.0 else 0


@jitable
def write_best_other(data, i, theta, outputs, at):
    """Write the best output other than the truth; return whether there is one.

    If the best output is the truth, the label of smallest |score| is flipped.
    """
    is_truth = True
    weakest = -1
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        if truth < 0:
            outputs[at + j] = -1
            continue
        score = theta.unary[0, j]
        outputs[at + j] = 1 if score > 0.0 else 0
        is_truth = is_truth and outputs[at + j] == truth
        if weakest < 0 or abs(score) < abs(theta.unary[0, weakest]):
            weakest = j
    if is_truth and weakest >= 0:
        outputs[at + weakest] = 1 - outputs[at + weakest]
    return weakest >= 0


@implements(maximize, IndependentLabels, WholeCost)
def _maximize_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Take the best output other than the truth, unless its value is below 0, the truth's."""
    if not write_best_other(data, i, theta, outputs, at):
        return
    h = 0.0
    for j in range(data.n_labels):
        label = outputs[at + j]
        if label != data.labels[i, j]:
            h += theta.unary[0, j] if label == 1 else -theta.unary[0, j]
    if score_scale * h + cost_scale * cost.price[i] < 0.0:
        for j in range(data.n_labels):
            outputs[at + j] = data.labels[i, j]


@implements(maximize, IndependentLabels, F1Cost)
def _maximize_f1(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Try all pairs (a, b): the a best true labels and the b best false labels are on.

    The cost depends on a and b alone, so for each pair the labels of highest score are best.
    """
    n_true, n_false = best_counts(theta.unary[0], data.labels[i], room.order, room.spare, room.sums)
    best = best_other = -np.inf
    best_a = best_b = 0
    for a in range(n_true + 1):
        for b in range(n_false + 1):
            wrong = n_true - a + b
            price = cost.price[i] * wrong / (n_true + a + b) if wrong > 0 else 0.0
            score = room.sums[0, a] + room.sums[1, b]
            value = score_scale * score + cost_scale * price
            # If a scale is 0, the criterion that it removes breaks ties.
            other = score + price if score_scale * cost_scale == 0.0 else 0.0
            if value > best or (value == best and other > best_other):
                best, best_other = value, other
                best_a, best_b = a, b
    write_true_false(data, i, room.order, n_true, best_a, best_b, outputs, at)


@jitable
def write_true_false(data, i, order, n_true, a, b, outputs, at):
    """Write the output with the a best true labels and the b best false labels on."""
    write_counts(data.n_labels, order, n_true, a, b, outputs[at:])
    hide_unknown(data, i, outputs, at)


# -- the k best ----------------------------------------------------------------------------------


class BestSets(NamedTuple):
    """Room for the k best label sets."""

    price: Any  # (n_labels,)
    loss: Any  # (2 k,)
    last: Any  # (2 k,) int32
    base: Any  # (2 k,) int32
    queue: Any  # (k,) int32
    ys: Any  # (k, n_labels) int32
    scores: Any  # (k,)


@implements(k_best_room, IndependentLabels)
def _k_best_room(data, cost, k):
    """Return room for k label sets; with a `WholeCost` for one more, since one may be the truth."""
    k += isinstance(cost, WholeCost)
    m = data.n_labels
    last, base = np.zeros((2, 2 * k), dtype=np.int32)
    return BestSets(
        np.zeros(m),
        np.zeros(2 * k),
        last,
        base,
        np.zeros(k, dtype=np.int32),
        np.zeros((k, m), dtype=np.int32),
        np.zeros(k),
    )


@jitable
def _rank(room, k, own):
    """Find the k best label sets under room.augmented; return how many there are."""
    return best_k_labels(
        room.augmented,
        k,
        room.order,
        room.spare,
        own.price,
        own.loss,
        own.last,
        own.base,
        own.queue,
        own.ys,
        own.scores,
    )


@implements(k_best, IndependentLabels, SwitchCost)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Rank the label sets with the cost added to the scores."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    augment(data, cost, i, theta, room, score_scale, cost_scale)
    count = _rank(room, k, own)
    for rank in range(count):
        write_set(data, i, own.ys, rank, outputs, at + rank * data.n_labels)
    return count


@implements(k_best, IndependentLabels, WholeCost)
def _k_best_whole(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Rank k + 1 label sets by score, then put the truth where its price 0 puts it."""
    known_scores(data, i, theta, room)
    count = _rank(room, k + 1, own)
    price = cost_scale * cost.price[i]
    return write_with_price(data, i, score_scale, price, k, count, own.ys, own.scores, outputs, at)

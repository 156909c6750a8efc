"""What label sets have in common, however their best output is found.

Outputs have one cell per label here; those of the relaxation are in relaxed.py.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    add_parts,
    add_row,
    add_scores,
    are_outputs,
    cost_step,
    difference_potentials,
    generic,
    implements,
    margin_error,
    n_weights,
    output_cost,
    output_size,
    output_sizes,
    parts,
    potentials,
    row_product,
    score_lengths,
    shift,
    switches,
    true_parts,
    truths,
)
from maxmargin.costs.levels import steps_of
from maxmargin.costs.tables import F1Cost, SwitchCost, WholeCost
from maxmargin.features.rows import row_lengths
from maxmargin.structures.labels.data import (
    IndependentLabels,
    ListedLabels,
    PairwiseLabels,
    RelaxedLabels,
    TreeLabels,
)

INTEGRAL = (IndependentLabels, TreeLabels, ListedLabels, PairwiseLabels)
ALL = (*INTEGRAL, RelaxedLabels)


def implements_each(
    function: Callable, kinds: tuple[type, ...], *costs: type
) -> Callable[[Callable], Callable]:
    """Register the decorated function for several types, with each of these costs if any."""

    def register(implementation: Callable) -> Callable:
        for kind in kinds:
            for cost in costs or (None,):
                pair = (kind,) if cost is None else (kind, cost)
                implements(function, *pair)(implementation)
        return implementation

    return register


# -- costs ---------------------------------------------------------------------------------------


@jitable
def label_gains(cost, i, j, truth):
    """Return what label j of example i adds to `shift` and to a `SwitchCost` when it is on.

    ``truth`` is 0 or 1. If it is 1, the signs are reversed: the label on is right, off is wrong.
    """
    sign = -cost.scale[i] if truth == 1 else cost.scale[i]
    added = sign * cost.shift[j, truth] if cost.shift.shape[0] > 0 else 0.0
    return added, sign * cost.price[j, truth]


@jitable
def _sum_over_wrong(data, table, i, outputs, at):
    """Return the sum of table[j, truth_j] over the labels j that are wrong."""
    total = 0.0
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        if outputs[at + j] != truth:
            total += table[j, truth]
    return total


@implements_each(output_cost, INTEGRAL, SwitchCost)
def _output_cost(data, cost, i, outputs, at):
    """Return the cost of the wrong labels, and that of the truth (`base`)."""
    return cost.base[i] + cost.scale[i] * _sum_over_wrong(data, cost.price, i, outputs, at)


@implements_each(shift, INTEGRAL, SwitchCost)
def _shift(data, cost, i, outputs, at):
    """Return the shifts of the wrong labels; 0 for a cost without shifts."""
    if cost.shift.shape[0] == 0:
        return 0.0
    return cost.scale[i] * _sum_over_wrong(data, cost.shift, i, outputs, at)


@implements_each(output_cost, INTEGRAL, WholeCost)
def _output_cost_whole(data, cost, i, outputs, at):
    """Return the price of the example if any label is wrong."""
    for j in range(data.n_labels):
        if outputs[at + j] != data.labels[i, j]:
            return cost.price[i]
    return 0.0


@implements_each(cost_step, INTEGRAL, SwitchCost)
def _cost_step(data, cost):
    """Return the step of each example; None where the prices have no common step."""
    if len(cost.shift):
        return None  # searches count steps from a truth of cost 0, but here its cost is `base`
    try:
        return cost.scale * steps_of(cost.price)[1]
    except ValueError:
        return None


@implements_each(cost_step, INTEGRAL, WholeCost)
def _cost_step_whole(data, cost):
    """Return the price of each example: costs are 0 or this."""
    return cost.price


@jitable
def count_labels(data, i, outputs, at):
    """Return the number of wrong labels, and |y| + |y_i|, the labels on in output and truth."""
    wrong = on = 0
    for j in range(data.n_labels):
        truth, label = data.labels[i, j], outputs[at + j]
        if label != truth:
            wrong += 1
            on += 1
        elif label == 1:
            on += 2
    return wrong, on


@implements_each(output_cost, INTEGRAL, F1Cost)
def _output_cost_f1(data, cost, i, outputs, at):
    """Return the wrong labels over |y| + |y_i|, times the price of the example."""
    wrong, on = count_labels(data, i, outputs, at)
    return cost.price[i] * wrong / on if wrong > 0 else 0.0


@jitable
def weighted_gain(score, price, score_scale, cost_scale):
    """Return what a label gains when on; if a scale is 0, its criterion breaks ties."""
    gain = score_scale * score + cost_scale * price
    if gain == 0.0 and score_scale * cost_scale == 0.0:
        return score + price
    return gain


@generic
def cost_range(cost, data, i):
    """Return three numbers: least step below the highest cost, range of costs, range of `shift`.

    The step is how far the next lower cost is below the highest one, or less; it is inf where all
    outputs cost the same. A range is the largest difference of two values.
    """


@implements(cost_range, SwitchCost)
def _range_of_sums(cost, data, i):
    """Add up all prices and all shifts of known labels; the least step is the smallest price."""
    total = shifts = 0.0
    least = np.inf
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        if truth >= 0:
            added, price = label_gains(cost, i, j, truth)
            shifts += abs(added)
            total += abs(price)
            if price != 0.0:
                least = min(least, abs(price))
    return least, total, shifts


@implements(cost_range, WholeCost)
def _range_of_whole(cost, data, i):
    """All wrong outputs cost the same, and the truth costs nothing."""
    return cost.price[i], cost.price[i], 0.0


@implements(cost_range, F1Cost)
def _range_of_f1(cost, data, i):
    """Costs are fractions with denominators up to 2 m: two of them differ by 1/(4 m^2) or more."""
    return cost.price[i] / (4.0 * data.n_labels * data.n_labels), cost.price[i], 0.0


@jitable
def scales_with_ties(data, cost, i, theta, score_scale, cost_scale):
    """Return two positive scales; a scale that was 0 becomes so small that it only breaks ties.

    If score_scale is 0, all scores together shall weigh less than the smallest step below the
    highest cost. If cost_scale is 0, costs shall weigh less than rounding may change the scores.
    """
    if (score_scale > 0.0) == (cost_scale > 0.0):
        return score_scale, cost_scale
    least, costs, scores = cost_range(cost, data, i)
    for j in range(data.n_labels):
        scores += abs(theta.unary[0, j])
    for e in range(theta.pair.shape[0]):
        scores += abs(theta.pair[e])
    if scores == 0.0 or costs == 0.0:
        return max(score_scale, cost_scale), max(score_scale, cost_scale)
    if score_scale == 0.0:
        return cost_scale * (least / (4.0 * scores)), cost_scale
    return score_scale, score_scale * (1e-14 * scores / costs)


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
def write_set(data, i, ys, rank, outputs, at):
    """Copy label set ``rank`` of ys into an output, with -1 where a label is not known."""
    for j in range(data.n_labels):
        outputs[at + j] = ys[rank, j] if data.labels[i, j] >= 0 else -1


@jitable
def known_scores(data, i, theta, room):
    """Fill room.augmented with the scores of known labels, -inf for the others."""
    for j in range(data.n_labels):
        room.augmented[j] = theta.unary[0, j] if data.labels[i, j] >= 0 else -np.inf


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


# -- the structure -------------------------------------------------------------------------------


@implements_each(n_weights, ALL)
def _n_weights(data):
    """Return the length of w: the weights of labels, their biases, and the weights of edges."""
    return (data.n_columns + data.has_bias) * data.n_labels + len(data.graph.edges)


@implements_each(output_sizes, INTEGRAL)
def _output_sizes(data):
    """Return the number of labels for every example."""
    return np.full(len(data.labels), data.n_labels, dtype=np.int64)


@implements_each(truths, INTEGRAL)
def _truths(data):
    """Return the true label sets: 1, 0, or -1 where a label is not known."""
    return data.labels.reshape(-1)


@implements_each(true_parts, ALL)
def _true_parts(data):
    """Return the true states of all labels, for costs that price switches."""
    return switches(data.labels)


@implements_each(score_lengths, ALL)
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


@implements_each(are_outputs, INTEGRAL)
def are_sets(data: Any, examples: np.ndarray, cells: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Tell which cells are label sets, as `are_outputs` says."""
    sets = cells.reshape(len(examples), data.n_labels)
    known = np.asarray(data.labels)[examples] >= 0
    # The cell of a label that is not known may hold -1, 0 or 1: nobody reads it.
    good = np.where(known, (sets == 0) | (sets == 1), (sets >= -1) & (sets <= 1))
    return np.asarray(good.all(axis=1))


@implements_each(output_size, INTEGRAL)
def _output_size(data, i):
    """Return the number of labels."""
    return data.n_labels


@implements_each(potentials, ALL)
@jitable
def fill_potentials(data, i, w, scale, theta):
    """Fill the scores of labels and edges, as `potentials` says."""
    m = data.n_labels
    n_rows = data.n_columns + data.has_bias
    W = w[: n_rows * m].reshape((n_rows, m))
    for j in range(m):
        theta.unary[0, j] = scale * W[data.n_columns, j] if data.has_bias else 0.0
    add_scores(data.features, i, 1, scale, W, theta.unary)
    pair = w[n_rows * m :]
    for e in range(theta.pair.shape[0]):
        theta.pair[e] = scale * pair[e]


@implements_each(difference_potentials, INTEGRAL)
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


@implements_each(parts, INTEGRAL)
@jitable
def set_parts(data, i, outputs, at, scale, mu):
    """Add the labels and pairs that are on, as `parts` says."""
    graph = data.graph
    for a in range(data.n_labels):
        if outputs[at + a] == 1:
            mu.unary[0, a] += scale
            for k in range(graph.start[a], graph.start[a + 1]):
                if graph.neighbour[k] > a and outputs[at + graph.neighbour[k]] == 1:
                    mu.pair[graph.edge_of[k]] += scale


@implements_each(add_parts, ALL)
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


@implements_each(margin_error, INTEGRAL)
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


@implements_each(add_difference, INTEGRAL)
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


# -- levels --------------------------------------------------------------------------------------


def has_equal_prices(data: Any, cost: Any) -> bool:
    """Tell whether all known labels of an example cost the same, for every example."""
    known = data.labels >= 0
    price = np.where(data.labels == 1, cost.price[:, 1], cost.price[:, 0])
    high = np.where(known, price, -np.inf).max(axis=1)
    low = np.where(known, price, np.inf).min(axis=1)
    return bool((high <= low).all())


def counts_labels(cost: Any) -> bool:
    """Tell whether the cost of an output depends only on how many labels are on."""
    first = cost.price[0, 0]
    on, off = (cost.price[:, 0] == first).all(), (cost.price[:, 1] == -first).all()
    return bool(first != 0.0 and on and off)


def check_has_levels(data: Any, cost: Any) -> None:
    """Refuse costs whose levels are not equally spaced."""
    if not (counts_labels(cost) or has_equal_prices(data, cost)):
        raise ValueError(
            "A profile needs costs with equally spaced levels, but here some labels cost more than "
            "others. Costs that have it: hamming, zero_one; or search='hull'."
        )


@jitable
def write_reference(data, i, from_empty, reference):
    """Write the output of level 0, from which a level counts the labels that differ.

    It is the empty set if `counts_labels` holds for the cost, else the truth. Labels that are not
    known are -1.
    """
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        reference[j] = 0 if from_empty and truth >= 0 else truth


@jitable
def write_level_costs(data, cost, i, from_empty, n_levels, g):
    """Write to g the cost of the outputs of each level."""
    first, step = cost.base[i], 0.0
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        if truth >= 0:
            step = cost.scale[i] * cost.price[j, truth]
            if from_empty:
                step = label_gains(cost, i, j, truth)[1]
                first -= step if truth == 1 else 0.0
    for level in range(n_levels):
        g[level] = first + level * step


def most_counts(data: Any) -> int:
    """Return the largest number of pairs (true labels on, false labels on) of any example."""
    n_true = (data.labels == 1).sum(axis=1)
    n_false = (data.labels == 0).sum(axis=1)
    return int(((n_true + 1) * (n_false + 1)).max(initial=1))

"""What label sets have in common, however their best output is found.

Outputs are one cell a label here; those of the relaxation are in labels_relaxed.py.
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
    """Return what label j of example i adds to `shift` and to the cost when it is switched on.

    For a `SwitchCost`. ``truth`` is 0 or 1.
    """
    sign = -cost.scale[i] if truth == 1 else cost.scale[i]
    added = sign * cost.shift[j, truth] if cost.shift.shape[0] > 0 else 0.0
    return added, sign * cost.price[j, truth]


@jitable
def _sum_over_wrong(data, table, i, outputs, at):
    total = 0.0
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        if outputs[at + j] != truth:
            total += table[j, truth]
    return total


@implements_each(output_cost, INTEGRAL, SwitchCost)
def _output_cost(data, cost, i, outputs, at):
    return cost.base[i] + cost.scale[i] * _sum_over_wrong(data, cost.price, i, outputs, at)


@implements_each(shift, INTEGRAL, SwitchCost)
def _shift(data, cost, i, outputs, at):
    if cost.shift.shape[0] == 0:
        return 0.0
    return cost.scale[i] * _sum_over_wrong(data, cost.shift, i, outputs, at)


@implements_each(output_cost, INTEGRAL, WholeCost)
def _output_cost_whole(data, cost, i, outputs, at):
    for j in range(data.n_labels):
        if outputs[at + j] != data.labels[i, j]:
            return cost.price[i]
    return 0.0


@implements_each(cost_step, INTEGRAL, SwitchCost)
def _cost_step(data, cost):
    if len(cost.shift):
        return None  # searches count in steps from a truth that costs nothing
    try:
        return cost.scale * steps_of(cost.price)[1]
    except ValueError:
        return None


@implements_each(cost_step, INTEGRAL, WholeCost)
def _cost_step_whole(data, cost):
    return cost.price


@jitable
def count_labels(data, i, outputs, at):
    """Return how many labels are wrong, and how many are on in output and truth together."""
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
    wrong, on = count_labels(data, i, outputs, at)
    return cost.price[i] * wrong / on if wrong > 0 else 0.0


@jitable
def weighted_gain(score, price, score_scale, cost_scale):
    """Return what a label alone gains when on; at a scale of 0 a tie goes by that criterion."""
    gain = score_scale * score + cost_scale * price
    if gain == 0.0 and score_scale * cost_scale == 0.0:
        return score + price
    return gain


@generic
def cost_range(cost, data, i):
    """Return how far below the highest cost the next outputs are, and two ranges.

    These are the highest differences of two costs and of two values of `shift`. The first is inf
    where all outputs cost the same.
    """


@implements(cost_range, SwitchCost)
def _range_of_sums(cost, data, i):
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
    return cost.price[i], cost.price[i], 0.0


@implements(cost_range, F1Cost)
def _range_of_f1(cost, data, i):
    # Fractions whose denominators are at most 2 m.
    return cost.price[i] / (4.0 * data.n_labels * data.n_labels), cost.price[i], 0.0


@jitable
def scales_with_ties(data, cost, i, theta, score_scale, cost_scale):
    """Return scales that are both positive, so that a criterion that does not count breaks ties.

    At a score scale of 0 all scores together weigh less than the smallest step below the highest
    cost; at a cost scale of 0 costs weigh less than what rounding may do to the scores.
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
    """Fill room.augmented with what each label gains when on, and room.joint for the edges.

    Labels that are not known stay off: -inf.
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
    """Fill room.augmented with the scores of labels and what they add to `shift`; return a sum.

    The sum is that of the true labels: what an output has above it is h, but for edges. Labels that
    are not known are -inf.
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
    """Copy a label set that was found into an output."""
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

    ys and scores are the count best by score alone, up to k + 1 of them.
    """
    m = data.n_labels
    place = count
    for rank in range(count):
        is_truth = True
        for j in range(m):
            is_truth = is_truth and (data.labels[i, j] < 0 or ys[rank, j] == data.labels[i, j])
        if is_truth:
            place = rank
    # Those before the truth stay so; it comes right before the first that is worse than it.
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
    return (data.n_columns + data.has_bias) * data.n_labels + len(data.graph.edges)


@implements_each(output_sizes, INTEGRAL)
def _output_sizes(data):
    return np.full(len(data.labels), data.n_labels, dtype=np.int64)


@implements_each(truths, INTEGRAL)
def _truths(data):
    return data.labels.reshape(-1)


@implements_each(true_parts, ALL)
def _true_parts(data):
    return switches(data.labels)


@implements_each(score_lengths, ALL)
def _score_lengths(data):
    return label_lengths(data, *row_lengths(data.features))


def label_lengths(data: Any, lengths: np.ndarray, terms: np.ndarray) -> tuple[Any, Any]:
    """Return what `score_lengths` does, given the lengths of rows and how many numbers they have.

    Every label that is on adds its row and a bias, every pair of them a weight.
    """
    n_edges = len(data.graph.edges)
    labels = np.sqrt(data.n_labels) * (lengths + data.has_bias)
    return labels + np.sqrt(n_edges), terms + (1.0 + data.n_labels + n_edges)


@implements_each(are_outputs, INTEGRAL)
def are_sets(data: Any, examples: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Tell which cells are label sets, as `are_outputs` says."""
    sets = cells.reshape(len(examples), data.n_labels)
    known = np.asarray(data.labels)[examples] >= 0
    # A label that is not known is no part of an output, whatever stands in its cell.
    good = np.where(known, (sets == 0) | (sets == 1), (sets >= -1) & (sets <= 1))
    return np.asarray(good.all(axis=1))


@implements_each(output_size, INTEGRAL)
def _output_size(data, i):
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
    # Most labels are off: only the edges at those that are on are looked at.
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
    """Tell whether the cost of an output goes by how many labels are on, whichever they are."""
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

    It is the empty set where `counts_labels` holds, and the truth elsewhere; -1 where a label is
    not known.
    """
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        reference[j] = 0 if from_empty and truth >= 0 else truth


@jitable
def write_level_costs(data, cost, i, from_empty, n_levels, g):
    """Write what the outputs of each level cost."""
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
    """Return the most pairs (true labels on, false labels on) that any example has."""
    n_true = (data.labels == 1).sum(axis=1)
    n_false = (data.labels == 0).sum(axis=1)
    return int(((n_true + 1) * (n_false + 1)).max(initial=1))

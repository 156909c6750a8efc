"""Oracles of label sets by listing all of them: any edges, any cost, at most 16 labels.

The scores of all sets are listed at the first call of an oracle after `potentials`, for the cost of
that call, and kept for the next: a search asks several times.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable, kernel
from maxmargin.core.contract import (
    constrained,
    generic,
    implements,
    k_best,
    k_best_room,
    maximize,
    potentials,
    profile,
    profile_levels,
    profile_output,
    profile_room,
    workspace,
)
from maxmargin.costs.tables import F1Cost, LabelCost, MicroF1Cost, WholeCost
from maxmargin.inference.labels.listed import (
    all_costs,
    all_levels,
    all_scores,
    best_k_listed,
    best_listed,
    best_listed_within,
    fill_pairs,
    labels_to_mask,
    listed_profile,
    mask_to_labels,
)
from maxmargin.structures.labels.data import ListedLabels
from maxmargin.structures.labels.shared import (
    fill_potentials,
    has_equal_prices,
    hide_unknown,
    implements_each,
    label_gains,
    level_price,
    most_counts,
    scales_with_ties,
)

OWN = (ListedLabels,)
EVERY = (LabelCost, WholeCost, F1Cost, MicroF1Cost)


class ListedPotentials(NamedTuple):
    """Scores of one example: of its labels and pairs, and of all label sets once they are asked."""

    unary: Any  # (1, n_labels)
    pair: Any  # (n_edges,)
    augmented: Any  # (n_labels,)
    off: Any  # (n_labels,) int32: zeros
    matrix: Any  # (n_labels, n_labels)
    scores: Any  # (2^n_labels,): with `shift`
    cross: Any  # (2^(n_labels - 1),)
    costs: Any  # (2^n_labels,)
    levels: Any  # (2, 2^n_labels) int8
    prices: Any  # (1 + n_labels,): what `tell_prices` says of a cost
    listed_for: Any  # (1 + n_labels,): that of the cost that scores and costs are listed for


@implements(workspace, ListedLabels)
def _workspace(data):
    m = data.n_labels
    return ListedPotentials(
        np.zeros((1, m)),
        np.zeros(len(data.graph.edges)),
        np.zeros(m),
        np.zeros(m, dtype=np.int32),
        np.zeros((m, m)),
        np.zeros(2**m),
        np.zeros(2 ** (m - 1)),
        np.zeros(2**m),
        np.zeros((2, 2**m), dtype=np.int8),
        np.zeros(1 + m),
        np.zeros(1 + m),
    )


@implements(potentials, ListedLabels)
def _potentials(data, i, w, scale, theta):
    fill_potentials(data, i, w, scale, theta)
    theta.listed_for[0] = 0.0  # for no cost


@generic
def tell_prices(cost, data, i, prices):
    """Fill prices with all that the list of example i depends on: two costs are told apart by it.

    By value: an address may be that of another cost by now. prices[0] is a number above 0 for the
    type of cost; the other cells are one for each label, 0 where the cost has no use for them.
    """


@implements(tell_prices, LabelCost)
def _tell_prices(cost, data, i, prices):
    prices[0] = 1.0
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        prices[1 + j] = cost.scale[i] * cost.price[j, truth] if truth >= 0 else 0.0


@implements(tell_prices, WholeCost)
def _tell_prices_whole(cost, data, i, prices):
    prices[:] = 0.0
    prices[0], prices[1] = 2.0, cost.price[i]


@implements(tell_prices, F1Cost)
def _tell_prices_f1(cost, data, i, prices):
    prices[:] = 0.0
    prices[0], prices[1] = 3.0, cost.price[i]


@implements(tell_prices, MicroF1Cost)
def _tell_prices_micro_f1(cost, data, i, prices):
    prices[:] = 0.0
    prices[0], prices[1] = 4.0, cost.scale[i]


@generic
def list_costs(cost, data, i, theta):
    """Fill theta.costs for all label sets, and add to theta.augmented what is `shift`.

    theta.prices is what `tell_prices` says of the cost.
    """


@implements(list_costs, LabelCost)
def _list_costs(cost, data, i, theta):
    all_costs(theta.prices[1:], data.labels[i], theta.costs)


@implements(list_costs, WholeCost)
def _list_costs_whole(cost, data, i, theta):
    theta.costs[:] = cost.price[i]
    theta.costs[labels_to_mask(data.labels[i], data.n_labels)] = 0.0


@jitable
def _count_all(data, i, theta):
    """Fill theta.levels with the wrong labels and the labels of all label sets; count the truth."""
    all_levels(data.labels[i], data.n_labels, theta.levels[0])
    all_levels(theta.off, data.n_labels, theta.levels[1])
    n_true = 0
    for j in range(data.n_labels):
        n_true += 1 if data.labels[i, j] == 1 else 0
    return n_true


@implements(list_costs, F1Cost)
def _list_costs_f1(cost, data, i, theta):
    n_true = _count_all(data, i, theta)
    for mask in range(theta.costs.shape[0]):
        wrong = theta.levels[0, mask]
        on = n_true + theta.levels[1, mask]
        theta.costs[mask] = cost.price[i] * wrong / on if wrong > 0 else 0.0


@implements(list_costs, MicroF1Cost)
def _list_costs_micro_f1(cost, data, i, theta):
    n_true = _count_all(data, i, theta)
    for mask in range(theta.costs.shape[0]):
        theta.costs[mask] = -float(n_true + theta.levels[1, mask])
    for j in range(data.n_labels):
        if data.labels[i, j] >= 0:
            theta.augmented[j] += label_gains(cost, i, j, data.labels[i, j])[0]


@jitable
def list_sets(data, cost, i, theta):
    """List scores and costs of all label sets; return the mask of the truth."""
    m = data.n_labels
    tell_prices(cost, data, i, theta.prices)
    is_listed = True
    for k in range(m + 1):
        is_listed = is_listed and theta.listed_for[k] == theta.prices[k]
    if not is_listed:
        for j in range(m):
            theta.augmented[j] = theta.unary[0, j] if data.labels[i, j] >= 0 else -np.inf
        list_costs(cost, data, i, theta)
        fill_pairs(data.graph.edges, theta.pair, theta.matrix)
        all_scores(theta.augmented, theta.matrix, theta.scores, theta.cross)
        theta.listed_for[:] = theta.prices
    return labels_to_mask(data.labels[i], m)


@jitable
def _write_mask(data, i, mask, outputs, at):
    mask_to_labels(mask, data.n_labels, outputs[at:])
    hide_unknown(data, i, outputs, at)


@implements_each(maximize, OWN, *EVERY)
def _maximize(data, cost, i, theta, score_scale, cost_scale, outputs, at):
    list_sets(data, cost, i, theta)
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    # A label that is not known scores -inf, which times 0 is no number.
    score_scale = max(score_scale, 1e-300)
    none = np.zeros(0, dtype=np.int64)
    mask = best_listed(
        theta.scores,
        theta.costs,
        theta.scores.shape[0],
        score_scale,
        cost_scale,
        none,
        0,
        theta.cross,
    )
    _write_mask(data, i, mask, outputs, at)


# -- the k best, and the best within an angle ----------------------------------------------------


class BestMasks(NamedTuple):
    """Room for the k best."""

    masks: Any  # (k,) int64
    values: Any  # (k,)


@implements_each(k_best_room, OWN, *EVERY)
def _k_best_room(data, cost, k):
    return BestMasks(np.zeros(k, dtype=np.int64), np.zeros(k))


@implements_each(k_best, OWN, *EVERY)
def _k_best(data, cost, i, theta, score_scale, cost_scale, k, room, outputs, at):
    list_sets(data, cost, i, theta)
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    count = best_k_listed(
        theta.scores,
        theta.costs,
        theta.scores.shape[0],
        max(score_scale, 1e-300),
        cost_scale,
        k,
        room.masks,
        room.values,
    )
    for rank in range(count):
        _write_mask(data, i, room.masks[rank], outputs, at + rank * data.n_labels)
    return count


@implements_each(constrained, OWN, *EVERY)
def _constrained(data, cost, i, theta, tilt, low, high, is_closed, banned, n_banned, outputs, at):
    truth = list_sets(data, cost, i, theta)
    m = data.n_labels
    # The list adds up scores in another order than `margin_error`, so a slope may differ in its
    # last bit from the bound it made: labels found before are left out by name.
    masks = np.zeros(n_banned, dtype=np.int64)
    for b in range(n_banned):
        masks[b] = labels_to_mask(banned[b * m : (b + 1) * m], m)
    mask = best_listed_within(
        theta.scores,
        theta.costs,
        theta.scores.shape[0],
        theta.scores[truth],
        1.0 if tilt < np.inf else 1e-300,  # not 0: a label that is not known scores -inf
        tilt if tilt < np.inf else 1.0,
        low,
        high,
        is_closed,
        masks,
        n_banned,
        np.zeros(n_banned),
    )
    if mask < 0:
        return False
    _write_mask(data, i, mask, outputs, at)
    return True


# -- the profile ---------------------------------------------------------------------------------


class ListedLevels(NamedTuple):
    """Room for a profile. Without ``is_grouped`` every label set is a level."""

    levels: Any  # (2^n_labels,) int16
    best: Any  # (n_levels,)
    masks: Any  # (n_levels,) int64
    is_grouped: int


@implements(profile_levels, ListedLabels, LabelCost)
def _profile_levels(data, cost):
    return data.n_labels + 1 if has_equal_prices(data, cost) else 2**data.n_labels


@implements(profile_levels, ListedLabels, WholeCost)
def _profile_levels_whole(data, cost):
    return 2


@implements(profile_levels, ListedLabels, F1Cost)
def _profile_levels_f1(data, cost):
    return most_counts(data)


@implements(profile_levels, ListedLabels, MicroF1Cost)
def _profile_levels_micro_f1(data, cost):
    return data.n_labels + 1


@implements_each(profile_room, OWN, *EVERY)
def _profile_room(data, cost):
    n_levels = profile_levels(data, cost)
    return ListedLevels(
        np.zeros(2**data.n_labels, dtype=np.int16),
        np.zeros(n_levels),
        np.zeros(n_levels, dtype=np.int64),
        int(not isinstance(cost, LabelCost) or has_equal_prices(data, cost)),
    )


@generic
def group_sets(cost, data, i, theta, levels, g):
    """Fill the level of every label set, and the cost of every level; return how many there are."""


@implements(group_sets, LabelCost)
def _group_sets(cost, data, i, theta, levels, g):
    all_levels(data.labels[i], data.n_labels, levels)
    price = level_price(data, cost, i)
    for level in range(data.n_labels + 1):
        g[level] = level * price
    return data.n_labels + 1


@implements(group_sets, WholeCost)
def _group_sets_whole(cost, data, i, theta, levels, g):
    levels[:] = 1
    levels[labels_to_mask(data.labels[i], data.n_labels)] = 0
    g[0], g[1] = 0.0, cost.price[i]
    return 2


@kernel
def raise_levels(levels, size, step):
    """levels[size:2 size] = levels[:size] + step."""
    first = levels[:size]
    second = levels[size : 2 * size]
    for mask in range(size):
        second[mask] = first[mask] + step


@implements(group_sets, F1Cost)
def _group_sets_f1(cost, data, i, theta, levels, g):
    # Level a * (n_false + 1) + b: a true labels on, and b false ones.
    n_true = n_false = 0
    for j in range(data.n_labels):
        n_true += 1 if data.labels[i, j] == 1 else 0
        n_false += 1 if data.labels[i, j] == 0 else 0
    levels[0] = 0
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        raise_levels(levels, 1 << j, n_false + 1 if truth == 1 else (1 if truth == 0 else 0))
    for a in range(n_true + 1):
        for b in range(n_false + 1):
            wrong = n_true - a + b
            price = cost.price[i] * wrong / (n_true + a + b) if wrong > 0 else 0.0
            g[a * (n_false + 1) + b] = price
    return (n_true + 1) * (n_false + 1)


@implements(group_sets, MicroF1Cost)
def _group_sets_micro_f1(cost, data, i, theta, levels, g):
    # The cost only counts the labels that are on.
    all_levels(theta.off, data.n_labels, levels)
    n_true = 0
    for j in range(data.n_labels):
        n_true += 1 if data.labels[i, j] == 1 else 0
    for level in range(data.n_labels + 1):
        g[level] = -float(n_true + level)
    return data.n_labels + 1


@implements_each(profile, OWN, *EVERY)
def _profile(data, cost, i, theta, room, h, g):
    truth = list_sets(data, cost, i, theta)
    size = theta.scores.shape[0]
    if not room.is_grouped:
        for mask in range(size):
            h[mask] = theta.scores[mask] - theta.scores[truth]
            g[mask] = theta.costs[mask]
        return size
    n_levels = group_sets(cost, data, i, theta, room.levels, g)
    listed_profile(theta.scores, room.levels, size, n_levels, room.best, room.masks)
    for level in range(n_levels):
        h[level] = room.best[level] - theta.scores[truth]
    return n_levels


@implements_each(profile_output, OWN, *EVERY)
def _profile_output(data, cost, i, theta, room, level, outputs, at):
    mask = room.masks[level] if room.is_grouped else level
    _write_mask(data, i, mask, outputs, at)

"""Oracles of label sets by listing all of them: any edges, any cost, at most 16 labels.

The first call of an oracle with an example, a cost and potentials lists the scores of all sets.
They are kept for the next calls, because a search asks several times.
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
    profile,
    profile_levels,
    profile_output,
    profile_room,
    workspace,
)
from maxmargin.costs.tables import F1Cost, SwitchCost, WholeCost
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
from maxmargin.structures.labels.data import ListedLabels, label_potentials
from maxmargin.structures.labels.shared import (
    counts_labels,
    has_equal_prices,
    hide_unknown,
    implements_each,
    label_gains,
    most_counts,
    scales_with_ties,
    write_level_costs,
)

OWN = (ListedLabels,)
EVERY = (SwitchCost, WholeCost, F1Cost)


class ListedRoom(NamedTuple):
    """Scores and costs of all label sets of one example, and what they were listed for."""

    augmented: Any  # (n_labels,)
    off: Any  # (n_labels,) int32: zeros
    matrix: Any  # (n_labels, n_labels)
    scores: Any  # (2^n_labels,): with `shift`
    cross: Any  # (2^(n_labels - 1),)
    costs: Any  # (2^n_labels,)
    levels: Any  # (2, 2^n_labels) int8
    key: Any  # all that the lists depend on: example, kind of cost, its numbers, potentials


@implements(workspace, ListedLabels)
def _workspace(data):
    """Return theta and room for lists of all label sets; the key is NaN: nothing is listed yet."""
    m, n_edges = data.n_labels, len(data.graph.edges)
    room = ListedRoom(
        np.zeros(m),
        np.zeros(m, dtype=np.int32),
        np.zeros((m, m)),
        np.zeros(2**m),
        np.zeros(2 ** (m - 1)),
        np.zeros(2**m),
        np.zeros((2, 2**m), dtype=np.int8),
        np.full(3 + 3 * m + n_edges, np.nan),
    )
    return label_potentials(data), room


@generic
def list_costs(cost, data, i, room):
    """Fill room.costs for all label sets, and add to room.augmented the `shift` of each label."""


@implements(list_costs, SwitchCost)
def _list_costs(cost, data, i, room):
    """List the sums of the prices of wrong labels."""
    prices = room.cross[: data.n_labels]  # `cross` is free until `all_scores`; 2^(m - 1) >= m
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        prices[j] = cost.scale[i] * cost.price[j, truth] if truth >= 0 else 0.0
    all_costs(prices, data.labels[i], room.costs)
    if cost.base[i] != 0.0:
        room.costs[:] += cost.base[i]
    for j in range(cost.shift.shape[0]):
        if data.labels[i, j] >= 0:
            room.augmented[j] += label_gains(cost, i, j, data.labels[i, j])[0]


@implements(list_costs, WholeCost)
def _list_costs_whole(cost, data, i, room):
    """Give all label sets the same price, and the truth 0."""
    room.costs[:] = cost.price[i]
    room.costs[labels_to_mask(data.labels[i], data.n_labels)] = 0.0


@jitable
def _count_all(data, i, room):
    """Count the wrong labels (room.levels[0]) and those on (room.levels[1]) of all label sets.

    Returns how many labels are on in the truth.
    """
    all_levels(data.labels[i], data.n_labels, room.levels[0])
    all_levels(room.off, data.n_labels, room.levels[1])
    n_true = 0
    for j in range(data.n_labels):
        n_true += 1 if data.labels[i, j] == 1 else 0
    return n_true


@implements(list_costs, F1Cost)
def _list_costs_f1(cost, data, i, room):
    """List the wrong labels over |y| + |y_i|, times the price of the example."""
    n_true = _count_all(data, i, room)
    for mask in range(room.costs.shape[0]):
        wrong = room.levels[0, mask]
        on = n_true + room.levels[1, mask]
        room.costs[mask] = cost.price[i] * wrong / on if wrong > 0 else 0.0


@jitable
def _put(key, place, value):
    """Write a number into key[place]; tell whether it was there already."""
    is_old = key[place] == value
    key[place] = value
    return is_old


@generic
def put_cost(cost, data, i, key):
    """Write what `list_costs` depends on to key[1 : 3 + 2 n_labels]; tell if nothing changed."""


@implements(put_cost, SwitchCost)
def _put_switches(cost, data, i, key):
    """Write 0, the cost of the truth, and what each label adds to `shift` and cost."""
    is_old = _put(key, 1, 0.0)
    is_old = _put(key, 2, cost.base[i]) and is_old
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        added, price = label_gains(cost, i, j, truth) if truth >= 0 else (0.0, 0.0)
        is_old = _put(key, 3 + 2 * j, added) and is_old
        is_old = _put(key, 4 + 2 * j, price) and is_old
    return is_old


@implements(put_cost, WholeCost)
def _put_whole(cost, data, i, key):
    """Write 1 and the price of the example."""
    is_old = _put(key, 1, 1.0)
    return _put(key, 2, cost.price[i]) and is_old


@implements(put_cost, F1Cost)
def _put_f1(cost, data, i, key):
    """Write 2 and the price of the example."""
    is_old = _put(key, 1, 2.0)
    return _put(key, 2, cost.price[i]) and is_old


@jitable
def _is_listed(data, cost, i, theta, room):
    """Tell whether the lists belong to this example, cost and potentials; update the key.

    If not, the caller must make the lists anew. The key compares values: these are few beside
    2^n_labels scores, and no caller has to report a change.
    """
    m = data.n_labels
    is_old = put_cost(cost, data, i, room.key)
    is_old = _put(room.key, 0, float(i)) and is_old
    first = 3 + 2 * m
    for j in range(m):
        is_old = _put(room.key, first + j, theta.unary[0, j]) and is_old
    for e in range(theta.pair.shape[0]):
        is_old = _put(room.key, first + m + e, theta.pair[e]) and is_old
    return is_old


@jitable
def list_sets(data, cost, i, theta, room):
    """List scores and costs of all label sets; return the mask of the truth."""
    m = data.n_labels
    if not _is_listed(data, cost, i, theta, room):
        for j in range(m):
            room.augmented[j] = theta.unary[0, j] if data.labels[i, j] >= 0 else -np.inf
        list_costs(cost, data, i, room)
        fill_pairs(data.graph.edges, theta.pair, room.matrix)
        all_scores(room.augmented, room.matrix, room.scores, room.cross)
    return labels_to_mask(data.labels[i], m)


@jitable
def _write_mask(data, i, mask, outputs, at):
    """Write the label set of a mask, with -1 where a label is not known."""
    mask_to_labels(mask, data.n_labels, outputs[at:])
    hide_unknown(data, i, outputs, at)


@implements_each(maximize, OWN, *EVERY)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Look for the best in the list."""
    list_sets(data, cost, i, theta, room)
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    # Not 0: a label that is not known scores -inf, and 0 * -inf is NaN.
    score_scale = max(score_scale, 1e-300)
    none = np.zeros(0, dtype=np.int64)
    mask = best_listed(
        room.scores,
        room.costs,
        room.scores.shape[0],
        score_scale,
        cost_scale,
        none,
        0,
        room.cross,
    )
    _write_mask(data, i, mask, outputs, at)


# -- the k best, and the best within an angle ----------------------------------------------------


class BestMasks(NamedTuple):
    """Room for the k best."""

    masks: Any  # (k,) int64
    values: Any  # (k,)


@implements_each(k_best_room, OWN, *EVERY)
def _k_best_room(data, cost, k):
    """Return room for k masks and their values."""
    return BestMasks(np.zeros(k, dtype=np.int64), np.zeros(k))


@implements_each(k_best, OWN, *EVERY)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Look for the k best in the list."""
    list_sets(data, cost, i, theta, room)
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    count = best_k_listed(
        room.scores,
        room.costs,
        room.scores.shape[0],
        max(score_scale, 1e-300),
        cost_scale,
        k,
        own.masks,
        own.values,
    )
    for rank in range(count):
        _write_mask(data, i, own.masks[rank], outputs, at + rank * data.n_labels)
    return count


@implements_each(constrained, OWN, *EVERY)
def _constrained(
    data, cost, i, theta, room, tilt, low, high, is_closed, banned, n_banned, outputs, at
):
    """Look for the best in the list among those whose slope lies within the bounds."""
    truth = list_sets(data, cost, i, theta, room)
    m = data.n_labels
    # `low` and `high` may be slopes that the caller computed with `margin_error`. The list adds up
    # scores in another order, so the same slope may differ in its last bit. Label sets found before
    # are therefore left out by their masks.
    masks = np.zeros(n_banned, dtype=np.int64)
    for b in range(n_banned):
        masks[b] = labels_to_mask(banned[b * m : (b + 1) * m], m)
    mask = best_listed_within(
        room.scores,
        room.costs,
        room.scores.shape[0],
        room.scores[truth],
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
    """Room for a profile."""

    levels: Any  # (2^n_labels,) int16
    best: Any  # (n_levels,)
    masks: Any  # (n_levels,) int64
    is_grouped: int  # 0: every label set is a level of its own
    from_empty: int  # 1: levels count labels that are on; 0: labels that are wrong


def _has_levels(data, cost):
    """Tell whether the costs of label sets are equally spaced."""
    return counts_labels(cost) or has_equal_prices(data, cost)


@implements(profile_levels, ListedLabels, SwitchCost)
def _profile_levels(data, cost):
    """Return one level per number of labels that differ, or one per label set without levels."""
    return data.n_labels + 1 if _has_levels(data, cost) else 2**data.n_labels


@implements(profile_levels, ListedLabels, WholeCost)
def _profile_levels_whole(data, cost):
    """Return 2: the truth, and all others."""
    return 2


@implements(profile_levels, ListedLabels, F1Cost)
def _profile_levels_f1(data, cost):
    """Return the largest number of pairs (true labels on, false labels on)."""
    return most_counts(data)


@implements_each(profile_room, OWN, *EVERY)
def _profile_room(data, cost):
    """Return room for the levels of all label sets."""
    n_levels = profile_levels(data, cost)
    is_sum = isinstance(cost, SwitchCost)
    return ListedLevels(
        np.zeros(2**data.n_labels, dtype=np.int16),
        np.zeros(n_levels),
        np.zeros(n_levels, dtype=np.int64),
        int(not is_sum or _has_levels(data, cost)),
        int(is_sum and counts_labels(cost)),
    )


@generic
def group_sets(cost, data, i, room, from_empty, levels, g):
    """Fill levels[mask] for all label sets and g[level] for all levels; return how many levels."""


@implements(group_sets, SwitchCost)
def _group_sets(cost, data, i, room, from_empty, levels, g):
    """A level counts the labels that are on (from_empty), or those that are wrong."""
    if from_empty:
        all_levels(room.off, data.n_labels, levels)
    else:
        all_levels(data.labels[i], data.n_labels, levels)
    write_level_costs(data, cost, i, from_empty, data.n_labels + 1, g)
    return data.n_labels + 1


@implements(group_sets, WholeCost)
def _group_sets_whole(cost, data, i, room, from_empty, levels, g):
    """Level 0 is the truth, level 1 all others."""
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
def _group_sets_f1(cost, data, i, room, from_empty, levels, g):
    """Level a * (n_false + 1) + b has a true labels on and b false ones."""
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


@implements_each(profile, OWN, *EVERY)
def _profile(data, cost, i, theta, room, own, h, g):
    """List the best h of every level, or h and g of all label sets where they have no levels."""
    truth = list_sets(data, cost, i, theta, room)
    size = room.scores.shape[0]
    if not own.is_grouped:
        for mask in range(size):
            h[mask] = room.scores[mask] - room.scores[truth]
            g[mask] = room.costs[mask]
        return size
    n_levels = group_sets(cost, data, i, room, own.from_empty, own.levels, g)
    listed_profile(room.scores, own.levels, size, n_levels, own.best, own.masks)
    for level in range(n_levels):
        h[level] = own.best[level] - room.scores[truth]
    return n_levels


@implements_each(profile_output, OWN, *EVERY)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    """Write the label set that the last profile found for a level."""
    mask = own.masks[level] if own.is_grouped else level
    _write_mask(data, i, mask, outputs, at)

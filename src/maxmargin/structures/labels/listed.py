"""Oracles of label sets by listing all of them: any edges, any cost, at most 16 labels.

The first call of an oracle with an example, a cost and potentials lists the scores of all sets.
They are kept for the next calls, because a search asks several times.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    CostOfSwitches,
    constrained,
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
from maxmargin.costs.tables import SwitchCost
from maxmargin.inference.labels.listed import (
    all_scores,
    best_k_listed,
    best_listed,
    best_listed_within,
    fill_pairs,
    labels_to_mask,
    listed_profile,
    mask_to_labels,
)
from maxmargin.structures.labels.costs import scales_with_ties
from maxmargin.structures.labels.data import ListedLabels, label_potentials
from maxmargin.structures.labels.levels import counts_labels, has_levels
from maxmargin.structures.labels.listed_costs import (
    count_groups,
    group_sets,
    list_costs,
    put,
    put_cost,
)
from maxmargin.structures.labels.oracles import hide_unknown


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
    none: Any  # (0,) int64: no label set is banned


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
        np.zeros(0, dtype=np.int64),
    )
    return label_potentials(data), room


@jitable
def _is_listed(data, cost, i, theta, room):
    """Tell whether the lists belong to this example, cost and potentials; update the key.

    If not, the caller must make the lists anew. The key compares values: these are few beside
    2^n_labels scores, and no caller has to report a change.
    """
    m = data.n_labels
    is_old = put_cost(cost, data, i, room.key)
    is_old = put(room.key, 0, float(i)) and is_old
    first = 3 + 2 * m
    for j in range(m):
        is_old = put(room.key, first + j, theta.unary[0, j]) and is_old
    for e in range(theta.pair.shape[0]):
        is_old = put(room.key, first + m + e, theta.pair[e]) and is_old
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


@implements(maximize, ListedLabels, CostOfSwitches)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Look for the best in the list."""
    list_sets(data, cost, i, theta, room)
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    # Not 0: a label that is not known scores -inf, and 0 * -inf is NaN.
    score_scale = max(score_scale, 1e-300)
    mask = best_listed(
        room.scores,
        room.costs,
        room.scores.shape[0],
        score_scale,
        cost_scale,
        room.none,
        0,
        room.cross,
    )
    _write_mask(data, i, mask, outputs, at)


# -- the k best, and the best within an angle ----------------------------------------------------


class BestMasks(NamedTuple):
    """Room for the k best."""

    masks: Any  # (k,) int64
    values: Any  # (k,)


@implements(k_best_room, ListedLabels)
def _k_best_room(data, cost, k):
    """Return room for k masks and their values."""
    return BestMasks(np.zeros(k, dtype=np.int64), np.zeros(k))


@implements(k_best, ListedLabels, CostOfSwitches)
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


@implements(constrained, ListedLabels, CostOfSwitches)
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


@implements(profile_levels, ListedLabels, CostOfSwitches)
def _profile_levels(data, cost):
    """Return the number of groups of label sets, or of label sets where these have no levels."""
    return count_groups(cost, data)


@implements(profile_room, ListedLabels, CostOfSwitches)
def _profile_room(data, cost):
    """Return room for the levels of all label sets."""
    n_levels = profile_levels(data, cost)
    is_sum = isinstance(cost, SwitchCost)
    return ListedLevels(
        np.zeros(2**data.n_labels, dtype=np.int16),
        np.zeros(n_levels),
        np.zeros(n_levels, dtype=np.int64),
        int(not is_sum or has_levels(data, cost)),
        int(is_sum and counts_labels(cost)),
    )


@implements(profile, ListedLabels, CostOfSwitches)
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


@implements(profile_output, ListedLabels, CostOfSwitches)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    """Write the label set that the last profile found for a level."""
    mask = own.masks[level] if own.is_grouped else level
    _write_mask(data, i, mask, outputs, at)

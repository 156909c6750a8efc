"""Oracles of label sets whose edges form a forest: messages from the leaves to the roots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
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
from maxmargin.costs.tables import LabelCost, MicroF1Cost, WholeCost
from maxmargin.inference.labels.tree import best_k_tree, best_tree, tree_profile, write_tree_level
from maxmargin.structures.labels.data import TreeLabels
from maxmargin.structures.labels.shared import (
    ADDITIVE,
    add_shifts,
    augment,
    check_equal_prices,
    hide_unknown,
    implements_each,
    known_scores,
    level_price,
    scales_with_ties,
    switch_off,
    write_set,
    write_with_price,
)

OWN = (TreeLabels,)


class BestOfTree(NamedTuple):
    """Room for the k best label sets."""

    best: Any  # (n_labels + 1, 2, k)
    part: Any  # (k,)
    message: Any  # (k,)
    head: Any  # (3, k) int32
    chosen: Any  # (n_labels, 2, 3, k) int32
    at: Any  # (n_labels + 1,) int32
    ys: Any  # (k, n_labels) int32
    scores: Any  # (k,)


class TreePotentials(NamedTuple):
    """Scores of the labels and edges of one example, and room for its best outputs."""

    unary: Any  # (1, n_labels)
    pair: Any  # (n_edges,)
    augmented: Any  # (n_labels,)
    joint: Any  # (n_edges,)
    up: Any  # (n_labels, 2)
    two: BestOfTree


def _best_of_tree(data, k):
    m = data.n_labels
    part, message, scores = np.zeros((3, k))
    return BestOfTree(
        np.zeros((m + 1, 2, k)),
        part,
        message,
        np.zeros((3, k), dtype=np.int32),
        np.zeros((m, 2, 3, k), dtype=np.int32),
        np.zeros(m + 1, dtype=np.int32),
        np.zeros((k, m), dtype=np.int32),
        scores,
    )


@implements(workspace, TreeLabels)
def _workspace(data):
    m = data.n_labels
    pair, joint = np.zeros((2, len(data.graph.edges)))
    return TreePotentials(
        np.zeros((1, m)), pair, np.zeros(m), joint, np.zeros((m, 2)), _best_of_tree(data, 2)
    )


@implements_each(maximize, OWN, *ADDITIVE)
def _maximize(data, cost, i, theta, score_scale, cost_scale, outputs, at):
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    augment(data, cost, i, theta, score_scale, cost_scale)
    best_tree(theta.augmented, theta.joint, data.tree, theta.up, outputs[at:])
    hide_unknown(data, i, outputs, at)


# -- the k best ----------------------------------------------------------------------------------


@implements_each(k_best_room, OWN, *ADDITIVE)
def _k_best_room(data, cost, k):
    return _best_of_tree(data, k)


@implements(k_best_room, TreeLabels, WholeCost)
def _k_best_room_whole(data, cost, k):
    return _best_of_tree(data, k + 1)


@jitable
def _rank(data, theta, pair, k, room):
    return best_k_tree(
        theta.augmented,
        pair,
        data.tree,
        k,
        room.best,
        room.part,
        room.message,
        room.head,
        room.chosen,
        room.at,
        room.ys,
        room.scores,
    )


@implements_each(k_best, OWN, *ADDITIVE)
def _k_best(data, cost, i, theta, score_scale, cost_scale, k, room, outputs, at):
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    augment(data, cost, i, theta, score_scale, cost_scale)
    count = _rank(data, theta, theta.joint, k, room)
    for rank in range(count):
        write_set(data, i, room.ys, rank, outputs, at + rank * data.n_labels)
    return count


@jitable
def _k_best_priced(data, cost, i, theta, score_scale, cost_scale, k, room, outputs, at):
    known_scores(data, i, theta)
    count = _rank(data, theta, theta.pair, k + 1, room)
    price = cost_scale * cost.price[i]
    return write_with_price(
        data, i, score_scale, price, k, count, room.ys, room.scores, outputs, at
    )


@implements(k_best, TreeLabels, WholeCost)
def _k_best_whole(data, cost, i, theta, score_scale, cost_scale, k, room, outputs, at):
    return _k_best_priced(data, cost, i, theta, score_scale, cost_scale, k, room, outputs, at)


@implements(maximize, TreeLabels, WholeCost)
def _maximize_whole(data, cost, i, theta, score_scale, cost_scale, outputs, at):
    _k_best_priced(data, cost, i, theta, score_scale, cost_scale, 1, theta.two, outputs, at)


# -- the profile ---------------------------------------------------------------------------------


class TreeLevels(NamedTuple):
    """Room for the best label sets at every number of labels that differ from a reference."""

    size: Any  # (2, n_labels + 1) int32
    table: Any  # (n_labels + 1, 2, n_labels + 1)
    before: Any  # (n_labels, 2, n_labels + 1)
    message: Any  # (n_labels + 1,)
    left: Any  # (n_labels + 1,) int32
    off: Any  # (n_labels,) int32


@implements(profile_levels, TreeLabels, LabelCost)
def _profile_levels(data, cost):
    check_equal_prices(data, cost)
    return data.n_labels + 1


@implements(profile_levels, TreeLabels, MicroF1Cost)
def _profile_levels_micro_f1(data, cost):
    return data.n_labels + 1


@implements_each(profile_room, OWN, *ADDITIVE)
def _profile_room(data, cost):
    m = data.n_labels
    return TreeLevels(
        np.zeros((2, m + 1), dtype=np.int32),
        np.zeros((m + 1, 2, m + 1)),
        np.zeros((m, 2, m + 1)),
        np.zeros(m + 1),
        np.zeros(m + 1, dtype=np.int32),
        np.zeros(m, dtype=np.int32),
    )


@jitable
def _fill_levels(data, theta, reference, room, h):
    tree_profile(
        theta.augmented,
        theta.pair,
        data.tree,
        reference,
        room.size,
        room.table,
        room.before,
        room.message,
        h,
    )


@jitable
def _true_edges(data, i, theta):
    """Return the sum of the weights of edges whose labels are both on in the truth."""
    total = 0.0
    for e in range(theta.pair.shape[0]):
        a, b = data.graph.edges[e, 0], data.graph.edges[e, 1]
        if data.labels[i, a] == 1 and data.labels[i, b] == 1:
            total += theta.pair[e]
    return total


@implements(profile, TreeLabels, LabelCost)
def _profile(data, cost, i, theta, room, h, g):
    base = add_shifts(data, cost, i, theta) + _true_edges(data, i, theta)
    _fill_levels(data, theta, data.labels[i], room, h)
    price = level_price(data, cost, i)
    for level in range(data.n_labels + 1):
        h[level] -= base
        g[level] = level * price
    return data.n_labels + 1


@implements(profile, TreeLabels, MicroF1Cost)
def _profile_micro_f1(data, cost, i, theta, room, h, g):
    # The cost only counts labels, so a level is a number of labels that are on.
    base = add_shifts(data, cost, i, theta) + _true_edges(data, i, theta)
    n_true = switch_off(data, i, room.off)
    _fill_levels(data, theta, room.off, room, h)
    for level in range(data.n_labels + 1):
        h[level] -= base
        g[level] = -float(n_true + level)
    return data.n_labels + 1


@implements_each(profile_output, OWN, *ADDITIVE)
def _profile_output(data, cost, i, theta, room, level, outputs, at):
    write_tree_level(
        theta.pair,
        data.tree,
        data.n_labels,
        level,
        room.size,
        room.table,
        room.before,
        room.left,
        outputs[at:],
    )
    hide_unknown(data, i, outputs, at)

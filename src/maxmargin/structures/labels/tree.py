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
from maxmargin.costs.tables import SwitchCost, WholeCost
from maxmargin.inference.labels.tree import best_k_tree, best_tree, tree_profile, write_tree_level
from maxmargin.structures.labels.costs import scales_with_ties
from maxmargin.structures.labels.data import TreeLabels, label_potentials
from maxmargin.structures.labels.levels import (
    check_has_levels,
    counts_labels,
    write_level_costs,
    write_reference,
)
from maxmargin.structures.labels.oracles import (
    add_shifts,
    augment,
    hide_unknown,
    known_scores,
    write_set,
    write_with_price,
)


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


class TreeRoom(NamedTuple):
    """Room for the best outputs of one example."""

    augmented: Any  # (n_labels,)
    joint: Any  # (n_edges,)
    up: Any  # (n_labels, 2)
    two: BestOfTree


def _best_of_tree(data, k):
    """Return room for k label sets."""
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
    """Return theta and room for messages, and for the two best label sets."""
    m = data.n_labels
    joint = np.zeros(len(data.graph.edges))
    room = TreeRoom(np.zeros(m), joint, np.zeros((m, 2)), _best_of_tree(data, 2))
    return label_potentials(data), room


@implements(maximize, TreeLabels, SwitchCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Find the best label set by messages, with the cost added to the scores."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    augment(data, cost, i, theta, room, score_scale, cost_scale)
    best_tree(room.augmented, room.joint, data.tree, room.up, outputs[at:])
    hide_unknown(data, i, outputs, at)


# -- the k best ----------------------------------------------------------------------------------


@implements(k_best_room, TreeLabels)
def _k_best_room(data, cost, k):
    """Return room for k label sets; with a `WholeCost` for one more, since one may be the truth."""
    return _best_of_tree(data, k + isinstance(cost, WholeCost))


@jitable
def _rank(data, room, pair, k, own):
    """Find the k best label sets under room.augmented and ``pair``; return how many there are."""
    return best_k_tree(
        room.augmented,
        pair,
        data.tree,
        k,
        own.best,
        own.part,
        own.message,
        own.head,
        own.chosen,
        own.at,
        own.ys,
        own.scores,
    )


@implements(k_best, TreeLabels, SwitchCost)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Rank the label sets with the cost added to the scores."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    augment(data, cost, i, theta, room, score_scale, cost_scale)
    count = _rank(data, room, room.joint, k, own)
    for rank in range(count):
        write_set(data, i, own.ys, rank, outputs, at + rank * data.n_labels)
    return count


@jitable
def _k_best_priced(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Rank k + 1 label sets by score, then put the truth where its price 0 puts it."""
    known_scores(data, i, theta, room)
    count = _rank(data, room, theta.pair, k + 1, own)
    price = cost_scale * cost.price[i]
    return write_with_price(data, i, score_scale, price, k, count, own.ys, own.scores, outputs, at)


@implements(k_best, TreeLabels, WholeCost)
def _k_best_whole(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Write the k best label sets, where all but the truth cost the same."""
    return _k_best_priced(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at)


@implements(maximize, TreeLabels, WholeCost)
def _maximize_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Take the first of the k best, k = 1."""
    _k_best_priced(data, cost, i, theta, room, score_scale, cost_scale, 1, room.two, outputs, at)


# -- the profile ---------------------------------------------------------------------------------


class TreeLevels(NamedTuple):
    """Room for the best label sets at every number of labels that differ from a reference."""

    size: Any  # (2, n_labels + 1) int32
    table: Any  # (n_labels + 1, 2, n_labels + 1)
    before: Any  # (n_labels, 2, n_labels + 1)
    message: Any  # (n_labels + 1,)
    left: Any  # (n_labels + 1,) int32
    reference: Any  # (n_labels,) int32
    from_empty: int  # whether the reference is the empty set: see `write_reference`


@implements(profile_levels, TreeLabels, SwitchCost)
def _profile_levels(data, cost):
    """Return one level per number of labels that differ from the reference."""
    check_has_levels(data, cost)
    return data.n_labels + 1


@implements(profile_room, TreeLabels, SwitchCost)
def _profile_room(data, cost):
    """Return room for tables of all labels and levels."""
    m = data.n_labels
    return TreeLevels(
        np.zeros((2, m + 1), dtype=np.int32),
        np.zeros((m + 1, 2, m + 1)),
        np.zeros((m, 2, m + 1)),
        np.zeros(m + 1),
        np.zeros(m + 1, dtype=np.int32),
        np.zeros(m, dtype=np.int32),
        int(counts_labels(cost)),
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


@implements(profile, TreeLabels, SwitchCost)
def _profile(data, cost, i, theta, room, own, h, g):
    """List the best h of every level, by messages that count the labels that differ."""
    true = add_shifts(data, cost, i, theta, room) + _true_edges(data, i, theta)
    write_reference(data, i, own.from_empty, own.reference)
    tree_profile(
        room.augmented,
        theta.pair,
        data.tree,
        own.reference,
        own.size,
        own.table,
        own.before,
        own.message,
        h,
    )
    for level in range(data.n_labels + 1):
        h[level] -= true
    write_level_costs(data, cost, i, own.from_empty, data.n_labels + 1, g)
    return data.n_labels + 1


@implements(profile_output, TreeLabels, SwitchCost)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    """Trace back the label set of a level, from the tables of the last profile."""
    write_tree_level(
        theta.pair,
        data.tree,
        data.n_labels,
        level,
        own.size,
        own.table,
        own.before,
        own.left,
        outputs[at:],
    )
    hide_unknown(data, i, outputs, at)

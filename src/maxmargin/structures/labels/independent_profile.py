"""Label sets without edges: the best output at each level of the cost, read off sorted labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    CostOfSwitches,
    implements,
    profile,
    profile_levels,
    profile_output,
    profile_room,
)
from maxmargin.costs.tables import F1Cost, SwitchCost, WholeCost
from maxmargin.inference.labels.independent import best_counts, flip_profile
from maxmargin.structures.labels.data import IndependentLabels
from maxmargin.structures.labels.independent import write_best_other, write_true_false
from maxmargin.structures.labels.levels import (
    check_has_levels,
    counts_labels,
    most_counts,
    write_level_costs,
    write_reference,
)
from maxmargin.structures.labels.oracles import add_shifts


class SortedLabels(NamedTuple):
    """Room for a profile: the labels in order, and the output that levels count from."""

    gain: Any  # (n_labels,)
    order: Any  # (n_labels,) int32
    spare: Any  # (n_labels,) int32
    sums: Any  # (2, n_labels + 1)
    counts: Any  # (2,) int64: true and false labels
    reference: Any  # (n_labels,) int32
    from_empty: int  # whether the reference is the empty set: see `write_reference`


@implements(profile_room, IndependentLabels, CostOfSwitches)
def _profile_room(data, cost):
    """Return room for labels sorted by what they gain."""
    m = data.n_labels
    order, spare, reference = np.zeros((3, m), dtype=np.int32)
    return SortedLabels(
        np.zeros(m),
        order,
        spare,
        np.zeros((2, m + 1)),
        np.zeros(2, dtype=np.int64),
        reference,
        int(isinstance(cost, SwitchCost) and counts_labels(cost)),
    )


@implements(profile_levels, IndependentLabels, SwitchCost)
def _profile_levels(data, cost):
    """Return one level per number of labels that differ from the reference."""
    check_has_levels(data, cost)
    return data.n_labels + 1


@implements(profile, IndependentLabels, SwitchCost)
def _profile(data, cost, i, theta, room, own, h, g):
    """List the best h of every level: level l flips the l labels that gain most."""
    true = add_shifts(data, cost, i, theta, room)
    write_reference(data, i, own.from_empty, own.reference)
    n = flip_profile(room.augmented, own.reference, own.gain, own.order, own.spare, h)
    if own.from_empty:
        for level in range(n + 1):
            h[level] -= true
    write_level_costs(data, cost, i, own.from_empty, n + 1, g)
    return n + 1


@implements(profile_output, IndependentLabels, SwitchCost)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    """Flip the first ``level`` labels of the order in the reference."""
    write_reference(data, i, own.from_empty, outputs[at:])
    for rank in range(level):
        j = own.order[rank]
        outputs[at + j] = 1 - outputs[at + j]


@implements(profile_levels, IndependentLabels, WholeCost)
def _profile_levels_whole(data, cost):
    """Return 2: the truth, and all others."""
    return 2


@implements(profile, IndependentLabels, WholeCost)
def _profile_whole(data, cost, i, theta, room, own, h, g):
    """Level 0 is the truth, level 1 the best other output, which own.order holds."""
    h[0] = g[0] = 0.0
    if not write_best_other(data, i, theta, own.order, 0):
        return 1
    h[1] = 0.0
    for j in range(data.n_labels):
        label = own.order[j]
        if label != data.labels[i, j]:
            h[1] += theta.unary[0, j] if label == 1 else -theta.unary[0, j]
    g[1] = cost.price[i]
    return 2


@implements(profile_output, IndependentLabels, WholeCost)
def _profile_output_whole(data, cost, i, theta, room, own, level, outputs, at):
    """Write the truth for level 0, or the output that the last profile found."""
    for j in range(data.n_labels):
        outputs[at + j] = own.order[j] if level == 1 else data.labels[i, j]


@implements(profile_levels, IndependentLabels, F1Cost)
def _profile_levels_f1(data, cost):
    """Return the largest number of pairs (true labels on, false labels on)."""
    return most_counts(data)


@implements(profile, IndependentLabels, F1Cost)
def _profile_f1(data, cost, i, theta, room, own, h, g):
    """List the pairs (a, b): level a * (n_false + 1) + b has a true and b false labels on."""
    n_true, n_false = best_counts(theta.unary[0], data.labels[i], own.order, own.spare, own.sums)
    own.counts[0], own.counts[1] = n_true, n_false
    for a in range(n_true + 1):
        for b in range(n_false + 1):
            level = a * (n_false + 1) + b
            wrong = n_true - a + b
            h[level] = (own.sums[0, a] - own.sums[0, n_true]) + own.sums[1, b]
            g[level] = cost.price[i] * wrong / (n_true + a + b) if wrong > 0 else 0.0
    return (n_true + 1) * (n_false + 1)


@implements(profile_output, IndependentLabels, F1Cost)
def _profile_output_f1(data, cost, i, theta, room, own, level, outputs, at):
    """Write the output of the pair (a, b) that a level stands for."""
    a, b = level // (own.counts[1] + 1), level % (own.counts[1] + 1)
    write_true_false(data, i, own.order, own.counts[0], a, b, outputs, at)

"""Chains: the best labelling at each level of the cost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    CostOfPositions,
    cost_step,
    implements,
    margin_error,
    output_sizes,
    profile,
    profile_levels,
    profile_output,
    profile_price,
    profile_room,
    profile_up_to,
)
from maxmargin.costs.levels import step_of, steps_of
from maxmargin.costs.tables import PartCost, WholeCost
from maxmargin.inference.chain.best import path_score
from maxmargin.inference.chain.other import best_other_path
from maxmargin.inference.chain.profiles import profile_path, profile_scores
from maxmargin.structures.chain.data import ChainData, check_room


class ProfileRoom(NamedTuple):
    """Room for the profile of one sequence."""

    steps: Any  # (n_labels, n_labels) int32: the cost matrix, in steps
    unit: float
    step: Any  # (longest, n_labels) int32
    reach: Any  # (longest + 1,) int64
    delta: Any  # (longest, n_levels, n_labels)
    arrival: Any  # (n_labels,)
    scores: Any  # (n_levels,)


@implements(profile_levels, ChainData, PartCost)
def _profile_levels(data, cost):
    """Return 1 + the largest cost of any labelling, counted in steps of the cost."""
    steps, _ = steps_of(cost.matrix)
    most = steps.max(axis=1, initial=0)[data.labels]
    return int(np.add.reduceat(most, data.offsets[:-1]).max(initial=0)) + 1


@implements(cost_step, ChainData, CostOfPositions)
def _cost_step(data, cost):
    """Return the step of the cost, which all labellings have."""
    return step_of(cost)


@implements(profile_price, ChainData, PartCost)
def _profile_price(data, cost):
    """Return the mean number of levels per position: each is as much work as one `maximize`."""
    # The levels grow with the position, so a sequence has half of its last number on average.
    sizes = np.diff(data.offsets)
    return float(0.5 * (sizes**2).sum() / max(sizes.sum(), 1)) * int(steps_of(cost.matrix)[0].max())


@implements(profile_room, ChainData, PartCost)
def _profile_room(data, cost):
    """Return room for the longest sequence and all levels; refuse sequences that are too long."""
    steps, unit = steps_of(cost.matrix)
    longest, n_labels = int(np.diff(data.offsets).max(initial=1)), data.layout.n_labels
    n_levels = profile_levels(data, cost)
    check_room(data, "A profile", 8 * longest * n_levels * n_labels)
    return ProfileRoom(
        steps,
        unit,
        np.zeros((longest, n_labels), dtype=np.int32),
        np.zeros(longest + 1, dtype=np.int64),
        np.zeros((longest, n_levels, n_labels)),
        np.zeros(n_labels),
        np.zeros(n_levels),
    )


@implements(profile, ChainData, PartCost)
def _profile(data, cost, i, theta, room, own, h, g):
    """List all levels."""
    return profile_up_to(data, cost, i, theta, room, own, np.inf, h, g)


@implements(profile_up_to, ChainData, PartCost)
def _profile_up_to(data, cost, i, theta, room, own, limit, h, g):
    """List the best score of every level: level l has the labellings that cost l steps."""
    n_labels = data.layout.n_labels
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    for t in range(length):
        truth = data.labels[first + t]
        for k in range(n_labels):
            own.step[t, k] = own.steps[truth, k]
    unit = cost.scale[i] * own.unit
    most = own.scores.shape[0] - 1
    if limit < unit * most:
        most = int(limit / unit + 1e-9)
    n_levels = profile_scores(
        theta.unary[:length],
        theta.edges[:n_labels],
        theta.edges[n_labels],
        theta.edges[n_labels + 1],
        own.step,
        most,
        own.reach,
        own.delta,
        own.arrival,
        own.scores,
    )
    truth_score = path_score(
        theta.unary[:length],
        theta.edges[:n_labels],
        theta.edges[n_labels],
        theta.edges[n_labels + 1],
        data.labels[first : first + length],
    )
    for level in range(n_levels):
        h[level] = own.scores[level] - truth_score
        g[level] = unit * level
    return n_levels


@implements(profile_output, ChainData, PartCost)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    """Trace back the labelling of a level, from the tables of the last profile."""
    n_labels = data.layout.n_labels
    length = data.offsets[i + 1] - data.offsets[i]
    profile_path(
        theta.unary[:length],
        theta.edges[:n_labels],
        theta.edges[n_labels + 1],
        own.step,
        own.reach,
        own.delta,
        level,
        own.scores[level],
        outputs[at : at + length],
    )


# -- the zero-one cost: two levels, the right labelling and the best of all others ----------------


@implements(profile_levels, ChainData, WholeCost)
def _profile_levels_whole(data, cost):
    """Return 2: the truth, and all others."""
    return 2


@implements(profile_room, ChainData, WholeCost)
def _profile_room_whole(data, cost):
    """Return room for one labelling, the best other than the truth."""
    return np.zeros(int(output_sizes(data).max(initial=1)), dtype=np.int32)


@implements(profile, ChainData, WholeCost)
def _profile_whole(data, cost, i, theta, room, own, h, g):
    """Level 0 is the truth, level 1 the best other labelling (-inf where there is none)."""
    n_labels = data.layout.n_labels
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    other = best_other_path(
        theta.unary[:length],
        theta.edges[:n_labels],
        theta.edges[n_labels],
        theta.edges[n_labels + 1],
        data.labels[first : first + length],
        room.augmented[:, 0],
        room.delta,
        own[:length],
    )
    h[0] = g[0] = 0.0
    g[1] = cost.price[i]
    h[1] = margin_error(data, i, theta, own, 0) if other > -np.inf else -np.inf
    return 2


@implements(profile_output, ChainData, WholeCost)
def _profile_output_whole(data, cost, i, theta, room, own, level, outputs, at):
    """Write the truth for level 0, or the labelling that the last profile found."""
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    for t in range(length):
        outputs[at + t] = own[t] if level == 1 else data.labels[first + t]

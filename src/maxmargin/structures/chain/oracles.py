"""Chains: the oracles beside the best labelling. The k best, and the best at each cost level."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    cost_step,
    implements,
    k_best,
    k_best_room,
    margin_error,
    output_sizes,
    profile,
    profile_levels,
    profile_output,
    profile_price,
    profile_room,
    profile_up_to,
)
from maxmargin.costs.levels import steps_of
from maxmargin.costs.tables import PartCost, WholeCost
from maxmargin.inference.chain.best import path_score
from maxmargin.inference.chain.kbest import best_k_paths
from maxmargin.inference.chain.other import best_other_path
from maxmargin.inference.chain.profiles import profile_path, profile_scores
from maxmargin.structures.chain.data import ChainData, augment


class ProfileRoom(NamedTuple):
    """Room for the profile of one sequence."""

    steps: Any  # (n_labels, n_labels) int32: the cost matrix, in steps
    unit: float
    step: Any  # (longest, n_labels) int32
    reach: Any  # (longest + 1,) int64
    delta: Any  # (longest, n_levels, n_labels)
    arrival: Any  # (n_labels,)
    scores: Any  # (n_levels,)


#: Bytes that a profile or a list of the best labellings may take.
MOST_BYTES = 1 << 32


def _check_room(data: Any, what: str, n_bytes: int) -> None:
    """Refuse what sequences are too long for, before memory runs out."""
    if n_bytes > MOST_BYTES:
        longest = int(np.diff(data.offsets).max(initial=1))
        raise ValueError(
            f"{what} of a sequence of {longest} positions would take {n_bytes / 1e9:.3g} GB, above "
            f"{MOST_BYTES / 1e9:.3g} GB. Cut the sequences into shorter ones, take "
            "surrogate='margin', or search=ConvexHull(integral=False), which bounds the losses."
        )


@implements(profile_levels, ChainData, PartCost)
def _profile_levels(data, cost):
    steps, _ = steps_of(cost.matrix)
    most = steps.max(axis=1, initial=0)[data.labels]
    return int(np.add.reduceat(most, data.offsets[:-1]).max(initial=0)) + 1


@implements(cost_step, ChainData, PartCost)
def _cost_step(data, cost):
    try:
        return cost.scale * steps_of(cost.matrix)[1]
    except ValueError:
        return None


@implements(profile_price, ChainData, PartCost)
def _profile_price(data, cost):
    # Half as many levels as there are at the end, at each position: what a pass over all takes.
    sizes = np.diff(data.offsets)
    return float(0.5 * (sizes**2).sum() / max(sizes.sum(), 1)) * int(steps_of(cost.matrix)[0].max())


@implements(profile_room, ChainData, PartCost)
def _profile_room(data, cost):
    steps, unit = steps_of(cost.matrix)
    longest, n_labels = int(np.diff(data.offsets).max(initial=1)), data.layout.n_labels
    n_levels = profile_levels(data, cost)
    _check_room(data, "A profile", 8 * longest * n_levels * n_labels)
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
    return profile_up_to(data, cost, i, theta, room, own, np.inf, h, g)


@implements(profile_up_to, ChainData, PartCost)
def _profile_up_to(data, cost, i, theta, room, own, limit, h, g):
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


class KBestRoom(NamedTuple):
    """Room for the k best labellings of one sequence."""

    best: Any  # (longest, n_labels, k)
    from_label: Any  # the same, int32
    from_rank: Any  # the same, int32
    head: Any  # (n_labels,) int32
    head_score: Any  # (n_labels,)
    paths: Any  # (k * longest,) int32
    scores: Any  # (k,)


def _k_best_room(data, k):
    longest, n_labels = int(np.diff(data.offsets).max(initial=1)), data.layout.n_labels
    _check_room(data, f"The {k} best labellings", 16 * longest * n_labels * k)
    return KBestRoom(
        np.zeros((longest, n_labels, k)),
        np.zeros((longest, n_labels, k), dtype=np.int32),
        np.zeros((longest, n_labels, k), dtype=np.int32),
        np.zeros(n_labels, dtype=np.int32),
        np.zeros(n_labels),
        np.zeros(k * longest, dtype=np.int32),
        np.zeros(k),
    )


@implements(k_best_room, ChainData, PartCost)
def _k_best_room_part(data, cost, k):
    return _k_best_room(data, k)


@implements(k_best, ChainData, PartCost)
def _k_best_part(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    n_labels = data.layout.n_labels
    length = data.offsets[i + 1] - data.offsets[i]
    augment(data, cost, i, theta, room, score_scale, cost_scale)
    return best_k_paths(
        room.augmented[:length],
        theta.edges[:n_labels],
        theta.edges[n_labels],
        theta.edges[n_labels + 1],
        k,
        own.best,
        own.from_label,
        own.from_rank,
        own.head,
        own.head_score,
        outputs[at : at + k * length].reshape((k, length)),
        own.scores,
    )


# -- the zero-one cost: every labelling but the right one costs the same -------------------------


@implements(k_best_room, ChainData, WholeCost)
def _k_best_room_whole(data, cost, k):
    return _k_best_room(data, k + 1)


@implements(k_best, ChainData, WholeCost)
def _k_best_whole(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    # The k others are among the k + 1 of best score; the right one comes where its value puts it.
    n_labels = data.layout.n_labels
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    paths = own.paths[: (k + 1) * length]
    n_found = best_k_paths(
        theta.unary[:length],
        theta.edges[:n_labels],
        theta.edges[n_labels],
        theta.edges[n_labels + 1],
        k + 1,
        own.best,
        own.from_label,
        own.from_rank,
        own.head,
        own.head_score,
        paths.reshape((k + 1, length)),
        own.scores,
    )
    count = 0
    truth_waits = True
    for rank in range(n_found + 1):
        is_other = False
        value = -np.inf
        if rank < n_found:
            for t in range(length):
                is_other = is_other or paths[rank * length + t] != data.labels[first + t]
            if is_other:
                error = margin_error(data, i, theta, paths, rank * length)
                value = score_scale * error + cost_scale * cost.price[i]
        if truth_waits and value <= 0.0 and count < k and (is_other or rank == n_found):
            for t in range(length):
                outputs[at + count * length + t] = data.labels[first + t]
            count += 1
            truth_waits = False
        if is_other and count < k:
            for t in range(length):
                outputs[at + count * length + t] = paths[rank * length + t]
            count += 1
    return count


@implements(cost_step, ChainData, WholeCost)
def _cost_step_whole(data, cost):
    return cost.price


@implements(profile_levels, ChainData, WholeCost)
def _profile_levels_whole(data, cost):
    return 2


@implements(profile_room, ChainData, WholeCost)
def _profile_room_whole(data, cost):
    return np.zeros(int(output_sizes(data).max(initial=1)), dtype=np.int32)


@implements(profile, ChainData, WholeCost)
def _profile_whole(data, cost, i, theta, room, own, h, g):
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
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    for t in range(length):
        outputs[at + t] = own[t] if level == 1 else data.labels[first + t]

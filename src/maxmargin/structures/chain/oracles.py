"""Chains: the best labelling and the k best, with costs added."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    implements,
    k_best,
    k_best_room,
    margin_error,
    maximize,
    output_cost,
)
from maxmargin.costs.tables import AddedToScores, WholeCost
from maxmargin.inference.chain.best import best_path
from maxmargin.inference.chain.kbest import best_k_paths
from maxmargin.inference.chain.other import best_other_path
from maxmargin.structures.chain.costs import augment
from maxmargin.structures.chain.data import ChainData, check_room


@implements(maximize, ChainData, AddedToScores)
def _maximize_added(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Find the best path by Viterbi, with the cost added to the unary potentials."""
    n_labels = data.layout.n_labels
    length = data.offsets[i + 1] - data.offsets[i]
    augment(cost, data, i, theta, room, score_scale, cost_scale)
    best_path(
        room.augmented[:length],
        theta.edges[:n_labels],
        theta.edges[n_labels],
        theta.edges[n_labels + 1],
        room.delta,
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


@implements(k_best_room, ChainData)
def _k_best_room(data, cost, k):
    """Return room for k labellings; refuse sequences that are too long for that."""
    if isinstance(cost, WholeCost):
        k += 1  # the truth may be one of them
    longest, n_labels = int(np.diff(data.offsets).max(initial=1)), data.layout.n_labels
    check_room(data, f"The {k} best labellings", 16 * longest * n_labels * k)
    return KBestRoom(
        np.zeros((longest, n_labels, k)),
        np.zeros((longest, n_labels, k), dtype=np.int32),
        np.zeros((longest, n_labels, k), dtype=np.int32),
        np.zeros(n_labels, dtype=np.int32),
        np.zeros(n_labels),
        np.zeros(k * longest, dtype=np.int32),
        np.zeros(k),
    )


@implements(k_best, ChainData, AddedToScores)
def _k_best_added(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Find the k best paths, with the cost added to the unary potentials."""
    n_labels = data.layout.n_labels
    length = data.offsets[i + 1] - data.offsets[i]
    augment(cost, data, i, theta, room, score_scale, cost_scale)
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


# -- the zero-one cost: the right labelling against all others, which cost the same ----------------


@implements(maximize, ChainData, WholeCost)
def _maximize_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Compare the best labelling other than the truth with the truth, whose value is 0."""
    n_labels = data.layout.n_labels
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    best_other_path(
        theta.unary[:length],
        theta.edges[:n_labels],
        theta.edges[n_labels],
        theta.edges[n_labels + 1],
        data.labels[first : first + length],
        room.augmented[:, 0],
        room.delta,
        outputs[at : at + length],
    )
    value = score_scale * margin_error(data, i, theta, outputs, at) + cost_scale * cost.price[i]
    if value > 0.0:
        return
    # In a tie, the labelling wins that has the lower label at the last position where they differ.
    for t in range(length - 1, -1, -1):
        if value == 0.0 and outputs[at + t] < data.labels[first + t]:
            return
        if outputs[at + t] != data.labels[first + t]:
            break
    for t in range(length):
        outputs[at + t] = data.labels[first + t]


@implements(output_cost, ChainData, WholeCost)
def _output_cost_whole(data, cost, i, outputs, at):
    """Return the price of the example if any position is wrong."""
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    for t in range(length):
        if outputs[at + t] != data.labels[first + t]:
            return cost.price[i]
    return 0.0


@implements(k_best, ChainData, WholeCost)
def _k_best_whole(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Write the k best labellings, where all but the truth cost the same.

    The k best others are among the k + 1 of highest score. The truth, whose value is 0, is put
    before the first of them whose value is not above 0.
    """
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

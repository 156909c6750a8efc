"""Chains whose positions have weights of their own in the cost: those of latent labels have 0."""

from __future__ import annotations

from typing import Any

from maxmargin.core.compile import jitable
from maxmargin.core.contract import implements, k_best, maximize, output_cost
from maxmargin.costs.tables import WeightedPartCost
from maxmargin.inference.chain.best import best_path
from maxmargin.inference.chain.kbest import best_k_paths
from maxmargin.structures.chain.data import ChainData


@jitable
def augment_weighted(
    data: Any, cost: Any, i: int, theta: Any, room: Any, score_scale: float, cost_scale: float
) -> None:
    """Do as `augment` of oracles.py, each position times its weight."""
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    factor = cost_scale * cost.scale[i] / max(score_scale, 1e-9)
    for t in range(length):
        truth, own = data.labels[first + t], factor * cost.weight[first + t]
        for k in range(data.layout.n_labels):
            room.augmented[t, k] = theta.unary[t, k] + own * cost.matrix[truth, k]


@implements(maximize, ChainData, WeightedPartCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Find the best path by Viterbi, with the cost added to the unary potentials."""
    n_labels = data.layout.n_labels
    length = data.offsets[i + 1] - data.offsets[i]
    augment_weighted(data, cost, i, theta, room, score_scale, cost_scale)
    best_path(
        room.augmented[:length],
        theta.edges[:n_labels],
        theta.edges[n_labels],
        theta.edges[n_labels + 1],
        room.delta,
        outputs[at : at + length],
    )


@implements(output_cost, ChainData, WeightedPartCost)
def _output_cost(data, cost, i, outputs, at):
    """Return the sum of the prices of all positions, times their weights."""
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    total = 0.0
    for t in range(length):
        price = cost.matrix[data.labels[first + t], outputs[at + t]]
        total += cost.weight[first + t] * price
    return cost.scale[i] * total


@implements(k_best, ChainData, WeightedPartCost)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Find the k best paths, with the cost added to the unary potentials."""
    n_labels = data.layout.n_labels
    length = data.offsets[i + 1] - data.offsets[i]
    augment_weighted(data, cost, i, theta, room, score_scale, cost_scale)
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

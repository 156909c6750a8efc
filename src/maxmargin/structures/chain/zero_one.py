"""The zero-one cost on chains: the right labelling against the best of all others."""

from __future__ import annotations

from maxmargin.core.contract import implements, margin_error, maximize, output_cost
from maxmargin.costs.tables import WholeCost
from maxmargin.inference.chain.other import best_other_path
from maxmargin.structures.chain.data import ChainData


@implements(maximize, ChainData, WholeCost)
def _maximize_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
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
    # A tie goes to the lower label at the last position where the two differ.
    for t in range(length - 1, -1, -1):
        if value == 0.0 and outputs[at + t] < data.labels[first + t]:
            return
        if outputs[at + t] != data.labels[first + t]:
            break
    for t in range(length):
        outputs[at + t] = data.labels[first + t]


@implements(output_cost, ChainData, WholeCost)
def _output_cost_whole(data, cost, i, outputs, at):
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    for t in range(length):
        if outputs[at + t] != data.labels[first + t]:
            return cost.price[i]
    return 0.0

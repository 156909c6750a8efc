"""Rankings: the best interleaving of a query's samples, and what an interleaving costs."""

from __future__ import annotations

import numpy as np

from maxmargin.core.contract import CostOfPlaces, implements, maximize, output_cost
from maxmargin.inference.ranking.interleave import interleave
from maxmargin.inference.ranking.rule import cost_of_places
from maxmargin.structures.ranking.data import RankingData


@implements(maximize, RankingData, CostOfPlaces)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Find the best interleaving by the rule of the cost; scores are multiplied by score_scale."""
    P, size = data.n_relevant[i], data.sizes[i]
    scores = theta.scores
    if score_scale != 1.0:
        scores = room.scaled
        for k in range(size):
            scores[k] = score_scale * theta.scores[k]
    interleave(
        cost, scores[:P], scores[P:size], cost_scale, room.interleaving,
        outputs[at : at + P], outputs[at + P : at + size],
    )  # fmt: skip


@implements(output_cost, RankingData, CostOfPlaces)
def _output_cost(data, cost, i, outputs, at):
    """Return the cost of the places that the relevant samples have."""
    P, size = data.n_relevant[i], data.sizes[i]
    if P == 0 or size == P:
        return 0.0
    # above[k]: how many other samples stand above relevant sample k, counted from the top.
    counts = np.zeros(P + 1, dtype=np.int64)
    for k in range(P, size):
        counts[outputs[at + k]] += 1
    above = np.empty(P, dtype=np.int32)
    total = np.int64(0)
    for k in range(P):
        total += counts[k]
        above[k] = total
    return cost_of_places(cost, above, P, size - P)

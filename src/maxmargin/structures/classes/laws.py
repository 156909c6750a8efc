"""Laws of classes: the probability of every class."""

from __future__ import annotations

import math

import numpy as np

from maxmargin.core.contract import (
    CostOfPositions,
    add_prices,
    implements,
    law_parts,
    law_room,
    law_sizes,
    lean,
    log_mass,
    marginals,
    parts_square,
    row_product,
)
from maxmargin.structures.classes.data import MulticlassData, OneLabel
from maxmargin.structures.classes.oracles import class_price


@implements(law_sizes, OneLabel)
def _law_sizes(data):
    """Return the number of classes for every example."""
    return np.full(len(data.labels), data.n_labels, dtype=np.int64)


@implements(law_room, OneLabel)
def _law_room(data):
    """Return nothing: the law itself is all the room that is needed."""
    return ()


@implements(marginals, OneLabel)
def _marginals(data, i, theta, own, temperature, prior, prior_at, law, at):
    """Write exp(score / temperature) of every class, times its prior, over their sum."""
    best = -np.inf
    for k in range(data.n_labels):
        score = theta.scores[0, k]
        if prior_at >= 0:
            score += temperature * log_mass(prior[prior_at + k])
        law[at + k] = score
        best = max(best, score)
    total = 0.0
    for k in range(data.n_labels):
        law[at + k] = math.exp((law[at + k] - best) / temperature)
        total += law[at + k]
    for k in range(data.n_labels):
        law[at + k] /= total


@implements(law_parts, OneLabel)
def _law_parts(data, i, law, at, scale, mu):
    """Add the mass of every class."""
    for k in range(data.n_labels):
        mu.scores[0, k] += scale * law[at + k]


@implements(lean, OneLabel)
def _lean(data, i, scale, theta):
    """Prefer the true class."""
    theta.scores[0, data.labels[i]] += scale


@implements(add_prices, OneLabel, CostOfPositions)
def _add_prices(data, cost, i, scale, theta):
    """Add the price of every class."""
    for k in range(data.n_labels):
        theta.scores[0, k] += scale * class_price(cost, i, data.labels[i], k)


@implements(parts_square, MulticlassData)
def _parts_square(data, i, mu, spare, theta):
    """Return |x|^2, plus 1 with a bias, times the squares of the masses."""
    total, square = 0.0, row_product(data.features, i, i) + data.has_bias
    for k in range(data.n_labels):
        total += mu.scores[0, k] * mu.scores[0, k]
        theta.scores[0, k] = square * mu.scores[0, k]
    return total * square

"""Laws of chains: the probabilities of labels, and of pairs of labels at every step.

mu has one table of transitions that all positions share, but a law needs one per step: with them it
is a Markov chain, whose potentials are log p(y_1) and log p(y_t, y_t+1) - log p(y_t). A mean of two
such laws keeps the means of these probabilities, and is a Markov chain again. Its cells are those
of labels, position by position, then those of the steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    add_prices,
    implements,
    law_parts,
    law_room,
    law_sizes,
    lean,
    log_mass,
    marginals,
    part_counts,
    parts_square,
    row_product,
)
from maxmargin.costs.tables import PartCost
from maxmargin.inference.chain.marginal import gibbs_chain
from maxmargin.structures.chain.data import ChainData


class ChainLawRoom(NamedTuple):
    """Room for the law of one sequence."""

    unary: Any  # (longest, n_labels)
    top: Any  # (longest, n_labels)
    log_sum: Any  # (longest, n_labels)


@implements(law_sizes, ChainData)
def _law_sizes(data):
    """Return a cell per label of every position, and one per pair of labels of every step."""
    lengths, n_labels = np.diff(data.offsets), data.layout.n_labels
    return lengths * n_labels + (lengths - 1) * n_labels**2


@implements(part_counts, ChainData)
def _part_counts(data):
    """Return the labels of all positions, and the one table of transitions."""
    lengths, n_labels = np.diff(data.offsets), data.layout.n_labels
    edges = np.full(len(lengths), (n_labels + 2) * n_labels)
    return np.ascontiguousarray(np.column_stack([lengths * n_labels, edges]), dtype=np.int64)


@implements(law_room, ChainData)
def _law_room(data):
    """Return room for the longest sequence."""
    longest = int(np.diff(data.offsets).max(initial=1))
    return ChainLawRoom(*np.zeros((3, longest, data.layout.n_labels)))


@implements(marginals, ChainData)
def _marginals(data, i, theta, own, temperature, prior, prior_at, law, at):
    """Add the potentials of the prior to those of labels and steps; then forward and backward."""
    n_labels = data.layout.n_labels
    length = data.offsets[i + 1] - data.offsets[i]
    n_nodes, square = length * n_labels, n_labels * n_labels
    node = law[at : at + n_nodes].reshape((length, n_labels))
    edge = law[at + n_nodes : at + n_nodes + (length - 1) * square]
    steps = edge.reshape((length - 1, n_labels, n_labels))
    for t in range(length):
        for k in range(n_labels):
            own.unary[t, k] = theta.unary[t, k]
    for t in range(length - 1):
        for j in range(n_labels):
            for k in range(n_labels):
                steps[t, j, k] = theta.edges[j, k]
    if prior_at >= 0:
        for k in range(n_labels):
            own.unary[0, k] += temperature * log_mass(prior[prior_at + k])
        for t in range(length - 1):
            for j in range(n_labels):
                given = log_mass(prior[prior_at + t * n_labels + j])
                first = prior_at + n_nodes + t * square + j * n_labels
                for k in range(n_labels):
                    steps[t, j, k] += temperature * (log_mass(prior[first + k]) - given)
    gibbs_chain(
        own.unary[:length], theta.edges[n_labels], theta.edges[n_labels + 1], temperature, own.top,
        own.log_sum, node, steps,
    )  # fmt: skip


@implements(law_parts, ChainData)
def _law_parts(data, i, law, at, scale, mu):
    """Add the probabilities of labels; sum those of pairs over the steps; start and end."""
    n_labels = data.layout.n_labels
    length = data.offsets[i + 1] - data.offsets[i]
    n_nodes, square = length * n_labels, n_labels * n_labels
    for t in range(length):
        for k in range(n_labels):
            mu.unary[t, k] += scale * law[at + t * n_labels + k]
    for t in range(length - 1):
        first = at + n_nodes + t * square
        for j in range(n_labels):
            for k in range(n_labels):
                mu.edges[j, k] += scale * law[first + j * n_labels + k]
    for k in range(n_labels):
        if data.borders[i, 0] > 0:
            mu.edges[n_labels, k] += scale * law[at + k]
        if data.borders[i, 1] > 0:
            mu.edges[n_labels + 1, k] += scale * law[at + n_nodes - n_labels + k]


@implements(lean, ChainData)
def _lean(data, i, scale, theta):
    """Prefer the true label of every position."""
    for t in range(data.offsets[i + 1] - data.offsets[i]):
        theta.unary[t, data.labels[data.offsets[i] + t]] += scale


@implements(add_prices, ChainData, PartCost)
def _add_prices(data, cost, i, scale, theta):
    """Add the price of every label of every position."""
    factor = scale * cost.scale[i]
    for t in range(data.offsets[i + 1] - data.offsets[i]):
        truth = data.labels[data.offsets[i] + t]
        for k in range(data.layout.n_labels):
            theta.unary[t, k] += factor * cost.matrix[truth, k]


@implements(parts_square, ChainData)
def _parts_square(data, i, mu, spare, theta):
    """Add up the products of all pairs of positions, then the squares of the steps."""
    layout, n_labels = data.layout, data.layout.n_labels
    first, length = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    has_bias = layout.transitions > layout.bias
    total = 0.0
    for s in range(length):
        for k in range(n_labels):
            theta.unary[s, k] = 0.0
    for s in range(length):
        for t in range(s + 1):
            masses = mass_s = mass_t = 0.0
            for k in range(n_labels):
                masses += mu.unary[s, k] * mu.unary[t, k]
                mass_s += abs(mu.unary[s, k])
                mass_t += abs(mu.unary[t, k])
            if mass_s == 0.0 and mass_t == 0.0:
                continue
            product = row_product(data.features, first + s, first + t) + has_bias
            total += (1.0 if s == t else 2.0) * masses * product
            for k in range(n_labels):
                theta.unary[s, k] += product * mu.unary[t, k]
                if s != t:
                    theta.unary[t, k] += product * mu.unary[s, k]
    for row in range(n_labels + 2):
        is_used = layout.start > layout.transitions
        if row >= n_labels:
            is_used = layout.end > layout.start if row == n_labels else layout.n_rows > layout.end
        for k in range(n_labels):
            theta.edges[row, k] = mu.edges[row, k] if is_used else 0.0
            total += theta.edges[row, k] * theta.edges[row, k]
    return total

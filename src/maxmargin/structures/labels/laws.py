"""Laws of label sets: without edges, and with edges that form a forest.

A law has the probabilities that a label is off and on: both, because 1 - p would lose what is below
1e-16. Without edges labels are independent. With a forest a law has besides the four states of
every edge; log p(child, parent) - log p(parent), along the edges from the roots
down, is its potential. As an edge has a weight only where both labels are on, a table f of four
states counts as the scores f(1, 0) - f(0, 0) and f(0, 1) - f(0, 0) of its two labels, and the
weight f(1, 1) - f(1, 0) - f(0, 1) + f(0, 0).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
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
from maxmargin.costs.tables import SwitchCost
from maxmargin.inference.labels.tree.marginal import tree_marginals
from maxmargin.structures.labels.costs import label_gains
from maxmargin.structures.labels.data import IndependentLabels, LabelData, TreeLabels

# -- without edges -------------------------------------------------------------------------------


@implements(law_sizes, IndependentLabels)
def _law_sizes(data):
    """Return two cells per label: off and on."""
    return np.full(len(data.labels), 2 * data.n_labels, dtype=np.int64)


@implements(law_room, IndependentLabels)
def _law_room(data):
    """Return nothing: the law itself is all the room that is needed."""
    return ()


@implements(marginals, IndependentLabels)
def _marginals(data, i, theta, own, temperature, prior, prior_at, law, at):
    """Write for every label the probabilities of off and on; a label not known is off."""
    for j in range(data.n_labels):
        cell = at + 2 * j
        law[cell], law[cell + 1] = 1.0, 0.0
        if data.labels[i, j] >= 0:
            score = theta.unary[0, j] / temperature
            if prior_at >= 0:
                off, on = prior[prior_at + 2 * j], prior[prior_at + 2 * j + 1]
                score += log_mass(on) - log_mass(off)
            share = math.exp(-abs(score))
            law[cell] = 1.0 / (1.0 + share) if score <= 0.0 else share / (1.0 + share)
            law[cell + 1] = 1.0 / (1.0 + share) if score > 0.0 else share / (1.0 + share)


@implements(law_parts, IndependentLabels)
def _law_parts(data, i, law, at, scale, mu):
    """Add the probability of every label."""
    for j in range(data.n_labels):
        mu.unary[0, j] += scale * law[at + 2 * j + 1]


# -- what both share -----------------------------------------------------------------------------


@implements(lean, LabelData)
def _lean(data, i, scale, theta):
    """Prefer the true labels on, and the others off."""
    for j in range(data.n_labels):
        theta.unary[0, j] += scale if data.labels[i, j] == 1 else -scale


@implements(add_prices, LabelData, SwitchCost)
def _add_prices(data, cost, i, scale, theta):
    """Add what every label adds to cost, and to `shift`, when it is on."""
    for j in range(data.n_labels):
        if data.labels[i, j] >= 0:
            added, price = label_gains(cost, i, j, data.labels[i, j])
            theta.unary[0, j] += scale * (added + price)


@implements(parts_square, LabelData)
def _parts_square(data, i, mu, spare, theta):
    """Return |x|^2, plus 1 with a bias, times the squares of the masses; edges have no features."""
    total, edges, square = 0.0, 0.0, row_product(data.features, i, i) + data.has_bias
    for j in range(data.n_labels):
        total += mu.unary[0, j] * mu.unary[0, j]
        theta.unary[0, j] = square * mu.unary[0, j]
    for e in range(mu.pair.shape[0]):
        edges += mu.pair[e] * mu.pair[e]
        theta.pair[e] = mu.pair[e]
    return total * square + edges


# -- a forest ------------------------------------------------------------------------------------


class TreeLawRoom(NamedTuple):
    """Room for the law of one example."""

    unary: Any  # (n_labels,)
    pair: Any  # (n_edges,)
    top: Any  # (n_labels, 2)
    log_sum: Any  # (n_labels, 2)
    given: Any  # (n_labels, 2, 2)
    table: Any  # (2, 2)


@implements(law_sizes, TreeLabels)
def _tree_law_sizes(data):
    """Return two cells per label, and four per edge."""
    n_cells = 2 * data.n_labels + 4 * len(data.graph.edges)
    return np.full(len(data.labels), n_cells, dtype=np.int64)


@implements(law_room, TreeLabels)
def _tree_law_room(data):
    """Return room for sums from the leaves to the roots."""
    m, n_edges = data.n_labels, len(data.graph.edges)
    top, log_sum = np.zeros((2, m, 2))
    return TreeLawRoom(
        np.zeros(m), np.zeros(n_edges), top, log_sum, np.zeros((m, 2, 2)), np.zeros((2, 2))
    )


@jitable
def _add_prior(data, temperature, prior, prior_at, own):
    """Add temperature times the logarithm of the prior to own.unary and own.pair."""
    m, edges, table = data.n_labels, data.graph.edges, own.table
    for j in range(m):
        above = data.tree.parent[j]
        if above < 0:
            off, on = prior[prior_at + 2 * j], prior[prior_at + 2 * j + 1]
            own.unary[j] += temperature * (log_mass(on) - log_mass(off))
            continue
        e = data.tree.edge[j]
        is_first = edges[e, 0] == above
        for state in range(4):
            a, b = state // 2, state % 2
            given = prior[prior_at + 2 * above + (a if is_first else b)]
            table[a, b] = log_mass(prior[prior_at + 2 * m + 4 * e + state]) - log_mass(given)
        own.unary[edges[e, 0]] += temperature * (table[1, 0] - table[0, 0])
        own.unary[edges[e, 1]] += temperature * (table[0, 1] - table[0, 0])
        joint = table[1, 1] - table[1, 0] - table[0, 1] + table[0, 0]
        own.pair[e] += temperature * joint


@implements(marginals, TreeLabels)
def _tree_marginals(data, i, theta, own, temperature, prior, prior_at, law, at):
    """Add the potentials of the prior; then sum from the leaves to the roots and go back down."""
    m, edges = data.n_labels, data.graph.edges
    for j in range(m):
        own.unary[j] = theta.unary[0, j]
    for e in range(edges.shape[0]):
        own.pair[e] = theta.pair[e]
    if prior_at >= 0:
        _add_prior(data, temperature, prior, prior_at, own)
    for j in range(m):
        if data.labels[i, j] < 0:
            own.unary[j] = -np.inf
    first = at + 2 * m
    node = law[at:first].reshape((m, 2))
    tables = law[first : first + 4 * edges.shape[0]].reshape((edges.shape[0], 2, 2))
    tree_marginals(
        own.unary, edges, own.pair, data.tree, temperature, own.top, own.log_sum, own.given, node,
        tables,
    )  # fmt: skip


@implements(law_parts, TreeLabels)
def _tree_law_parts(data, i, law, at, scale, mu):
    """Add the probability of every label, and of both labels of an edge."""
    m = data.n_labels
    for j in range(m):
        mu.unary[0, j] += scale * law[at + 2 * j + 1]
    for e in range(mu.pair.shape[0]):
        mu.pair[e] += scale * law[at + 2 * m + 4 * e + 3]

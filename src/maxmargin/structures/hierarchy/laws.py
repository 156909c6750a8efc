"""Laws of hierarchies: of one label by its path, and of closed sets of nodes of a forest.

The law of a label is that of classes. In the law of a closed set the children of a node are
independent once the node is in the set, so two probabilities per node determine it: that the node
is in the set, and that it is left out though its parent is in it (both, because a difference would
lose what is below 1e-16). The first over the second, and the second over that of the parent, are
what a node and its parent have as prior potentials.

Unions of paths to leaves have no such law: that of largest entropy with given probabilities of
nodes has no closed form where at least one child must be in the set.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin.core.contract import (
    add_prices,
    has_laws,
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
from maxmargin.costs.tables import SetEdgeCost, SwitchCost
from maxmargin.structures.hierarchy.costs import augment
from maxmargin.structures.hierarchy.data import HierarchyPaths, TreeSets


@implements(part_counts, HierarchyPaths)
def _part_counts(data):
    """Return the number of labels; the scores of nodes are scratch."""
    return np.tile(np.array([data.n_labels, 0], dtype=np.int64), (len(data.labels), 1))


@implements(parts_square, HierarchyPaths)
def _path_square(data, i, mu, spare, theta):
    """Add up the masses of the labels below each node; their squares count alpha times |x|^2."""
    for n in range(data.n_nodes):
        theta.nodes[0, n] = 0.0
    for k in range(data.n_labels):
        if mu.scores[0, k] != 0.0:
            for place in range(data.node_at[k], data.node_at[k + 1]):
                theta.nodes[0, data.nodes[place]] += mu.scores[0, k]
    total, square = 0.0, row_product(data.features, i, i) + data.has_bias
    for n in range(data.n_nodes):
        total += data.alpha[n] * theta.nodes[0, n] * theta.nodes[0, n]
    for k in range(data.n_labels):
        theta.scores[0, k] = 0.0
        for place in range(data.node_at[k], data.node_at[k + 1]):
            n = data.nodes[place]
            theta.scores[0, k] += square * data.alpha[n] * theta.nodes[0, n]
    return total * square


@implements(has_laws, TreeSets)
def _has_laws(data):
    """Return whether any closed set is an output."""
    return not data.to_leaves


@implements(law_sizes, TreeSets)
def _law_sizes(data):
    """Return two cells per node: left out though its parent is in the set, and in it."""
    return np.full(len(data.node_at) - 1, 2 * data.n_nodes, dtype=np.int64)


@implements(law_room, TreeSets)
def _law_room(data):
    """Return room for the logarithms of sums below nodes."""
    return np.zeros(data.n_nodes)


@implements(marginals, TreeSets)
def _marginals(data, i, theta, own, temperature, prior, prior_at, law, at):
    """Sum from the leaves to the roots, with the potentials of the prior; then go back down."""
    M = data.n_nodes
    for n in range(M):
        own[n] = theta.nodes[0, n] / temperature
    for back in range(M):
        n = M - 1 - back  # children come after their parents
        above = data.parent[n]
        log_out = 0.0
        if prior_at >= 0:
            log_out = log_mass(prior[prior_at + 2 * n])
            own[n] += log_mass(prior[prior_at + 2 * n + 1]) - log_out
            if above >= 0:
                log_out -= log_mass(prior[prior_at + 2 * above + 1])
        if above >= 0:  # log(out + in), relative to the parent's own
            own[above] += log_out + max(own[n], 0.0) + math.log1p(math.exp(-abs(own[n])))
    for n in range(M):
        above = data.parent[n]
        mass = law[at + 2 * above + 1] if above >= 0 else 1.0
        small = math.exp(-abs(own[n]))
        high, low = mass / (1.0 + small), mass * (small / (1.0 + small))
        law[at + 2 * n] = low if own[n] > 0.0 else high
        law[at + 2 * n + 1] = high if own[n] > 0.0 else low


@implements(law_parts, TreeSets)
def _law_parts(data, i, law, at, scale, mu):
    """Add the probability of every node."""
    for n in range(data.n_nodes):
        mu.nodes[0, n] += scale * law[at + 2 * n + 1]


@implements(lean, TreeSets)
def _lean(data, i, scale, theta):
    """Prefer the nodes of the true set, and no others."""
    for n in range(data.n_nodes):
        theta.nodes[0, n] -= scale
    for place in range(data.node_at[i], data.node_at[i + 1]):
        theta.nodes[0, data.nodes[place]] += 2.0 * scale


@implements(add_prices, TreeSets, SwitchCost)
def _add_prices(data, cost, i, scale, theta):
    """Add what every node adds to cost, and to `shift`, when it is in the set."""
    has_shift, factor = cost.shift.shape[0] > 0, scale * cost.scale[i]
    place, end = data.node_at[i], data.node_at[i + 1]
    for n in range(data.n_nodes):
        truth = 0
        if place < end and data.nodes[place] == n:
            truth = 1
            place += 1
        price = cost.price[n, truth] + (cost.shift[n, truth] if has_shift else 0.0)
        theta.nodes[0, n] += factor * (-price if truth == 1 else price)


@implements(add_prices, TreeSets, SetEdgeCost)
def _add_edge_prices(data, cost, i, scale, theta):
    """Add what every node adds to the cost when it is in the set."""
    augment(data, cost, i, theta, 1.0, scale, theta.nodes[0])


@implements(parts_square, TreeSets)
def _parts_square(data, i, mu, spare, theta):
    """Return |x|^2, plus 1 with a bias, times the squares of the masses, each times alpha.

    True nodes have `missed` times x in their columns.
    """
    total, square = 0.0, row_product(data.features, i, i) + data.has_bias
    for n in range(data.n_nodes):
        total += data.alpha[n] * mu.nodes[0, n] * mu.nodes[0, n]
        theta.nodes[0, n] = square * data.alpha[n] * mu.nodes[0, n]
    if data.missed != 1.0:
        more = data.missed * data.missed - 1.0
        for place in range(data.node_at[i], data.node_at[i + 1]):
            n = data.nodes[place]
            total += more * data.alpha[n] * mu.nodes[0, n] * mu.nodes[0, n]
            theta.nodes[0, n] *= data.missed * data.missed
    return total * square

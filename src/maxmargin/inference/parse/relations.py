"""Relations of arcs: every arc of a tree has one of L relations, each with a score.

The best tree with relations is the best tree under the best relation of each arc; sums over
relations turn into sums over trees in the same way. So only these few loops know of relations.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin.core.compile import kernel
from maxmargin.inference._exp import fast_exp


@kernel
def best_relations(scores, best, relation):
    """Write the score of the best relation of each arc, and which it is.

    Parameters
    ----------
    scores : float64 array of shape (n + 1, n + 1, L)
        [h, m, l] scores the arc from head h to word m with relation l.
    best : float64 array of shape (>= n + 1, >= n + 1), overwritten
    relation : int32 array of the same shape, overwritten
    """
    size, _, n_relations = scores.shape
    for h in range(size):
        for m in range(1, size):
            top, place = scores[h, m, 0], 0
            for label in range(1, n_relations):
                if scores[h, m, label] > top:
                    top, place = scores[h, m, label], label
            best[h, m] = top
            relation[h, m] = place


@kernel
def sum_relations(scores, temperature, sums, shares):
    """Write temperature * log sum over relations of exp(score / temperature), for each arc.

    Parameters are those of `best_relations`; ``sums`` is overwritten, and ``shares``, of the shape
    of ``scores``: how likely each relation is, given the arc.
    """
    size, _, n_relations = scores.shape
    rate = 1.0 / temperature
    for h in range(size):
        for m in range(size):
            top = -np.inf
            for label in range(n_relations):
                top = max(top, scores[h, m, label])
            top = top if m > 0 else -np.inf
            sums[h, m] = top
            for label in range(n_relations):
                apart = (scores[h, m, label] - top) * rate if top > -np.inf else -np.inf
                shares[h, m, label] = apart
        row = shares[h].reshape(-1)  # one line of numbers, so that this loop is vectors
        for at in range(row.shape[0]):
            row[at] = fast_exp(row[at])
        for m in range(size):
            if sums[h, m] > -np.inf:
                total = 0.0
                for label in range(n_relations):
                    total += shares[h, m, label]
                sums[h, m] += temperature * math.log(total)
                for label in range(n_relations):
                    shares[h, m, label] /= total


@kernel
def share_relations(arcs, shares):
    """Replace shares, as `sum_relations` wrote them, by marginals, given those of arcs."""
    size, _, n_relations = shares.shape
    for h in range(size):
        for m in range(size):
            for label in range(n_relations):
                shares[h, m, label] *= arcs[h, m]


@kernel
def stepped_relations(scores, heads, relations, counts, right, wrong, right_at, wrong_at):
    """Write the scores of arcs without a step and with one, for `projective_profile`.

    Parameters
    ----------
    scores : float64 array of shape (n + 1, n + 1, L)
    heads, relations : int32 arrays of length n: the true tree
    counts : int8 array of length n: whether a wrong arc into this word is a step
    right, wrong : float64 arrays of shape (>= n + 1, >= n + 1), overwritten
    right_at, wrong_at : int32 arrays of the same shape, overwritten: the relations that they have

    A true arc has both: with its true relation it is no step, with the best other one it is.
    """
    size, _, n_relations = scores.shape
    for h in range(size):
        for m in range(1, size):
            right[h, m] = wrong[h, m] = -np.inf
            right_at[h, m] = wrong_at[h, m] = 0
            is_counted = counts[m - 1] != 0
            for label in range(n_relations):
                score = scores[h, m, label]
                is_true = heads[m - 1] == h and relations[m - 1] == label
                if is_true or not is_counted:
                    if score > right[h, m]:
                        right[h, m], right_at[h, m] = score, label
                elif score > wrong[h, m]:
                    wrong[h, m], wrong_at[h, m] = score, label

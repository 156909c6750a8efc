"""Relations of arcs: every arc of a tree has one of L relations, each with a score.

The best tree with relations is the best tree under the best relation of each arc; sums over
relations turn into sums over trees in the same way. So only these few loops know of relations.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin.core.compile import kernel


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
def sum_relations(scores, temperature, sums):
    """Write temperature * log sum over relations of exp(score / temperature), for each arc.

    Parameters are those of `best_relations`; ``sums`` is overwritten.
    """
    size, _, n_relations = scores.shape
    for h in range(size):
        for m in range(1, size):
            top = -np.inf
            for label in range(n_relations):
                top = max(top, scores[h, m, label])
            total = 0.0
            if top > -np.inf:
                for label in range(n_relations):
                    total += math.exp((scores[h, m, label] - top) / temperature)
                top += temperature * math.log(total)
            sums[h, m] = top


@kernel
def share_relations(scores, sums, temperature, arcs, labelled):
    """Write the marginals of arcs with relations, given those of arcs, after `sum_relations`.

    labelled : float64 array of the shape of ``scores``, overwritten
    """
    size, _, n_relations = scores.shape
    for h in range(size):
        for m in range(size):
            for label in range(n_relations):
                labelled[h, m, label] = 0.0
                if m > 0 and arcs[h, m] > 0.0:
                    share = math.exp((scores[h, m, label] - sums[h, m]) / temperature)
                    labelled[h, m, label] = arcs[h, m] * share


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

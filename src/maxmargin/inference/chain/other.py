"""The best labelling of a chain among those that differ from a given one.

One Viterbi recursion over beginnings that differ from the reference somewhere, fed at every
position by the one beginning that does not: as fast as the best labelling itself, and half as much
work as the two best.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel


@kernel
def best_other_path(unary, transitions, start, end, reference, same, delta, path):
    """Find a best labelling that is not the reference; return its score.

    Parameters
    ----------
    unary, transitions, start, end : potentials as for `best_path`
    reference : integer array of length L
    same : float64 workspace of length >= L: same[t] is the score of the reference up to position t
    delta : float64 workspace of shape (>= L, K): delta[t, k] is the best score of a beginning that
        reaches label k at position t and differs from the reference by then; as in `same`, the
        unary of position t is not yet added
    path : int32 array of length >= L; path[:L] receives the labelling, the reference itself where
        every other scores -inf

    Ties go to the lowest label, decided from the last position backwards.
    """
    length, n_labels = unary.shape
    same[0] = start[reference[0]]
    for k in range(n_labels):
        delta[0, k] = start[k] if k != reference[0] else -np.inf
    for t in range(1, length):
        before = reference[t - 1]
        leaving = same[t - 1] + unary[t - 1, before]
        for k in range(n_labels):
            delta[t, k] = leaving + transitions[before, k]
        same[t] = delta[t, reference[t]]
        delta[t, reference[t]] = -np.inf
        for j in range(n_labels):
            so_far = delta[t - 1, j] + unary[t - 1, j]
            for k in range(n_labels):
                score = so_far + transitions[j, k]
                delta[t, k] = score if score > delta[t, k] else delta[t, k]

    best = -np.inf
    label = -1
    for k in range(n_labels):
        score = (delta[length - 1, k] + unary[length - 1, k]) + end[k]
        if score > best:
            best = score
            label = k
    # Backwards, from the very sums that were recorded, as in `best_path`. What is left of the path
    # may differ from the reference yet, or be the reference, or, in a tie, either.
    may_differ, may_be_same = label >= 0, label < 0
    for t in range(length - 1, -1, -1):
        path[t] = label if may_differ else reference[t]
        if t == 0:
            break
        before, after = reference[t - 1], path[t]
        leaving = (same[t - 1] + unary[t - 1, before]) + transitions[before, after]
        if may_differ and after != reference[t] and leaving == delta[t, after]:
            may_be_same = True
        label = n_labels
        for j in range(n_labels if may_differ else 0):
            if (delta[t - 1, j] + unary[t - 1, j]) + transitions[j, after] == delta[t, after]:
                label = j
                break
        if may_be_same:
            may_differ = label <= before
            may_be_same = label >= before
    return best

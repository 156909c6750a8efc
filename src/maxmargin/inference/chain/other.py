"""The best labelling of a chain among those that differ from a given one.

One Viterbi recursion runs over the beginnings that differ from the reference somewhere. At every
position it also takes in the beginning that equals the reference so far and leaves it there. This
is as fast as finding the best labelling, and half the work of finding the two best.
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
    same : float64 workspace of length >= L: same[t] is the score of the reference up to position t,
        without the unary of position t
    delta : float64 workspace of shape (>= L, K): delta[t, k] is the best score of a beginning that
        has label k at position t and differs from the reference at t or before; also without the
        unary of position t
    path : int32 array of length >= L; path[:L] receives the labelling, or the reference itself if
        every other labelling scores -inf

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
    # Find the path backwards: as in `best_path`, the same sums are computed again and compared. The
    # labels before position t may differ from the reference (may_differ), be those of the reference
    # (may_be_same), or, in a tie, both.
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

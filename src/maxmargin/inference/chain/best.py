"""The best labelling of a chain, and the score of a given one.

The score of a labelling y of length L is

    start[y_0] + sum_t unary[t, y_t] + sum_{t>0} transitions[y_{t-1}, y_t] + end[y_{L-1}]

`best_path` is the innermost loop of every chain solver, so it is laid out for the vector unit. The
forward pass records maxima only, no back pointers. Its inner loop runs over the next label, which
is contiguous, with four previous labels at a time; LLVM turns it into packed add and max
instructions. The backward pass finds the path by one scan of a column per position. With 26 labels
and 7 positions this takes a quarter of the time of the version that records back pointers.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel


@kernel
def best_path(unary, transitions, start, end, delta, path):
    """Find a best labelling; return its score.

    Parameters
    ----------
    unary : float64 array of shape (L, K), L >= 1
    transitions : float64 array of shape (K, K), [a, b] scores going from a to b
    start, end : float64 arrays of shape (K,)
    delta : float64 workspace of shape (>= L, K), overwritten: delta[t, k] is the best score of a
        beginning that reaches label k at position t, the unary of position t not yet added
    path : int32 array of length >= L; path[:L] receives the labelling

    Potentials may be -inf, never NaN or +inf. Ties go to the lowest label, decided from the last
    position backwards. If every labelling scores -inf, so does the answer, and the path is zeros.
    """
    length, n_labels = unary.shape
    for k in range(n_labels):
        delta[0, k] = start[k]
    n_fours = n_labels - n_labels % 4
    for t in range(1, length):
        for k in range(n_labels):
            delta[t, k] = -np.inf
        for j in range(0, n_fours, 4):
            from0 = delta[t - 1, j] + unary[t - 1, j]
            from1 = delta[t - 1, j + 1] + unary[t - 1, j + 1]
            from2 = delta[t - 1, j + 2] + unary[t - 1, j + 2]
            from3 = delta[t - 1, j + 3] + unary[t - 1, j + 3]
            for k in range(n_labels):
                score0 = from0 + transitions[j, k]
                score1 = from1 + transitions[j + 1, k]
                score2 = from2 + transitions[j + 2, k]
                score3 = from3 + transitions[j + 3, k]
                top01 = score0 if score0 > score1 else score1
                top23 = score2 if score2 > score3 else score3
                top = top01 if top01 > top23 else top23
                delta[t, k] = top if top > delta[t, k] else delta[t, k]
        for j in range(n_fours, n_labels):
            from0 = delta[t - 1, j] + unary[t - 1, j]
            for k in range(n_labels):
                score0 = from0 + transitions[j, k]
                delta[t, k] = score0 if score0 > delta[t, k] else delta[t, k]

    best = -np.inf
    label = 0
    for k in range(n_labels):
        score = (delta[length - 1, k] + unary[length - 1, k]) + end[k]
        if score > best:
            best = score
            label = k
    path[length - 1] = label
    for t in range(length - 1, 0, -1):
        # delta[t, after] is the maximum of these sums. They are computed here in the same order as
        # before, and have no product that could be fused, so one of them equals it exactly.
        after = label
        label = 0
        for j in range(n_labels):
            if (delta[t - 1, j] + unary[t - 1, j]) + transitions[j, after] == delta[t, after]:
                label = j
                break
        path[t - 1] = label
    return best


@kernel
def path_score(unary, transitions, start, end, path):
    """Return the score of path[:L], summed in the order of `best_path`, so to the same bits."""
    length = unary.shape[0]
    score = start[path[0]]
    for t in range(1, length):
        score = (score + unary[t - 1, path[t - 1]]) + transitions[path[t - 1], path[t]]
    return (score + unary[length - 1, path[length - 1]]) + end[path[length - 1]]

"""The best labelling of a chain, and the score of a given one.

The score of a labelling y of length L is

    start[y_0] + sum_t unary[t, y_t] + sum_{t>0} transitions[y_{t-1}, y_t] + end[y_{L-1}]
"""

from __future__ import annotations

import numpy as np

from maxmargin._compile import kernel


@kernel
def best_path(unary, transitions, start, end, delta, path):
    """Find a best labelling; return its score.

    Parameters
    ----------
    unary : float64 array of shape (L, K), L >= 1
    transitions : float64 array of shape (K, K), [a, b] scores going from a to b
    start, end : float64 arrays of shape (K,)
    delta : float64 workspace of shape (>= L, K), overwritten
    path : int32 array of length >= L; path[:L] receives the labelling

    Potentials may be -inf, never NaN or +inf. Ties go to the lowest label, decided from the last
    position backwards. If every labelling scores -inf, so does the answer, and the path is zeros.
    """
    length, n_labels = unary.shape
    for k in range(n_labels):
        delta[0, k] = start[k] + unary[0, k]
    # Only maxima go forward, no back pointers: the inner loop is then a contiguous max over k,
    # which LLVM turns into vector instructions. The path is found again by one column scan a step.
    for t in range(1, length):
        before = delta[t - 1, 0]
        for k in range(n_labels):
            delta[t, k] = before + transitions[0, k]
        for j in range(1, n_labels):
            before = delta[t - 1, j]
            for k in range(n_labels):
                score = before + transitions[j, k]
                delta[t, k] = score if score > delta[t, k] else delta[t, k]
        for k in range(n_labels):
            delta[t, k] += unary[t, k]

    best = -np.inf
    label = 0
    for k in range(n_labels):
        score = delta[length - 1, k] + end[k]
        if score > best:
            best = score
            label = k
    path[length - 1] = label
    for t in range(length - 1, 0, -1):
        after = label
        label = 0
        top = -np.inf
        for j in range(n_labels):
            score = delta[t - 1, j] + transitions[j, after]
            if score > top:
                top = score
                label = j
        path[t - 1] = label
    return best


@kernel
def path_score(unary, transitions, start, end, path):
    """Score of the labelling path[:L] under the potentials of `best_path`."""
    length = unary.shape[0]
    score = start[path[0]] + unary[0, path[0]]
    for t in range(1, length):
        score = (score + transitions[path[t - 1], path[t]]) + unary[t, path[t]]
    return score + end[path[length - 1]]

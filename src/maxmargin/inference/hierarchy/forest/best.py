"""The best set of nodes of a forest."""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel


@kernel
def best_set(scores, parent, to_leaves, must, below, single, y):
    """Write a best set into y; return its score, -inf if there is none.

    Parameters
    ----------
    scores : float64 array of shape (>= M,)
    parent : int32 array of shape (M,), -1 for roots
    to_leaves : int
        0 for closed sets, 1 for unions of paths to leaves.
    must : int8 array of shape (M,) or (0,)
    below : float64 workspace of shape (>= M + 1,): the best score of what is below a node in y;
        then with the node itself
    single : int32 workspace of shape (>= M + 1,): the only child that is taken, -2 if children are
        taken because they gain or must, -1 if there are no children
    y : int8 array of length >= M, 0 or 1
    """
    M = parent.shape[0]
    has_must = must.shape[0] > 0
    for n in range(M + 1):
        below[n] = 0.0
        single[n] = -1
    for n in range(M - 1, -1, -1):
        below[n] += scores[n]
        gain = below[n]
        above = parent[n] if parent[n] >= 0 else M
        if gain > 0.0 or (has_must and must[n] == 1):
            if to_leaves == 1 and single[above] >= 0:
                below[above] = 0.0
            single[above] = -2
            below[above] += gain
        elif to_leaves == 1 and (
            single[above] == -1 or (single[above] >= 0 and gain >= below[above])
        ):
            # Nothing gains so far: keep the best child. Of equals the lowest, which comes last.
            single[above] = n
            below[above] = gain
    total = below[M]
    for n in range(M):
        above = parent[n] if parent[n] >= 0 else M
        y[n] = 0
        if above == M or y[above] == 1:
            is_taken = below[n] > 0.0 or (has_must and must[n] == 1)
            if to_leaves == 1 and single[above] >= 0:
                is_taken = single[above] == n
            if is_taken and total > -np.inf:
                y[n] = 1
    return total

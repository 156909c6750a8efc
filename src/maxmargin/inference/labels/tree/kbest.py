"""The k best label sets of a forest."""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel
from maxmargin.inference.merge import merge_sums


@kernel
def best_k_tree(unary, pair, tree, k, best, part, message, head, chosen, at, ys, scores):
    """Find the k best label sets, best first; return how many there are.

    Parameters
    ----------
    unary : float64 array of shape (m,)
    pair : float64 array of shape (>= E,)
    tree : TreeOrder
    k : int, at least 1
    best : float64 workspace of shape (>= m + 1, 2, >= k): the k best scores of the subtree of a
        label, per state of the label; row m joins all trees
    part : float64 workspace of length >= k
    message : float64 workspace of length >= k
    head : int32 workspace of shape (3, >= k)
    chosen : int32 workspace of shape (>= m, 2, 3, >= k): chosen[j, s, :, r] belongs to entry r of
        the list of j's parent in state s after j was merged into it. It holds the rank in the
        parent's list before the merge, the state of j, and the rank in the list of j
    at : int32 workspace of length >= m + 1
    ys : int32 array of shape (>= k, >= m); rows [0:count] receive the label sets
    scores : float64 array of length >= k; [0:count] receives their scores, from the highest down

    Label sets that score -inf are never returned, so there may be fewer than k. Takes O(m k^2).
    """
    m = unary.shape[0]
    for j in range(m + 1):
        for rank in range(k):
            best[j, 0, rank] = -np.inf
            best[j, 1, rank] = -np.inf
        best[j, 0, 0] = 0.0
        if j < m:
            best[j, 1, 0] = unary[j]
    for i in range(m - 1, -1, -1):
        j = tree.order[i]
        above = tree.parent[j]
        into = above if above >= 0 else m
        for state in range(2 if above >= 0 else 1):
            weight = pair[tree.edge[j]] if state == 1 else 0.0
            _merge_states(best[j], weight, k, message, head[1], head[2])
            merge_sums(best[into, state], message, k, part, head, chosen[j, state])
    count = 0
    while count < k and best[m, 0, count] > -np.inf:
        scores[count] = best[m, 0, count]
        at[m] = count
        for i in range(m):
            j = tree.order[i]
            above = tree.parent[j]
            into = above if above >= 0 else m
            state = ys[count, above] if above >= 0 else 0
            rank = at[into]
            at[into] = chosen[j, state, 0, rank]
            ys[count, j] = chosen[j, state, 1, rank]
            at[j] = chosen[j, state, 2, rank]
        count += 1
    return count


@kernel
def _merge_states(best, weight, k, message, own_state, own_rank):
    """Merge best[0] and best[1] + weight, the lists of the two states of a label, into message.

    own_state and own_rank receive the state and the rank that each entry came from.
    """
    off = 0
    on = 0
    for rank in range(k):
        # Both lists have an entry left, as off + on = rank < k.
        if best[0, off] >= best[1, on] + weight:
            message[rank] = best[0, off]
            own_state[rank] = 0
            own_rank[rank] = off
            off += 1
        else:
            message[rank] = best[1, on] + weight
            own_state[rank] = 1
            own_rank[rank] = on
            on += 1

"""The best label set of a forest."""

from __future__ import annotations

from maxmargin.core.compile import kernel


@kernel
def best_tree(unary, pair, tree, up, y):
    """Write a best label set into y; return its score.

    Parameters
    ----------
    unary : float64 array of shape (m,)
    pair : float64 array of shape (>= E,)
    tree : TreeOrder
    up : float64 workspace of shape (>= m, 2): up[j, s] is the best score of the subtree of label j
        with j in state s, off 0 or on 1
    y : int32 array of length >= m
    """
    m = unary.shape[0]
    for j in range(m):
        up[j, 0] = 0.0
        up[j, 1] = unary[j]
    score = 0.0
    for i in range(m - 1, -1, -1):
        j = tree.order[i]
        off = up[j, 0]
        on = up[j, 1]
        above = tree.parent[j]
        if above < 0:
            score += max(off, on)
        else:
            up[above, 0] += max(off, on)
            up[above, 1] += max(off, on + pair[tree.edge[j]])
    for i in range(m):
        j = tree.order[i]
        above = tree.parent[j]
        on = up[j, 1]
        if above >= 0 and y[above] == 1:
            on += pair[tree.edge[j]]
        y[j] = 1 if on > up[j, 0] else 0
    return score

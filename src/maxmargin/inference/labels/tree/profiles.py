"""The best label set of a forest at every number of wrong labels."""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel


@kernel
def tree_profile(unary, pair, tree, truth, size, table, before, message, scores):
    """Fill scores[d] with the best score at d wrong labels, 0 to m; -inf where there is none.

    Parameters
    ----------
    unary : float64 array of shape (m,)
    pair : float64 array of shape (>= E,)
    tree : TreeOrder
    truth : int32 array of length >= m: 0, 1, or -1 where unknown; such a label is off and is never
        wrong
    size : int32 workspace of shape (2, >= m + 1)
    table : float64 workspace of shape (>= m + 1, 2, >= m + 1)
    before : float64 workspace of shape (>= m, 2, >= m + 1)
    message : float64 workspace of length >= m + 1
    scores : float64 array of length >= m + 1

    Afterwards the workspaces hold what `write_tree_level` needs. table[j, s, d] is the best score
    of the subtree of label j with j in state s and d labels wrong; size[0, j] is how many labels of
    the subtree can be wrong; row m joins all trees. before[c] and size[1, c] are the table and the
    size of the parent of c before c was merged into it. To merge two parts takes as many steps as
    the product of their sizes, O(m^2) in all.
    """
    m = unary.shape[0]
    for j in range(m):
        size[0, j] = 0 if truth[j] < 0 else 1
        table[j, 0, 0] = 0.0 if truth[j] <= 0 else -np.inf
        table[j, 1, 0] = unary[j] if truth[j] == 1 else -np.inf
        if truth[j] >= 0:
            table[j, 0, 1] = 0.0 if truth[j] == 1 else -np.inf
            table[j, 1, 1] = unary[j] if truth[j] == 0 else -np.inf
    size[0, m] = 0
    table[m, 0, 0] = 0.0
    for i in range(m - 1, -1, -1):
        j = tree.order[i]
        above = tree.parent[j]
        n = size[0, j]
        # The roots are merged into row m, which has one state.
        into = above if above >= 0 else m
        n_before = size[0, into]
        size[1, j] = n_before
        size[0, into] = n_before + n
        for state in range(2 if above >= 0 else 1):
            weight = pair[tree.edge[j]] if state == 1 else 0.0
            for d in range(n + 1):
                message[d] = max(table[j, 0, d], table[j, 1, d] + weight)
            for c in range(n_before + 1):
                before[j, state, c] = table[into, state, c]
            for c in range(n_before + n + 1):
                table[into, state, c] = -np.inf
            for c in range(n_before + 1):
                base = before[j, state, c]
                for d in range(n + 1):
                    value = base + message[d]
                    if value > table[into, state, c + d]:
                        table[into, state, c + d] = value
    for d in range(m + 1):
        scores[d] = table[m, 0, d] if d <= size[0, m] else -np.inf


@kernel
def write_tree_level(pair, tree, m, level, size, table, before, left, y):
    """Write a best label set with `level` wrong labels into y, after `tree_profile`.

    Parameters
    ----------
    pair, tree : as given to `tree_profile`
    size, table, before : as `tree_profile` filled them
    m : int, the number of labels
    level : int; if there is no such label set, all of y is -1
    left : int32 workspace of length >= m + 1: how many labels of a subtree are still to be wrong
    y : int32 array of length >= m
    """
    if level > size[0, m] or table[m, 0, level] == -np.inf:
        for j in range(m):
            y[j] = -1
        return
    left[m] = level
    for i in range(m):
        j = tree.order[i]
        above = tree.parent[j]
        into = above if above >= 0 else m
        state = y[above] if above >= 0 else 0
        weight = pair[tree.edge[j]] if state == 1 else 0.0
        total = left[into]
        top = -np.inf
        taken = 0
        label = 0
        for d in range(max(0, total - size[1, j]), min(size[0, j], total) + 1):
            base = before[j, state, total - d]
            for own in range(2):
                value = base + (table[j, own, d] + (weight if own == 1 else 0.0))
                if value > top:
                    top = value
                    taken = d
                    label = own
        y[j] = label
        left[j] = taken
        left[into] = total - taken

"""The k best labellings of a chain.

For every position and label a list keeps the k best beginnings that end there, each as a score, the
previous label and the rank in the list of that previous label. The list of a label is merged from
the K sorted lists of the previous position; only the heads of these lists are compared. This takes
O(L K^2 k) in all.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel


@kernel
def best_k_paths(
    unary, transitions, start, end, k, best, from_label, from_rank, head, head_score, paths, scores
):
    """Find the k best labellings, best first; return how many there are.

    Parameters
    ----------
    unary, transitions, start, end : potentials as for `best_path`
    k : int, at least 1
    best : float64 workspace of shape (>= L, K, >= k)
    from_label, from_rank : int32 workspaces of shape (>= L, K, >= k)
    head : int32 workspace of shape (K,)
    head_score : float64 workspace of shape (K,)
    paths : int32 array of shape (>= k, >= L); rows [0:count] receive the labellings
    scores : float64 array of length >= k; [0:count] receives their scores, from the highest down

    Labellings that score -inf are never returned, so there may be fewer than k. Sums are taken in
    the order of `best_path`, so the first score is exactly that of `best_path`, and ties are broken
    in the same way.
    """
    length, n_labels = unary.shape
    for label in range(n_labels):
        best[0, label, 0] = start[label]
        for rank in range(1, k):
            best[0, label, rank] = -np.inf
    for t in range(1, length):
        for label in range(n_labels):
            for j in range(n_labels):
                head[j] = 0
                head_score[j] = (best[t - 1, j, 0] + unary[t - 1, j]) + transitions[j, label]
            for rank in range(k):
                j = _first_best(head_score)
                if j < 0:
                    best[t, label, rank] = -np.inf
                    continue
                best[t, label, rank] = head_score[j]
                from_label[t, label, rank] = j
                from_rank[t, label, rank] = head[j]
                head[j] += 1
                head_score[j] = -np.inf
                if head[j] < k:
                    below = best[t - 1, j, head[j]] + unary[t - 1, j]
                    head_score[j] = below + transitions[j, label]

    last = length - 1
    for j in range(n_labels):
        head[j] = 0
        head_score[j] = (best[last, j, 0] + unary[last, j]) + end[j]
    for count in range(k):
        label = _first_best(head_score)
        if label < 0:
            return count
        scores[count] = head_score[label]
        rank = head[label]
        head[label] += 1
        head_score[label] = -np.inf
        if head[label] < k:
            head_score[label] = (best[last, label, head[label]] + unary[last, label]) + end[label]
        paths[count, last] = label
        for t in range(last, 0, -1):
            label, rank = from_label[t, label, rank], from_rank[t, label, rank]
            paths[count, t - 1] = label
    return k


@kernel
def _first_best(scores):
    """Return the lowest index of the highest score, or -1 if all are -inf."""
    top = -np.inf
    index = -1
    for i in range(scores.shape[0]):
        if scores[i] > top:
            top = scores[i]
            index = i
    return index

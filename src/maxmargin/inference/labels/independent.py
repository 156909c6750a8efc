"""Label sets without edges: each label is on or off by its own score.

All kernels over label sets maximise ``sum_j unary[j] y_j`` (plus edges, elsewhere) over y in
{0, 1}^m. A unary of -inf keeps its label off. Without edges, the gain of flipping a label does not
depend on the other labels, so every answer can be read off sorted lists of gains.

A truth may hold -1 where a label is unknown. Such a label is always off, adds nothing to any count,
and is never wrong.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel

__all__ = [
    "best_counts",
    "best_k_labels",
    "best_labels",
    "flip_profile",
    "sort_falling",
    "write_counts",
    "write_flipped",
]


@kernel
def best_labels(unary, y):
    """Write the best label set into y (int32, length >= m); return its score.

    A label of score 0 stays off.
    """
    score = 0.0
    for j in range(unary.shape[0]):
        y[j] = 0
        if unary[j] > 0.0:
            y[j] = 1
            score += unary[j]
    return score


@kernel
def best_k_labels(unary, k, order, spare, price, loss, last, base, queue, ys, scores):
    """Find the k best label sets, best first; return how many there are.

    Parameters
    ----------
    unary : float64 array of shape (m,)
    k : int, at least 1
    order, spare : int32 workspaces of length >= m
    price : float64 workspace of length >= m
    loss : float64 workspace of length >= 2 k
    last, base : int32 workspaces of length >= 2 k
    queue : int32 workspace of length >= k
    ys : int32 array of shape (>= k, >= m); rows [0:count] receive the label sets
    scores : float64 array of length >= k; [0:count] receives their scores, from the highest down

    To flip label j of the best set costs |unary[j]|, so the k best label sets are the k cheapest
    sets of flips. Sort the flips by price. Then each set of flips except {first flip} has one
    parent: the set follows from it if the flip after its last flip either replaces that last flip
    or is added to it. No set is cheaper than its parent, so always expanding the cheapest set in
    the queue visits all sets in the order of their prices.

    A label whose unary is -inf is never on, so there may be fewer than k label sets.
    """
    m = unary.shape[0]
    best = best_labels(unary, ys[0])
    scores[0] = best
    n = 0
    for j in range(m):
        # price is minus the cost of the flip: `sort_falling` then puts the cheapest flip first.
        price[j] = -abs(unary[j])
        if price[j] > -np.inf:
            order[n] = j
            n += 1
    sort_falling(price, order, n, spare)
    if n == 0 or k == 1:
        return 1
    # Set s of flips is the set base[s] (-1: the empty set) with the flip order[last[s]] added.
    loss[0] = -price[order[0]]
    last[0] = 0
    base[0] = -1
    queue[0] = 0
    n_sets = 1
    n_queued = 1
    count = 1
    head = 0
    while head < n_queued:
        this = queue[head]
        head += 1
        for j in range(m):
            ys[count, j] = ys[0, j]
        flipped = this
        while flipped >= 0:
            j = order[last[flipped]]
            ys[count, j] = 1 - ys[count, j]
            flipped = base[flipped]
        scores[count] = best - loss[this]
        count += 1
        if count == k:
            break
        following = last[this] + 1
        if following < n:
            for parent in (this, base[this]):
                before = loss[parent] if parent >= 0 else 0.0
                loss[n_sets] = before - price[order[following]]
                last[n_sets] = following
                base[n_sets] = parent
                # Only k - 1 sets are ever taken from the queue: drop those that come later.
                n_queued = _enqueue(n_sets, loss, queue, head, n_queued, k - 1)
                n_sets += 1
    return count


@kernel
def _enqueue(new, loss, queue, head, n_queued, limit):
    """Insert `new` into queue[head:n_queued], which is sorted by loss; return the new end.

    Sets of equal loss stay in the order of their arrival. The queue ends before `limit`.
    """
    place = n_queued
    while place > head and loss[queue[place - 1]] > loss[new]:
        place -= 1
    if place >= limit:
        return n_queued
    n_queued = min(n_queued + 1, limit)
    for i in range(n_queued - 1, place, -1):
        queue[i] = queue[i - 1]
    queue[place] = new
    return n_queued


@kernel
def flip_profile(unary, truth, gain, order, spare, level):
    """Fill level[d] with the best score of d wrong labels minus the score of the truth; return n.

    Parameters
    ----------
    unary : float64 array of shape (m,), finite at the true labels
    truth : int32 array of length >= m: 0, 1, or -1 where unknown
    gain : float64 workspace of length >= m
    order : int32 array of length >= m; order[:n] receives the known labels, sorted so that the flip
        with the largest gain comes first. The output of level d is the truth with order[:d] flipped
    spare : int32 workspace of length >= m
    level : float64 array of length >= m + 1; level[n + 1:m + 1] receives -inf

    Returns the number n of known labels.
    """
    m = unary.shape[0]
    n = 0
    for j in range(m):
        gain[j] = -unary[j] if truth[j] == 1 else unary[j]
        if truth[j] >= 0:
            order[n] = j
            n += 1
    sort_falling(gain, order, n, spare)
    level[0] = 0.0
    for d in range(n):
        level[d + 1] = level[d] + gain[order[d]]
    for d in range(n + 1, m + 1):
        level[d] = -np.inf
    return n


@kernel
def write_flipped(truth, order, d, y):
    """Write the truth with its labels order[:d] flipped into y; 0 where the truth is unknown."""
    for j in range(truth.shape[0]):
        y[j] = 1 if truth[j] == 1 else 0
    for i in range(d):
        y[order[i]] = 1 - y[order[i]]


@kernel
def best_counts(unary, truth, order, spare, sums):
    """Sort true and false labels by score, for costs that depend only on how many of each are on.

    Parameters
    ----------
    unary : float64 array of shape (m,)
    truth : int32 array of length >= m: 0, 1, or -1 where unknown
    order : int32 array of length >= m; receives the true labels, highest score first, and right
        after them the false labels, highest score first
    spare : int32 workspace of length >= m
    sums : float64 array of shape (2, >= m + 1)

    Returns (n_true, n_false). The best score with a true and b false labels on is
    sums[0, a] + sums[1, b], and `write_counts` writes the output that has it.
    """
    m = unary.shape[0]
    n_true = 0
    for j in range(m):
        if truth[j] == 1:
            order[n_true] = j
            n_true += 1
    n = n_true
    for j in range(m):
        if truth[j] == 0:
            order[n] = j
            n += 1
    falses = order[n_true:]
    sort_falling(unary, order, n_true, spare)
    sort_falling(unary, falses, n - n_true, spare)
    sums[0, 0] = 0.0
    for a in range(n_true):
        sums[0, a + 1] = sums[0, a] + unary[order[a]]
    sums[1, 0] = 0.0
    for b in range(n - n_true):
        sums[1, b + 1] = sums[1, b] + unary[falses[b]]
    return n_true, n - n_true


@kernel
def write_counts(m, order, n_true, a, b, y):
    """Write into y[:m] the best output with a true and b false labels on.

    order, n_true : as `best_counts` wrote and returned them
    """
    for j in range(m):
        y[j] = 0
    for i in range(a):
        y[order[i]] = 1
    for i in range(b):
        y[order[n_true + i]] = 1


@kernel
def sort_falling(keys, order, n, spare):
    """Sort order[:n] so that keys[order[:n]] falls; equal keys keep their order.

    spare : int32 workspace of length >= n

    This is a merge sort of our own, because the sorts of numba allocate memory.
    """
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            left = start
            right = middle
            for place in range(start, end):
                if right >= end or (left < middle and keys[order[left]] >= keys[order[right]]):
                    spare[place] = order[left]
                    left += 1
                else:
                    spare[place] = order[right]
                    right += 1
        for place in range(n):
            order[place] = spare[place]
        width *= 2

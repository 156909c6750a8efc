"""Marginals of a batch of chains by products of exponentials, where none can underflow.

`marginal.forward_backward` takes an exponential per pair of labels and step, for any scores. Here
there is one per pair of labels for the whole batch, and one per label and position; a step is a
product of a vector and a matrix, scaled to the sum 1. That keeps all digits as long as no factor is
too small: finite scores of a step, and of a position, lie within `WIDEST` of their largest, and the
scaled vectors have no numbers between 0 and `LEAST`. Then a product of three is above 1e-237, and 0
only where a score of -inf forbids. Labels that no path from the start reaches are left out on the
way back, where nothing else would bound their sums. All else is told, and left to
`forward_backward`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.core.compile import kernel

WIDEST = 100.0
LEAST = 1e-150


@kernel
def scaled_batch(
    unary: Any,
    edges: Any,
    kept: Any,
    offsets: Any,
    steps: Any,
    room: Any,
    totals: Any,
    node: Any,
    shared: Any,
) -> bool:
    """Fill log partitions and expected parts of p(y) ~ exp(score(y)); return whether that is so.

    Parameters
    ----------
    unary : float64 array of shape (B, T, K), without NaN and +inf
    edges : float64 array of shape (K + 2, K): transitions, start, end
    kept, offsets : int64 arrays; sequence j is kept[j] of the batch, and has the length
        offsets[j + 1] - offsets[j]
    steps : float64 workspace of shape (2, K, K)
    room : float64 workspace of shape (4, T, K)
    totals : float64 array of shape (B,)
    node : float64 array of shape (B, T, K), zeros; [i, t, k] receives p(y_t = k)
    shared : float64 array of shape (B, K + 2, K), zeros; receives expected transitions, starts and
        ends

    Where it returns False, what it wrote has no meaning: numbers could be lost to underflow, or all
    labellings of a sequence are forbidden.
    """
    n_labels = unary.shape[2]
    transitions, start, end = edges[:n_labels], edges[n_labels], edges[n_labels + 1]
    to_next, to_last = steps[0], steps[1]  # exp(transitions), and its transpose
    high, low = -np.inf, np.inf
    for a in range(n_labels):
        for b in range(n_labels):
            score = transitions[a, b]
            high = max(high, score)
            low = score if -np.inf < score < low else low
    if high - low > WIDEST:
        return False
    high = 0.0 if high == -np.inf else high  # nothing may follow anything
    for a in range(n_labels):
        for b in range(n_labels):
            to_next[a, b] = to_last[b, a] = math.exp(transitions[a, b] - high)
    forward, backward, weight, ahead = room[0], room[1], room[2], room[3]
    for j in range(kept.shape[0]):
        i, length = kept[j], offsets[j + 1] - offsets[j]
        total = (length - 1) * high
        is_lost = False
        for t in range(length):
            best, least = -np.inf, np.inf
            for k in range(n_labels):
                score = unary[i, t, k]
                score += start[k] if t == 0 else 0.0
                score += end[k] if t == length - 1 else 0.0
                weight[t, k] = score
                best = max(best, score)
                least = score if -np.inf < score < least else least
            if best == -np.inf or best - least > WIDEST:
                return False
            for k in range(n_labels):
                weight[t, k] = math.exp(weight[t, k] - best)
                forward[t, k] = 1.0 if t == 0 else 0.0
            if t > 0:
                for a in range(n_labels):
                    before = forward[t - 1, a]
                    for k in range(n_labels):
                        forward[t, k] += before * to_next[a, k]
            mass = 0.0
            for k in range(n_labels):
                forward[t, k] *= weight[t, k]
                mass += forward[t, k]
            if mass == 0.0:
                return False
            for k in range(n_labels):
                forward[t, k] /= mass
                is_lost |= 0.0 < forward[t, k] < LEAST
            total += best + math.log(mass)
            ahead[t, 0] = mass  # until the way back
        if is_lost:
            return False
        for k in range(n_labels):
            backward[length - 1, k] = 1.0 if forward[length - 1, k] > 0.0 else 0.0
        for t in range(length - 1, 0, -1):
            mass = ahead[t, 0]
            for k in range(n_labels):
                ahead[t, k] = weight[t, k] * backward[t, k] / mass
                backward[t - 1, k] = 0.0
            for b in range(n_labels):
                after = ahead[t, b]
                for k in range(n_labels):
                    backward[t - 1, k] += after * to_last[b, k]
            for k in range(n_labels):
                if forward[t - 1, k] == 0.0:
                    backward[t - 1, k] = 0.0
                is_lost |= 0.0 < backward[t - 1, k] < LEAST
            for a in range(n_labels):
                before = forward[t - 1, a]
                for k in range(n_labels):
                    shared[i, a, k] += before * ahead[t, k]
        if is_lost:
            return False
        for a in range(n_labels):
            for k in range(n_labels):
                shared[i, a, k] *= to_next[a, k]
        for t in range(length):
            for k in range(n_labels):
                node[i, t, k] = forward[t, k] * backward[t, k]
        for k in range(n_labels):
            shared[i, n_labels, k] = node[i, 0, k]
            shared[i, n_labels + 1, k] = node[i, length - 1, k]
        totals[i] = total
    return True

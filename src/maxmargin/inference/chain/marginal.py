"""Marginals of a chain: of the Gibbs distribution at a temperature, and of the maximum.

A sum over labellings, sum_y exp(score(y) / temperature), is stored as two numbers,

    exp(top / temperature + log_sum),    top = the best score in the sum, log_sum >= 0,

because a single number would lose one of them to rounding: log_sum, which counts the tied
labellings, at low temperatures, and the scores at high temperatures. Marginals are products of
conditionals p(previous label | label). So they lie in [0, 1], agree with one another and sum to
one, whatever the rounding of the partition function.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin.core.compile import kernel


@kernel
def forward_backward(unary, transitions, start, end, temperature, top, log_sum, node, edge):
    """Fill node and edge marginals of p(y) ~ exp(score(y) / temperature); return log Z.

    Parameters
    ----------
    unary, transitions, start, end : potentials as for `best_path`
    temperature : float, positive and finite
    top, log_sum : float64 workspaces of shape (>= L, K)
    node : float64 array of shape (>= L, K); node[t, k] receives p(y_t = k)
    edge : float64 array of shape (>= L - 1, K, K); edge[t, j, k] receives p(y_t = j, y_{t+1} = k)

    Returns log sum_y exp(score(y) / temperature), which is infinite where a float64 cannot hold
    it. If every labelling scores -inf it is -inf and the marginals are zeros.
    """
    length, n_labels = unary.shape
    for t in range(1, length):
        for j in range(n_labels):
            for k in range(n_labels):
                edge[t - 1, j, k] = transitions[j, k]
    return gibbs_chain(unary, start, end, temperature, top, log_sum, node, edge)


@kernel
def gibbs_chain(unary, start, end, temperature, top, log_sum, node, edge):
    """Do as `forward_backward`, where every step has transitions of its own.

    edge[t] holds the scores of the step from position t to t + 1, and receives its marginals.
    """
    length, n_labels = unary.shape
    for k in range(n_labels):
        top[0, k] = start[k]
        log_sum[0, k] = 0.0
    for t in range(1, length):
        for k in range(n_labels):
            best = -np.inf
            for j in range(n_labels):
                score = (top[t - 1, j] + unary[t - 1, j]) + edge[t - 1, j, k]
                edge[t - 1, j, k] = score
                best = max(best, score)
            top[t, k] = best
            # `_normalise` overwrites edge[t - 1, :, k] by p(y_{t-1} | y_t = k), in which only
            # positions up to t count.
            log_sum[t, k] = _normalise(edge[t - 1, :, k], log_sum[t - 1], best, temperature)

    best = -np.inf
    for k in range(n_labels):
        score = (top[length - 1, k] + unary[length - 1, k]) + end[k]
        node[length - 1, k] = score
        best = max(best, score)
    total = _normalise(node[length - 1], log_sum[length - 1], best, temperature)
    for t in range(length - 1, 0, -1):
        for j in range(n_labels):
            node[t - 1, j] = 0.0
            for k in range(n_labels):
                edge[t - 1, j, k] *= node[t, k]
                node[t - 1, j] += edge[t - 1, j, k]
    return best / temperature + total


@kernel
def _normalise(scores, log_sum, best, temperature):
    """Turn scores into their probabilities; return log sum exp((scores - best) / T + log_sum).

    If best = -inf, the probabilities are zeros and the function returns 0: top = -inf alone says
    that the sum is 0.
    """
    n_labels = scores.shape[0]
    if best == -np.inf:
        for j in range(n_labels):
            scores[j] = 0.0
        return 0.0
    highest = -np.inf
    for j in range(n_labels):
        scores[j] = (scores[j] - best) / temperature + log_sum[j]
        highest = max(highest, scores[j])
    total = 0.0
    for j in range(n_labels):
        scores[j] = math.exp(scores[j] - highest)
        total += scores[j]
    for j in range(n_labels):
        scores[j] /= total
    return highest + math.log(total)


@kernel
def path_max_marginals(unary, transitions, start, end, forward, result):
    """Fill result[t, k] with the best score of a labelling that has label k at position t.

    Parameters
    ----------
    unary, transitions, start, end : potentials as for `best_path`
    forward : float64 workspace of shape (>= L, K)
    result : float64 array of shape (>= L, K), overwritten; -inf where every such labelling is
        forbidden
    """
    length, n_labels = unary.shape
    for k in range(n_labels):
        forward[0, k] = start[k] + unary[0, k]
        result[length - 1, k] = end[k]
    for t in range(1, length):
        for k in range(n_labels):
            forward[t, k] = -np.inf
        for j in range(n_labels):
            before = forward[t - 1, j]
            for k in range(n_labels):
                score = before + transitions[j, k]
                forward[t, k] = score if score > forward[t, k] else forward[t, k]
        for k in range(n_labels):
            forward[t, k] += unary[t, k]
    # Until the last loop adds `forward`, result[t, j] is the best score of all after label j at t.
    for t in range(length - 2, -1, -1):
        for j in range(n_labels):
            best = -np.inf
            for k in range(n_labels):
                score = transitions[j, k] + (unary[t + 1, k] + result[t + 1, k])
                best = score if score > best else best
            result[t, j] = best
    for t in range(length):
        for k in range(n_labels):
            result[t, k] += forward[t, k]

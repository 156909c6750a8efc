"""Probabilities of nodes under p(y) ~ exp(score / temperature) on a forest; best score per node."""

from __future__ import annotations

import math

import numpy as np

from maxmargin.core.compile import kernel

#: If all l_c are below this, log(exp(s) - 1), s = sum_c log(1 + exp(l_c)), is log sum_c exp(l_c):
#: products of two exp(l_c) are lost in rounding.
_LOW = -40.0


@kernel
def _softplus(x):
    """Return log(1 + exp(x))."""
    return x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))


@kernel
def _log_some(log_any, top, rest):
    """Return the log of the weight of all sets below a node that hold a child of it.

    ``log_any`` is sum_c log(1 + exp(l_c)), ``top`` the largest l_c, and ``rest`` the sum of
    exp(l_c - top).
    """
    if top == -np.inf:
        return -np.inf
    if top < _LOW:
        return top + math.log(rest)
    return log_any + math.log(-math.expm1(-log_any))


@kernel
def set_marginals(scores, parent, n_children, to_leaves, temperature, log_any, top, rest, node):
    """Write the probability of each node into ``node``; return the log-partition.

    Arguments are those of `best_set`, and

    n_children : int32 array of shape (M,)
    log_any, top, rest : float64 workspaces of shape (M + 1,)
    node : float64 array of shape (M,)
    """
    M = parent.shape[0]
    for n in range(M + 1):
        log_any[n] = 0.0
        top[n] = -np.inf
        rest[n] = 0.0
    for n in range(M - 1, -1, -1):
        own = log_any[n]
        if to_leaves == 1 and n_children[n] > 0:
            own = _log_some(log_any[n], top[n], rest[n])
        node[n] = scores[n] / temperature + own  # log of the weight of the sets of n and below
        above = parent[n] if parent[n] >= 0 else M
        log_any[above] += _softplus(node[n])
        if node[n] > top[above]:
            if rest[above] > 0.0:
                rest[above] *= math.exp(top[above] - node[n])
            rest[above] += 1.0
            top[above] = node[n]
        elif node[n] > -np.inf:
            rest[above] += math.exp(node[n] - top[above])
    total = log_any[M]
    if to_leaves == 1:
        total = _log_some(log_any[M], top[M], rest[M])
    for n in range(M):
        above = parent[n] if parent[n] >= 0 else M
        p = 1.0 if above == M else node[above]
        log_weight = node[n]
        if p == 0.0 or log_weight == -np.inf:
            node[n] = 0.0
            continue
        if to_leaves == 1:
            # The other children are free once n is in: weight exp(l_n) times the product over the
            # others of 1 + exp(l_c), over the weight of all sets with a child at least.
            others = log_any[above] - _softplus(log_weight)
            some = _log_some(log_any[above], top[above], rest[above])
            share = math.exp(min(log_weight + others - some, 0.0))
        else:
            share = math.exp(log_weight - _softplus(log_weight))
        node[n] = p * share
    return total


@kernel
def set_max_marginals(scores, parent, n_children, to_leaves, below, most, second, out):
    """Write the best score of a set without and with each node into ``out``, of shape (M, 2).

    Returns the best score of all. Arguments are those of `best_set`, and

    below : float64 workspace of shape (3, M + 1): the best score of a node with what is below it,
        the sum of the positive ones of its children, and how many these are
    most, second : float64 workspaces of shape (M + 1,): the two largest scores of children
    """
    M = parent.shape[0]
    for n in range(M + 1):
        below[1, n] = 0.0
        below[2, n] = 0.0
        most[n] = second[n] = -np.inf
    for n in range(M - 1, -1, -1):
        own = below[1, n]
        if to_leaves == 1 and n_children[n] > 0 and below[2, n] == 0.0:
            own = most[n]
        gain = scores[n] + own
        below[0, n] = gain
        above = parent[n] if parent[n] >= 0 else M
        if gain > 0.0:
            below[1, above] += gain
            below[2, above] += 1.0
        if gain > most[above]:
            second[above] = most[above]
            most[above] = gain
        elif gain > second[above]:
            second[above] = gain
    total = below[1, M]
    if to_leaves == 1 and below[2, M] == 0.0:
        total = most[M]
    for n in range(M):
        above = parent[n] if parent[n] >= 0 else M
        gain = below[0, n]
        if above == M:
            on_above, off_above = total, -np.inf
        else:
            on_above, off_above = out[above, 1], out[above, 0]
        if on_above == -np.inf:
            out[n, 0] = off_above
            out[n, 1] = -np.inf
            continue
        # What the best set with `above` has below it, with n and without n.
        positive = max(gain, 0.0)
        siblings = below[1, above] - positive
        kept = below[1, above]
        without = siblings
        if to_leaves == 1:
            if below[2, above] == 0.0:
                kept = most[above]
            if below[2, above] - (1.0 if gain > 0.0 else 0.0) == 0.0:
                without = second[above] if gain == most[above] else most[above]
        rest = on_above - kept
        out[n, 1] = rest + siblings + gain
        out[n, 0] = max(off_above, rest + without)
    return total

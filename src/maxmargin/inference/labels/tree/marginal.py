"""Marginals of the label sets of a forest, at a temperature."""

from __future__ import annotations

import math

from maxmargin.core.compile import kernel


@kernel
def tree_marginals(unary, edges, pair, tree, temperature, top, log_sum, given, node, edge):
    """Fill node and edge marginals of p(y) ~ exp(score(y) / temperature); return log Z.

    Parameters
    ----------
    unary : float64 array of shape (m,)
    edges : int32 array of shape (E, 2)
    pair : float64 array of shape (>= E,)
    tree : TreeOrder
    temperature : float, positive and finite
    top, log_sum : float64 workspaces of shape (>= m, 2)
    given : float64 workspace of shape (>= m, 2, 2)
    node : float64 array of shape (>= m, 2); node[j, k] receives p(y_j = k)
    edge : float64 array of shape (>= E, 2, 2); edge[e, k, l] receives p(y_a = k, y_b = l)

    As on chains, a sum over label sets is stored as exp(top / temperature + log_sum). Marginals are
    products of conditionals, given[j, l, k] = p(y_j = k | parent is l), so node and edge marginals
    agree with one another whatever the rounding.
    """
    m = unary.shape[0]
    for j in range(m):
        top[j, 0] = 0.0
        top[j, 1] = unary[j]
        log_sum[j, 0] = 0.0
        log_sum[j, 1] = 0.0
    best = 0.0
    rest = 0.0
    for i in range(m - 1, -1, -1):
        j = tree.order[i]
        above = tree.parent[j]
        for state in range(2):
            on = top[j, 1]
            if state == 1 and above >= 0:
                on += pair[tree.edge[j]]
            higher = max(top[j, 0], on)
            log_off = (top[j, 0] - higher) / temperature + log_sum[j, 0]
            log_on = (on - higher) / temperature + log_sum[j, 1]
            highest = max(log_off, log_on)
            exp_off = math.exp(log_off - highest)
            exp_on = math.exp(log_on - highest)
            given[j, state, 0] = exp_off / (exp_off + exp_on)
            given[j, state, 1] = exp_on / (exp_off + exp_on)
            log_total = highest + math.log(exp_off + exp_on)
            if above >= 0:
                top[above, state] += higher
                log_sum[above, state] += log_total
            elif state == 0:
                best += higher
                rest += log_total
    for i in range(m):
        j = tree.order[i]
        above = tree.parent[j]
        if above < 0:
            node[j, 0] = given[j, 0, 0]
            node[j, 1] = given[j, 0, 1]
            continue
        e = tree.edge[j]
        for k in range(2):
            node[j, k] = node[above, 0] * given[j, 0, k] + node[above, 1] * given[j, 1, k]
            for state in range(2):
                p = node[above, state] * given[j, state, k]
                if edges[e, 0] == j:
                    edge[e, k, state] = p
                else:
                    edge[e, state, k] = p
    return best / temperature + rest

"""Marginals by bucket elimination, at a temperature.

A sum over labellings is stored as exp(top / temperature + log_sum). On the way down the probability
of each cell of a separator is known before its bucket is reached, and the bucket multiplies it with
the probability of each label given that cell: marginals are sums of products of conditionals. So
they lie in [0, 1] and agree with one another, whatever the rounding.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.junction.row import go_on, go_to_first, sum_row
from maxmargin.inference.graph.junction.tree import FACTOR

__all__ = ["junction_marginals"]


@kernel
def junction_marginals(shape, unary, tables, tree, temperature, room, node, factor):
    """Fill marginals of p(x) ~ exp(score(x) / temperature); return log Z.

    Parameters
    ----------
    shape, unary, tables, tree : as for `best_junction`
    temperature : float, positive and finite
    room : JunctionRoom with three arrays of messages
    node : float64 array laid out as `unary`: p(x_v = k)
    factor : float64 array laid out as `tables`: p(x_f) in the place of the table of f, or
        the sum of those of all factors that share it

    If every labelling is forbidden the marginals are zeros and log Z is -inf.
    """
    top, log_sum, weight = room.message, room.second, room.third
    _clear(shape, node, factor)
    best = 0.0
    rest = 0.0
    for bucket in range(tree.order.shape[0]):
        n_labels = shape.n_labels[tree.order[bucket]]
        go_to_first(shape, tree, bucket, room)
        for cell in range(tree.message_at[bucket], tree.message_at[bucket + 1]):
            sum_row(shape, unary, tables, top, tree, bucket, room)
            highest = _weigh(tree, bucket, n_labels, temperature, room)
            top[cell] = highest
            log_sum[cell] = _normalise(n_labels, highest, room.row)
            weight[cell] = 0.0
            go_on(shape, tree, bucket, room)
        if tree.above[bucket] < 0:
            cell = tree.message_at[bucket]
            best += top[cell]
            rest += log_sum[cell]
            weight[cell] = 1.0
    if best == -np.inf:
        return -np.inf
    for bucket in range(tree.order.shape[0] - 1, -1, -1):
        v = tree.order[bucket]
        n_labels, at = shape.n_labels[v], shape.unary_at[v]
        first = tree.source_at[bucket]
        go_to_first(shape, tree, bucket, room)
        for cell in range(tree.message_at[bucket], tree.message_at[bucket + 1]):
            if weight[cell] > 0.0:
                sum_row(shape, unary, tables, top, tree, bucket, room)
                highest = _weigh(tree, bucket, n_labels, temperature, room)
                _normalise(n_labels, highest, room.row)
                for x in range(n_labels):
                    room.row[x] *= weight[cell]
                    node[at + x] += room.row[x]
                for q in range(first, tree.source_at[bucket + 1]):
                    base = room.base[q - first]
                    step = tree.stride[tree.stride_at[q + 1] - 1]
                    if tree.source_kind[q] == FACTOR:
                        for x in range(n_labels):
                            factor[base + x * step] += room.row[x]
                    else:
                        for x in range(n_labels):
                            weight[base + x * step] += room.row[x]
            go_on(shape, tree, bucket, room)
    return best / temperature + rest


@kernel
def _clear(shape, node, factor):
    """Set the marginals to 0, in the places that the shape uses."""
    for i in range(shape.unary_at[shape.n_labels.shape[0]]):
        node[i] = 0.0
    for f in range(shape.kinds.shape[0]):
        n_cells = 1
        for s in range(shape.member_at[f], shape.member_at[f + 1]):
            n_cells *= shape.n_labels[shape.members[s]]
        for cell in range(n_cells):
            factor[shape.table_at[f] + cell] = 0.0


@kernel
def _weigh(tree, bucket, n_labels, temperature, room):
    """Turn the scores in room.row into logarithms relative to the highest; return the highest.

    What the messages count beside their best scores, log_sum, is added.
    """
    row = room.row
    best = -np.inf
    for x in range(n_labels):
        best = max(best, row[x])
    if best == -np.inf:
        return best
    for x in range(n_labels):
        row[x] = (row[x] - best) / temperature
    first = tree.source_at[bucket]
    for q in range(first, tree.source_at[bucket + 1]):
        if tree.source_kind[q] != FACTOR:
            base = room.base[q - first]
            step = tree.stride[tree.stride_at[q + 1] - 1]
            for x in range(n_labels):
                row[x] += room.second[base + x * step]
    return best


@kernel
def _normalise(n_labels, best, row):
    """Turn logarithms into probabilities; return the logarithm of their sum, 0 if best is -inf."""
    if best == -np.inf:
        for x in range(n_labels):
            row[x] = 0.0
        return 0.0
    highest = -np.inf
    for x in range(n_labels):
        highest = max(highest, row[x])
    total = 0.0
    for x in range(n_labels):
        row[x] = math.exp(row[x] - highest)
        total += row[x]
    for x in range(n_labels):
        row[x] /= total
    return highest + math.log(total)

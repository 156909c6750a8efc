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
from maxmargin.inference.graph.junction.row import go_on, open_bucket, sum_block
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
    top, log_sum, weight, row = room.message, room.second, room.third, room.row
    _clear(shape, node, factor)
    best = 0.0
    rest = 0.0
    for bucket in range(tree.order.shape[0]):
        n_labels = shape.n_labels[tree.order[bucket]]
        n_outer, n_rows = open_bucket(shape, tree, bucket, room)
        for block in range(tree.message_at[bucket], tree.message_at[bucket + 1], n_rows):
            sum_block(shape, unary, tables, top, tree, bucket, n_rows, room)
            _weigh(tree, bucket, block, n_rows, n_labels, temperature, room)
            go_on(shape, tree, bucket, n_outer, room)
        if tree.above[bucket] < 0:
            cell = tree.message_at[bucket]
            best += top[cell]
            rest += log_sum[cell]
    if best == -np.inf:
        return -np.inf
    for cell in range(tree.message_at[tree.order.shape[0]]):
        weight[cell] = 0.0
    for bucket in range(tree.order.shape[0] - 1, -1, -1):
        v = tree.order[bucket]
        n_labels, at = shape.n_labels[v], shape.unary_at[v]
        if tree.above[bucket] < 0:
            weight[tree.message_at[bucket]] = 1.0
        first = tree.source_at[bucket]
        n_outer, n_rows = open_bucket(shape, tree, bucket, room)
        for block in range(tree.message_at[bucket], tree.message_at[bucket + 1], n_rows):
            sum_block(shape, unary, tables, top, tree, bucket, n_rows, room)
            _weigh(tree, bucket, block, n_rows, n_labels, temperature, room)
            for j in range(n_rows):
                for x in range(n_labels):
                    row[j * n_labels + x] *= weight[block + j]
                    node[at + x] += row[j * n_labels + x]
            for q in range(first, tree.source_at[bucket + 1]):
                base, read = room.base[q - first], (q - first) * row.shape[0]
                if tree.source_kind[q] == FACTOR:
                    for c in range(n_rows * n_labels):
                        factor[base + room.offset[read + c]] += row[c]
                else:
                    for c in range(n_rows * n_labels):
                        weight[base + room.offset[read + c]] += row[c]
            go_on(shape, tree, bucket, n_outer, room)
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
def _weigh(tree, bucket, block, n_rows, n_labels, temperature, room):
    """Turn the scores in room.row into the probabilities of the labels, given each row.

    The messages of the rows, room.message and room.second, receive the best score and the logarithm
    of what is counted beside it. A row of nothing but -inf becomes zeros, with the message (-inf,
    0).
    """
    row, top, log_sum = room.row, room.message, room.second
    for j in range(n_rows):
        best = -np.inf
        for c in range(j * n_labels, (j + 1) * n_labels):
            best = max(best, row[c])
        top[block + j] = best
        for c in range(j * n_labels, (j + 1) * n_labels):
            row[c] = (row[c] - best) / temperature if best > -np.inf else -np.inf
    first = tree.source_at[bucket]
    for q in range(first, tree.source_at[bucket + 1]):
        if tree.source_kind[q] != FACTOR:
            base, read = room.base[q - first], (q - first) * row.shape[0]
            for c in range(n_rows * n_labels):
                row[c] += log_sum[base + room.offset[read + c]]
    for j in range(n_rows):
        log_sum[block + j] = 0.0
        if top[block + j] == -np.inf:
            for c in range(j * n_labels, (j + 1) * n_labels):
                row[c] = 0.0
            continue
        highest = -np.inf
        for c in range(j * n_labels, (j + 1) * n_labels):
            highest = max(highest, row[c])
        total = 0.0
        for c in range(j * n_labels, (j + 1) * n_labels):
            row[c] = math.exp(row[c] - highest)
            total += row[c]
        for c in range(j * n_labels, (j + 1) * n_labels):
            row[c] /= total
        log_sum[block + j] = highest + math.log(total)

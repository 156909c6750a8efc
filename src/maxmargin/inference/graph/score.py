"""The score of a labelling of a factor graph."""

from __future__ import annotations

from maxmargin.core.compile import jitable, kernel
from maxmargin.inference.graph.factors.switch import factor_value
from maxmargin.inference.graph.shape import DENSE


@kernel
def labelling_score(shape, unary, tables, labels):
    """Return S(x) of the labelling ``labels``, int32 of shape (n,); -inf if it is forbidden."""
    total = 0.0
    for v in range(shape.n_labels.shape[0]):
        total += unary[shape.unary_at[v] + labels[v]]
    for f in range(shape.kinds.shape[0]):
        if shape.kinds[f] == DENSE:  # most factors are tables
            total += _table_entry(shape, tables, f, labels)
        else:
            total += factor_value(shape, tables, f, labels)
    return total


@jitable
def dense_score(shape, unary, tables, labels):
    """Do as `labelling_score`, where all factors are dense tables: less code is compiled."""
    total = 0.0
    for v in range(shape.n_labels.shape[0]):
        total += unary[shape.unary_at[v] + labels[v]]
    for f in range(shape.kinds.shape[0]):
        total += _table_entry(shape, tables, f, labels)
    return total


@jitable
def _table_entry(shape, tables, f, labels):
    """Return the entry of a dense table at a labelling of all nodes."""
    cell = 0
    for s in range(shape.member_at[f], shape.member_at[f + 1]):
        cell = cell * shape.n_labels[shape.members[s]] + labels[shape.members[s]]
    return tables[shape.table_at[f] + cell]

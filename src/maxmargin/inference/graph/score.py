"""The score of a labelling of a factor graph."""

from __future__ import annotations

from maxmargin.core.compile import kernel


@kernel
def labelling_score(shape, unary, tables, labels):
    """Return S(x) of the labelling ``labels``, int32 of shape (n,); -inf if it is forbidden."""
    total = 0.0
    for v in range(shape.n_labels.shape[0]):
        total += unary[shape.unary_at[v] + labels[v]]
    for f in range(shape.kinds.shape[0]):
        total += table_value(shape, tables, f, labels)
    return total


@kernel
def table_value(shape, tables, factor, labels):
    """Return the entry of a dense table at a labelling of all nodes."""
    cell = 0
    for s in range(shape.member_at[factor], shape.member_at[factor + 1]):
        cell = cell * shape.n_labels[shape.members[s]] + labels[shape.members[s]]
    return tables[shape.table_at[factor] + cell]

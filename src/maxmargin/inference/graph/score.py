"""The score of a labelling of a factor graph."""

from __future__ import annotations

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.factors.switch import factor_value
from maxmargin.inference.graph.shape import DENSE


@kernel
def labelling_score(shape, unary, tables, labels):
    """Return S(x) of the labelling ``labels``, int32 of shape (n,); -inf if it is forbidden."""
    unary_at, member_at, members, n_labels = (
        shape.unary_at,
        shape.member_at,
        shape.members,
        shape.n_labels,
    )
    kinds, table_at = shape.kinds, shape.table_at
    total = 0.0
    for v in range(n_labels.shape[0]):
        total += unary[unary_at[v] + labels[v]]
    for f in range(kinds.shape[0]):
        if kinds[f] == DENSE:
            # As the function of tables does it, but without a call: most factors are tables.
            cell = 0
            for s in range(member_at[f], member_at[f + 1]):
                cell = cell * n_labels[members[s]] + labels[members[s]]
            total += tables[table_at[f] + cell]
        else:
            total += factor_value(shape, tables, f, labels)
    return total

"""The score of a labelling of a factor graph."""

from __future__ import annotations

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.factors.switch import factor_value


@kernel
def labelling_score(shape, unary, tables, labels):
    """Return S(x) of the labelling ``labels``, int32 of shape (n,); -inf if it is forbidden."""
    total = 0.0
    for v in range(shape.n_labels.shape[0]):
        total += unary[shape.unary_at[v] + labels[v]]
    for f in range(shape.kinds.shape[0]):
        total += factor_value(shape, tables, f, labels)
    return total

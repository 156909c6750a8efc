"""The bound that messages give: no labelling, and no point of the local polytope, scores higher.

A message m_fv is added to factor f and taken from node v. That changes no score, so for any finite
messages

    S(x) <= sum_v max_x [ u_v(x) - sum_f m_fv(x) ] + sum_f max_{x_f} [ T_f(x_f) + sum_v m_fv(x_v) ].
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.factors.switch import factor_message


@kernel
def message_bound(shape, unary, tables, messages, out):
    """Return the bound of these messages, a flat array by slots; all finite.

    `out` is scratch, of as many numbers as the most labels of a node.
    """
    total = 0.0
    for v in range(shape.n_labels.shape[0]):
        best = -np.inf
        for x in range(shape.n_labels[v]):
            value = unary[shape.unary_at[v] + x]
            for i in range(shape.slot_at[v], shape.slot_at[v + 1]):
                value -= messages[shape.message_at[shape.slots[i]] + x]
            best = max(best, value)
        total += best
    for f in range(shape.kinds.shape[0]):
        slot = shape.member_at[f]
        factor_message(shape, tables, f, slot, messages, out)
        best = -np.inf
        for x in range(shape.n_labels[shape.members[slot]]):
            best = max(best, out[x] + messages[shape.message_at[slot] + x])
        total += best
    return total

"""The bound that messages give, computed from nothing but them.

A message m_fv belongs to a slot: it is added to the factor f and taken from the node v,

    theta_v = u_v - sum_{f at v} m_fv,    theta_f = T_f + sum_{v in f} m_fv,

so scores do not change, and

    B(m) = sum_v max theta_v + sum_f max theta_f

is no less than the score of any labelling, and of any point of the local polytope. A message is
-inf where the label is impossible, because every labelling with it is forbidden. Such labels are
left out of both maxima.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.compile import kernel
from maxmargin.core.sealed import sealed
from maxmargin.inference.graph.factors.switch import factor_message
from maxmargin.inference.graph.srmp import srmp_example


@kernel
def message_bound(shape, unary, tables, messages, out):
    """Return B(m), for messages without NaN and +inf; -inf if no labelling is feasible.

    ``out`` is scratch, as long as the largest number of labels.
    """
    total = 0.0
    for v in range(shape.n_labels.shape[0]):
        total += node_rest(shape, unary, messages, v, out)
    for f in range(shape.kinds.shape[0]):
        slot = shape.member_at[f]
        at = shape.message_at[slot]
        factor_message(shape, tables, f, slot, messages, out)
        best = -np.inf
        for x in range(shape.message_at[slot + 1] - at):
            best = max(best, out[x] + messages[at + x])
        total += best
    return total


@kernel
def node_rest(shape, unary, messages, v, out):
    """Fill out with theta_v, -inf at labels that are impossible; return the largest."""
    first = shape.unary_at[v]
    n_own = shape.unary_at[v + 1] - first
    for x in range(n_own):
        out[x] = unary[first + x]
    for i in range(shape.slot_at[v], shape.slot_at[v + 1]):
        at = shape.message_at[shape.slots[i]]
        for x in range(n_own):
            if messages[at + x] == -np.inf:
                out[x] = -np.inf
            else:
                out[x] -= messages[at + x]
    best = -np.inf
    for x in range(n_own):
        best = max(best, out[x])
    return best


@kernel
def label_bounds(shape, unary, tables, messages, out, result):
    """Fill result with bounds: no labelling with label x at node v scores above [unary_at[v] + x].

    Returns what `message_bound` returns.

    All factors of v are held at x, the rest of the graph is bounded by the messages:

        B(m) - max theta_v - sum_{f at v} max theta_f + u_v(x) + sum_{f at v} r_fv(x).

    Parameters
    ----------
    messages : of `srmp` for the same potentials
    out : float64 array, scratch as long as the largest number of labels
    result : float64 array, laid out as `unary`
    """
    total = message_bound(shape, unary, tables, messages, out)
    for v in range(shape.n_labels.shape[0]):
        first = shape.unary_at[v]
        n_own = shape.n_labels[v]
        rest = total
        if total > -np.inf:
            rest -= node_rest(shape, unary, messages, v, out)
        for x in range(n_own):
            result[first + x] = unary[first + x]
        for i in range(shape.slot_at[v], shape.slot_at[v + 1]):
            s = shape.slots[i]
            at = shape.message_at[s]
            factor_message(shape, tables, shape.factor_of[s], s, messages, out)
            best = -np.inf
            for x in range(n_own):
                best = max(best, out[x] + messages[at + x])
                # A message of -inf says that the label is impossible.
                is_possible = messages[at + x] > -np.inf
                result[first + x] += out[x] if is_possible else -np.inf
            if total > -np.inf:
                rest -= best
        for x in range(n_own):
            result[first + x] += rest
    return total


def _example() -> tuple[Any, ...]:
    """Return arguments of `label_bounds`, of the types that all callers have."""
    shape, unary, tables, messages, _, _, room, _ = srmp_example()
    return shape, unary, tables, messages, room.out, unary.copy()


#: It takes seconds to compile, so all callers share one code.
LABEL_BOUNDS = sealed(label_bounds, 2, "float64", _example)

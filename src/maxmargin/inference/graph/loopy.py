"""Loopy belief propagation: max-product sweeps with damping. No bound; the best labelling met.

Nodes are visited in order, then in reversed order. At node v the messages out of its factors, r_fv,
are computed and damped, and those into its factors are

    m_fv = u_v + sum_{g at v, g != f} r_gv,    less its maximum.

On an acyclic graph and without damping this is exact after two iterations; elsewhere it need not
converge, so the best labelling of all iterations is kept. It is decoded as SRMP decodes: in the
order of the sweep, with nodes passed held at their labels.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import jitable, kernel
from maxmargin.inference.graph.factors.pair import pair_message, place
from maxmargin.inference.graph.factors.switch import factor_message
from maxmargin.inference.graph.score import labelling_score
from maxmargin.inference.graph.srmp import EARLIER, LATER, add_entries, add_held

__all__ = ["loopy"]


@kernel
def loopy(shape, unary, tables, messages, n_iterations, damping, tolerance, room, labels):
    """Sweep at most n_iterations times; return (score, last change of a message, iterations done).

    Parameters
    ----------
    messages : float64 array
        Where to start; zeros, or those of an earlier call. Left for the next call.
    damping : float in [0, 1)
        The share of the old message in the new.
    tolerance : float
        Stop when no message has changed by more.
    room : SrmpRoom
    labels : int32 array of shape (n,)
        Receives the best labelling that was met; if `score` is -inf, it is none that is feasible.
    """
    score, change = -np.inf, np.inf
    for iteration in range(n_iterations):
        change = 0.0
        for is_forward in (True, False):
            is_first = iteration == 0 and is_forward
            share = 0.0 if is_first else damping
            moved = _sweep(shape, unary, tables, messages, share, room, is_forward, is_first)
            change = max(change, moved)
            value = labelling_score(shape, unary, tables, room.trial)
            if value > score or is_first:
                score = value
                for v in range(labels.shape[0]):
                    labels[v] = room.trial[v]
        if change <= tolerance and iteration > 0:
            return score, change, iteration + 1
    return score, change, n_iterations


@jitable
def _sweep(shape, unary, tables, messages, damping, room, is_forward, is_first):
    """Visit all nodes once; return the largest change of a message out of a factor."""
    rest, guess, out, trial = room.rest, room.guess, room.out, room.trial
    reach, partner, far, is_row = room.reach, room.partner, room.far, room.is_row
    n_labels, unary_at, slot_at, slots, message_at, table_at, factor_of = (
        shape.n_labels,
        shape.unary_at,
        shape.slot_at,
        shape.slots,
        shape.message_at,
        shape.table_at,
        shape.factor_of,
    )
    n_nodes = n_labels.shape[0]
    done = EARLIER if is_forward else LATER
    change = 0.0
    for step in range(n_nodes):
        v = step if is_forward else n_nodes - 1 - step
        n_own = n_labels[v]
        first = unary_at[v]
        for x in range(n_own):
            guess[x] = unary[place(first + x)]
        for i in range(slot_at[v], slot_at[v + 1]):
            s = slots[i]
            at = message_at[s]
            if partner[s] >= 0:
                pair_message(
                    tables, table_at[factor_of[s]], is_row[s], messages, partner[s],
                    n_labels[far[s]], out, 0, n_own,
                )  # fmt: skip
            else:
                factor_message(shape, tables, factor_of[s], s, messages, out)
            for x in range(n_own):
                new, old = out[x], rest[place(at + x)]
                if not is_first and new > -np.inf and old > -np.inf:
                    new += damping * (old - new)
                    change = max(change, abs(new - old))
                elif not is_first and new != old:
                    change = np.inf
                rest[place(at + x)] = new
            if reach[s] & done == 0:
                for x in range(n_own):
                    guess[x] += rest[place(at + x)]
            elif partner[s] >= 0:
                add_entries(
                    tables, table_at[factor_of[s]], is_row[s], trial[far[s]], n_labels[far[s]],
                    guess, n_own,
                )  # fmt: skip
            else:
                add_held(shape, tables, messages, s, v, n_own, is_forward, room)
        best = 0
        for x in range(1, n_own):
            if guess[x] > guess[best]:
                best = x
        trial[v] = best
        send(shape, unary, messages, v, room)
    return change


@jitable
def send(shape, unary, messages, v, room):
    """Set the messages of node v into its factors."""
    rest, total, n_never = room.rest, room.theta, room.out
    slots, message_at = shape.slots, shape.message_at
    first, last = shape.slot_at[v], shape.slot_at[v + 1]
    n_own = shape.n_labels[v]
    # The sum over all other factors is the sum less one, where -inf is counted and not summed.
    for x in range(n_own):
        value = unary[shape.unary_at[v] + x]
        total[x] = value if value > -np.inf else 0.0
        n_never[x] = 0.0 if value > -np.inf else 1.0
    for i in range(first, last):
        at = message_at[slots[i]]
        for x in range(n_own):
            if rest[at + x] > -np.inf:
                total[x] += rest[at + x]
            else:
                n_never[x] += 1.0
    for i in range(first, last):
        at = message_at[slots[i]]
        top = -np.inf
        for x in range(n_own):
            m = -np.inf
            if rest[at + x] > -np.inf:
                if n_never[x] == 0.0:
                    m = total[x] - rest[at + x]
            elif n_never[x] == 1.0:
                m = total[x]
            messages[at + x] = m
            top = max(top, m)
        for x in range(n_own):
            # Where nothing is possible, say nothing: the sweep goes on.
            messages[at + x] = messages[at + x] - top if top > -np.inf else 0.0

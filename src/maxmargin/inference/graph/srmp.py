"""Sequential reweighted message passing (SRMP): a bound that falls, and labellings met on the way.

Nodes are visited in order, then in reversed order: one iteration. At node v, with the messages out
of its factors

    r_fv(x_v) = max over the other nodes of f of T_f + sum_{u in f, u != v} m_fu(x_u),

every message into a factor is set anew:

    th = u_v + sum_f r_fv,    c = max th,    m_fv = omega (th - c) - r_fv.

omega is 1 / max(n+, n-) for factors with a node that comes later in this pass, else 0; n+ counts
the factors of v with a later node, n- those with an earlier one. After a whole pass all factors
have a maximum of 0, and node v one of c_v: the bound of message_bound is the sum of c, for free. It
never rises. On pairs this is TRW-S (Kolmogorov 2006); for higher orders see Kolmogorov 2015.

r_fv changes only when a node of f has changed, so it is kept, and computed again only if a node of
f came before v in this pass: half of all messages of pairs.

Passes also decode: v gets the best label of u_v + sum_f r_fv, where nodes that have their labels
already are held at them. Where th is -inf the label is impossible, and so it is for all factors of
v. So constraints spread as far as they can.

The bound may stop above that of the linear relaxation, because coordinates are moved one at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import jitable, kernel
from maxmargin.core.sealed import sealed
from maxmargin.inference._inline import inlined
from maxmargin.inference.graph.factors.pair import pair_message, place
from maxmargin.inference.graph.factors.switch import factor_message
from maxmargin.inference.graph.score import labelling_score
from maxmargin.inference.graph.shape import DENSE, Shape, graph_shape, read_only

__all__ = ["BOUND_AND_SCORE", "SRMP", "SrmpRoom", "srmp", "srmp_example", "srmp_room"]

EARLIER, LATER = 1, 2


class SrmpRoom(NamedTuple):
    """What SRMP reads of a shape, and its scratch. One call at a time may use it.

    Attributes
    ----------
    reach : uint8 array of shape (S,)
        EARLIER if the factor of a slot has a node before that of the slot, plus LATER.
    share : float64 array of shape (n,)
        1 / max(n+, n-) of each node.
    partner : int64 array of shape (S,)
        For dense tables of two axes, where the message of the other slot begins; else -1.
    far : int32 array of shape (S,)
        The node of that other slot.
    is_row : bool array of shape (S,)
        Whether the slot is the first axis.
    rest : float64 array, as long as messages
        r of all slots.
    held : float64 array, as long as messages; empty if all factors are dense pairs
    theta, guess, out : float64 arrays, as long as the largest number of labels
    floor : float64 array of shape (1,)
        -inf, or: stop when the bound is no better than this.
    keeps : bool array of shape (2,)
        False, or: -inf in the messages are true of these potentials too. And: `rest` is what the
        last call left with these messages, for the same tables; a call sets it to False.
    margin : float64 array of shape (n,)
        By how much the best label of each node beat the next when it was decoded last; inf if only
        one is possible.
    trial : int32 array of shape (n,)
        The labelling that was decoded last.
    """

    reach: npt.NDArray[np.uint8]
    share: npt.NDArray[np.float64]
    partner: npt.NDArray[np.int64]
    far: npt.NDArray[np.int32]
    is_row: npt.NDArray[np.bool_]
    rest: npt.NDArray[np.float64]
    held: npt.NDArray[np.float64]
    theta: npt.NDArray[np.float64]
    guess: npt.NDArray[np.float64]
    out: npt.NDArray[np.float64]
    floor: npt.NDArray[np.float64]
    keeps: npt.NDArray[np.bool_]
    margin: npt.NDArray[np.float64]
    trial: npt.NDArray[np.int32]


def srmp_room(shape: Shape) -> SrmpRoom:
    """Return the workspace of `srmp` for graphs of this shape."""
    n_nodes, n_slots = len(shape.n_labels), len(shape.members)
    members = shape.members.astype(np.int64)
    reach = np.zeros(n_slots, dtype=np.uint8)
    if n_slots:
        starts, factor = shape.member_at[:-1], shape.factor_of
        reach[np.minimum.reduceat(members, starts)[factor] < members] |= EARLIER
        reach[np.maximum.reduceat(members, starts)[factor] > members] |= LATER
    n_earlier = np.bincount(members[(reach & EARLIER) > 0], minlength=n_nodes)
    n_later = np.bincount(members[(reach & LATER) > 0], minlength=n_nodes)
    is_pair = (np.diff(shape.member_at) == 2) & (shape.kinds == DENSE)
    partner = np.full(n_slots, -1, dtype=np.int64)
    far = np.zeros(n_slots, dtype=np.int32)
    is_row = np.zeros(n_slots, dtype=np.bool_)
    first = shape.member_at[:-1][is_pair]
    for own, other in ((first, first + 1), (first + 1, first)):
        partner[own] = shape.message_at[other]
        far[own] = members[other]
    is_row[first] = True
    largest = int(shape.n_labels.max(initial=1))
    n_messages = int(shape.message_at[-1])
    return SrmpRoom(
        read_only(reach),
        read_only(1.0 / np.maximum(1, np.maximum(n_earlier, n_later))),
        read_only(partner),
        read_only(far),
        read_only(is_row),
        np.zeros(n_messages),
        np.zeros(0 if is_pair.all() else n_messages),
        np.zeros(largest),
        np.zeros(largest),
        np.zeros(largest),
        np.array([-np.inf]),
        np.zeros(2, dtype=np.bool_),
        np.zeros(n_nodes),
        np.zeros(n_nodes, dtype=np.int32),
    )


@kernel
def srmp(shape, unary, tables, messages, n_iterations, tolerance, room, labels):
    """Lower the bound by at most n_iterations iterations; return (bound, score, iterations done).

    Parameters
    ----------
    messages : float64 array
        Where to start: of an earlier call, for whatever potentials of the same shape, or zeros.
        Left for the next call. -inf in them is read as 0, because it may have been true of other
        potentials only.
    n_iterations : int
        0: no labelling, bound inf.
    tolerance : float
        Stop when bound - score <= tolerance * (1 + |bound|), or when an iteration has lowered the
        bound by no more than that and forbidden no label.
    room : SrmpRoom
    labels : int32 array of shape (n,)
        Receives the best labelling that was met. If `score` is -inf, it is none that is feasible.

    Returns
    -------
    bound : -inf if there is no feasible labelling.
    """
    if not room.keeps[0]:
        for i in range(messages.shape[0]):
            if messages[i] == -np.inf:
                messages[i] = 0.0
    has_rest = room.keeps[0] and room.keeps[1]
    room.keeps[1] = False
    floor = room.floor[0]
    bound, score = np.inf, -np.inf
    n_forbidden = -1
    is_ending = False
    trial = room.trial
    for iteration in range(n_iterations):
        last, last_forbidden = bound, n_forbidden
        # For pairs, decoding adds a fifth to the time of a pass; for other factors it doubles it.
        decodes = room.held.shape[0] == 0 or iteration % 3 == 0 or iteration == n_iterations - 1
        decodes = decodes or is_ending
        for is_forward in (True, False):
            is_first = iteration == 0 and is_forward
            is_fresh = is_first and not has_rest
            found, n_forbidden = _pass(
                shape, unary, tables, messages, room, is_forward, is_fresh, decodes
            )
            bound = min(bound, found)
            if found == -np.inf:
                return bound, -np.inf, iteration + 1
            if not decodes:
                continue
            value = labelling_score(shape, unary, tables, trial)
            # They are sums of the same numbers in different order: rounding may cross them.
            bound = max(bound, value)
            if value > score or is_first:
                score = value
                for v in range(trial.shape[0]):
                    labels[v] = trial[v]
        close = tolerance * (1.0 + abs(bound))
        if bound - max(score, floor) <= close or is_ending:
            return bound, score, iteration + 1
        if last - bound <= close and n_forbidden == last_forbidden:
            if decodes:
                return bound, score, iteration + 1
            is_ending = True
    return bound, score, n_iterations


@jitable
def _pass(shape, unary, tables, messages, room, is_forward, is_fresh, decodes):
    """Visit all nodes once; return the bound and how many labels are impossible.

    ``is_fresh``: room.rest holds nothing yet. With ``decodes`` room.trial receives a labelling.
    """
    n_labels, unary_at, slot_at, slots, message_at, table_at, factor_of = (
        shape.n_labels,
        shape.unary_at,
        shape.slot_at,
        shape.slots,
        shape.message_at,
        shape.table_at,
        shape.factor_of,
    )
    reach, share, partner, far, is_row = room.reach, room.share, room.partner, room.far, room.is_row
    rest, theta, guess, out = room.rest, room.theta, room.guess, room.out
    margin, trial = room.margin, room.trial
    n_nodes = n_labels.shape[0]
    done, ahead = (EARLIER, LATER) if is_forward else (LATER, EARLIER)
    bound = 0.0
    n_forbidden = 0
    for step in range(n_nodes):
        v = step if is_forward else n_nodes - 1 - step
        n_own = n_labels[v]
        first = unary_at[v]
        for x in range(n_own):
            theta[x] = unary[place(first + x)]
            guess[x] = theta[x]
        for i in range(slot_at[v], slot_at[v + 1]):
            s = slots[i]
            at = message_at[s]
            is_behind = reach[s] & done != 0
            if is_behind or is_fresh:
                if partner[s] >= 0:
                    pair_message(
                        tables, table_at[factor_of[s]], is_row[s], messages, partner[s],
                        n_labels[far[s]], rest, at, n_own,
                    )  # fmt: skip
                else:
                    factor_message(shape, tables, factor_of[s], s, messages, out)
                    for x in range(n_own):
                        rest[place(at + x)] = out[x]
            for x in range(n_own):
                theta[x] += rest[place(at + x)]
            if not decodes:
                continue
            if is_behind and partner[s] >= 0:
                add_entries(
                    tables, table_at[factor_of[s]], is_row[s], trial[far[s]], n_labels[far[s]],
                    guess, n_own,
                )  # fmt: skip
            elif is_behind:
                add_held(shape, tables, messages, s, v, n_own, is_forward, room)
            else:
                for x in range(n_own):
                    guess[x] += rest[place(at + x)]
        c = -np.inf
        for x in range(n_own):
            c = max(c, theta[x])
        if c == -np.inf:
            return c, n_forbidden
        bound += c
        if decodes:
            # Without branches, which processors could not predict.
            best, most, second, n_best = 0, guess[0], -np.inf, 0
            for x in range(n_own):
                is_more, is_best = guess[x] > most, theta[x] == c
                best, most = (x, guess[x]) if is_more else (best, most)
                n_best += is_best
                other = -np.inf if is_best else theta[x]
                second = other if other > second else second
            trial[v] = best
            margin[v] = c - second if n_best == 1 else 0.0
        for x in range(n_own):
            theta[x] -= c
            if theta[x] == -np.inf:
                n_forbidden += 1
        for i in range(slot_at[v], slot_at[v + 1]):
            s = slots[i]
            at = message_at[s]
            omega = share[v] if reach[s] & ahead != 0 else 0.0
            for x in range(n_own):
                # Where theta is -inf, r may be as well: omega * theta - r would be NaN.
                m = omega * theta[x] - rest[place(at + x)] if theta[x] > -np.inf else -np.inf
                messages[place(at + x)] = m
    return bound, n_forbidden


@inlined
def add_entries(tables, table, is_row, held, n_other, guess, n_own):
    """Add the row or column of a dense pair where the other node has the label ``held``."""
    start, along = (table + held, n_other) if is_row else (table + held * n_own, 1)
    for x in range(n_own):
        guess[x] += tables[place(start + x * along)]


@jitable
def add_held(shape, tables, messages, s, v, n_own, is_forward, room):
    """Add to room.guess the message out of a factor, with nodes passed held at their labels."""
    _hold(shape, messages, shape.factor_of[s], v, is_forward, room)
    factor_message(shape, tables, shape.factor_of[s], s, room.held, room.out)
    for x in range(n_own):
        room.guess[x] += room.out[x]


@jitable
def _hold(shape, messages, factor, v, is_forward, room):
    """Fill room.held for a factor: its messages, and nothing but their labels for nodes passed."""
    held = room.held
    for s in range(shape.member_at[factor], shape.member_at[factor + 1]):
        u = shape.members[s]
        at = shape.message_at[s]
        n_own = shape.message_at[s + 1] - at
        if (u < v) if is_forward else (u > v):
            for x in range(n_own):
                held[at + x] = -np.inf
            held[at + room.trial[u]] = 0.0
        else:
            for x in range(n_own):
                held[at + x] = messages[at + x]


def srmp_example() -> tuple[Any, ...]:
    """Return arguments of `srmp`, of the types that all callers have."""
    shape = graph_shape([1, 1], [0, 1], [2], [0])
    labels = np.zeros(2, dtype=np.int32)
    return shape, np.zeros(2), np.zeros(1), np.zeros(2), 1, 0.0, srmp_room(shape), labels


#: What `srmp` and its like return: a bound, a score, and how much was done.
BOUND_AND_SCORE = "Tuple(float64, float64, int64)"
#: It takes seconds to compile, so all callers share one code.
SRMP = sealed(srmp, 0, BOUND_AND_SCORE, srmp_example)

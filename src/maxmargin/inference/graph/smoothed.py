"""Smoothed ascent: a point of the local polytope, and a bound, for dense tables.

The bound of messages is smoothed at a temperature,

    sum_v t lse(theta_v / t) + sum_f t lse(theta_f / t),

and lowered node by node: with r_fv = t lse over the other nodes of f, and th = u_v + sum_f r_fv,

    m_fv = th / (1 + number of factors at v) - r_fv

is the exact minimiser over the messages at v. The temperature falls by `FALL` from round to round.
At the end of a round softmax(theta / t) nearly fits together; `project` makes a point of the local
polytope of it. Unlike SRMP this does not get stuck above the optimum of the linear relaxation, but
it is slow where temperatures must be low.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import jitable, kernel
from maxmargin.inference._inline import inlined
from maxmargin.inference.graph.bound import message_bound
from maxmargin.inference.graph.factors.pair import pair_message, place
from maxmargin.inference.graph.factors.switch import factor_message
from maxmargin.inference.graph.projection import cell_starts, point_value, project
from maxmargin.inference.graph.shape import Shape, read_only
from maxmargin.inference.graph.srmp import (
    EARLIER,
    LATER,
    SrmpRoom,
    srmp_room,
)

__all__ = ["SmoothedRoom", "smoothed", "smoothed_room"]

FALL = 3.0
#: The first temperature, as a share of how far potentials spread.
FIRST = 0.2
#: A round ends when no message has changed by more than this share of the temperature.
STILL = 1e-3
#: exp of this is nothing beside 1, and is not computed.
NOTHING = -40.0


class SmoothedRoom(NamedTuple):
    """Workspace of `smoothed`.

    Attributes
    ----------
    cell_at : int64 array of shape (F + 1,)
        Where the marginals of each factor begin.
    spare : float64 array, as long as messages
    nodes, factors : float64 arrays, as the marginals of nodes and of factors
    srmp : SrmpRoom
        What it reads of the shape, and its scratch: messages out of factors among them.
    """

    cell_at: npt.NDArray[np.int64]
    spare: npt.NDArray[np.float64]
    nodes: npt.NDArray[np.float64]
    factors: npt.NDArray[np.float64]
    srmp: SrmpRoom


def smoothed_room(shape: Shape) -> SmoothedRoom:
    """Return the workspace of `smoothed` for graphs of this shape, all of tables."""
    cell_at = cell_starts(shape)
    return SmoothedRoom(
        read_only(cell_at),
        np.zeros(int(shape.message_at[-1])),
        np.zeros(int(shape.unary_at[-1])),
        np.zeros(int(cell_at[-1])),
        srmp_room(shape),
    )


@kernel
def smoothed(shape, unary, tables, messages, share, n_rounds, n_passes, room, nodes, factors):
    """Lower the smoothed bound; return (bound, value of the point, passes done).

    Parameters
    ----------
    messages : float64 array
        Where to start: zeros, or those of `srmp`. Left as they are at the end.
    share : float
        The first temperature, as a share of how far potentials spread; 0.2 from zeros.
    n_rounds, n_passes : int
        The number of temperatures, and the most passes at each.
    room : SmoothedRoom
    nodes, factors : float64 arrays
        Receive the best point, the marginals of factors at room.cell_at. If its value is -inf, no
        point was found that uses no forbidden entry.

    Returns
    -------
    bound : the least of all rounds; -inf if no labelling is feasible
    value : <= bound
    """
    for i in range(messages.shape[0]):
        if messages[i] == -np.inf:
            messages[i] = 0.0
    temperature = share * _spread(shape, unary, tables, room)
    bound, value = np.inf, -np.inf
    n_done = 0
    for _ in range(n_rounds):
        for k in range(n_passes):
            is_forward = k % 2 == 0
            change = _soft_pass(
                shape, unary, tables, messages, temperature, room.srmp, is_forward, k == 0
            )
            n_done += 1
            if change == np.inf:
                return -np.inf, -np.inf, n_done
            if change <= STILL * temperature and k > 0:
                break
        bound = min(bound, message_bound(shape, unary, tables, messages, room.srmp.out))
        _soften(shape, unary, tables, messages, temperature, room)
        project(shape, room.cell_at, room.nodes, room.factors, room.spare)
        found = point_value(shape, unary, tables, room.cell_at, room.nodes, room.factors)
        if found > value or value == -np.inf:
            value = found
            for i in range(nodes.shape[0]):
                nodes[i] = room.nodes[i]
            for i in range(factors.shape[0]):
                factors[i] = room.factors[i]
        temperature /= FALL
    return max(bound, value), value, n_done


@jitable
def _spread(shape, unary, tables, room):
    """Return how far potentials spread: the mean range at a node, plus that in a table."""
    n_nodes, n_factors = shape.n_labels.shape[0], shape.kinds.shape[0]
    total = 0.0
    for v in range(n_nodes):
        total += _range(unary, shape.unary_at[v], shape.unary_at[v + 1]) / n_nodes
    for f in range(n_factors):
        n_cells = room.cell_at[f + 1] - room.cell_at[f]
        start = shape.table_at[f]
        total += _range(tables, start, start + n_cells) / n_factors
    return total if total > 0.0 else 1.0


@jitable
def _range(values, first, last):
    """Return the difference between the largest and the least finite number; 0 if none."""
    low, high = np.inf, -np.inf
    for i in range(first, last):
        if values[i] > -np.inf:
            low, high = min(low, values[i]), max(high, values[i])
    return max(0.0, high - low)


@jitable
def _soft_pass(shape, unary, tables, messages, temperature, room, is_forward, is_fresh):
    """Visit all nodes once; return the largest change of a message, inf if one has no label.

    As in SRMP, messages out of factors are kept where nothing has changed.
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
    reach, partner, far, is_row = room.reach, room.partner, room.far, room.is_row
    rest, theta, out = room.rest, room.theta, room.out
    n_nodes = n_labels.shape[0]
    done = EARLIER if is_forward else LATER
    change = 0.0
    for step in range(n_nodes):
        v = step if is_forward else n_nodes - 1 - step
        n_own = n_labels[v]
        first, last = slot_at[v], slot_at[v + 1]
        for x in range(n_own):
            theta[x] = unary[place(unary_at[v] + x)]
        for i in range(first, last):
            s = slots[i]
            at = message_at[s]
            if is_fresh or reach[s] & done != 0:
                if partner[s] >= 0:
                    soft_pair(
                        tables, table_at[factor_of[s]], is_row[s], messages, partner[s],
                        n_labels[far[s]], out, n_own, temperature,
                    )  # fmt: skip
                else:
                    soft_message(shape, tables, factor_of[s], s, messages, room, temperature)
                for x in range(n_own):
                    rest[place(at + x)] = out[x]
            for x in range(n_own):
                theta[x] += rest[place(at + x)]
        best = -np.inf
        for x in range(n_own):
            best = max(best, theta[x])
        if best == -np.inf:
            return np.inf
        for i in range(first, last):
            at = message_at[slots[i]]
            for x in range(n_own):
                m, old = -np.inf, messages[place(at + x)]
                if theta[x] > -np.inf:
                    m = theta[x] / (1 + last - first) - rest[place(at + x)]
                    if old > -np.inf:
                        change = max(change, abs(m - old))
                messages[place(at + x)] = m
    return change


@inlined
def soft_pair(tables, table, is_row, messages, at, n_other, out, n_own, temperature):
    """Fill out with the message of a dense pair at a temperature."""
    pair_message(tables, table, is_row, messages, at, n_other, out, 0, n_own)
    along, across = (1, n_other) if is_row else (n_own, 1)
    for x in range(n_own):
        top = out[x]
        if top == -np.inf:
            continue
        first = table + x * across
        total = 0.0
        for y in range(n_other):
            value = tables[place(first + y * along)] + messages[place(at + y)] - top
            if value > NOTHING * temperature:
                total += np.exp(value / temperature)
        out[x] = top + temperature * np.log(total)


@jitable
def soft_message(shape, tables, f, slot, messages, room, temperature):
    """Fill room.out with the message of any table at a temperature; room.guess is scratch."""
    first, last = shape.member_at[f], shape.member_at[f + 1]
    table = shape.table_at[f]
    n_own = shape.message_at[slot + 1] - shape.message_at[slot]
    out, total = room.out, room.guess
    factor_message(shape, tables, f, slot, messages, out)
    for x in range(n_own):
        total[x] = 0.0
    n_cells = 1
    for s in range(first, last):
        n_cells *= shape.message_at[s + 1] - shape.message_at[s]
    for cell in range(n_cells):
        value = tables[table + cell]
        left = cell
        own = 0
        for s in range(last - 1, first - 1, -1):
            size = shape.message_at[s + 1] - shape.message_at[s]
            x = left % size
            left //= size
            if s == slot:
                own = x
            else:
                value += messages[shape.message_at[s] + x]
        if out[own] > -np.inf and value - out[own] > NOTHING * temperature:
            total[own] += np.exp((value - out[own]) / temperature)
    for x in range(n_own):
        if out[x] > -np.inf:
            out[x] += temperature * np.log(total[x])


@jitable
def _soften(shape, unary, tables, messages, temperature, room):
    """Fill room.nodes and room.factors with softmax(theta / temperature)."""
    nodes, factors, cell_at = room.nodes, room.factors, room.cell_at
    for v in range(shape.n_labels.shape[0]):
        first, last = shape.unary_at[v], shape.unary_at[v + 1]
        for x in range(last - first):
            nodes[first + x] = unary[first + x]
            for i in range(shape.slot_at[v], shape.slot_at[v + 1]):
                m = messages[shape.message_at[shape.slots[i]] + x]
                if m == -np.inf:
                    nodes[first + x] = -np.inf
                else:
                    nodes[first + x] -= m
        softmax(nodes, first, last, temperature)
    for f in range(shape.kinds.shape[0]):
        for cell in range(cell_at[f + 1] - cell_at[f]):
            value = tables[shape.table_at[f] + cell]
            left = cell
            for s in range(shape.member_at[f + 1] - 1, shape.member_at[f] - 1, -1):
                size = shape.message_at[s + 1] - shape.message_at[s]
                value += messages[shape.message_at[s] + left % size]
                left //= size
            factors[cell_at[f] + cell] = value
        softmax(factors, cell_at[f], cell_at[f + 1], temperature)


@jitable
def softmax(values, first, last, temperature):
    """Replace values[first:last] by its softmax; one of them is finite."""
    top, total = -np.inf, 0.0
    for i in range(first, last):
        top = max(top, values[i])
    for i in range(first, last):
        values[i] = np.exp((values[i] - top) / temperature)
        total += values[i]
    for i in range(first, last):
        values[i] /= total

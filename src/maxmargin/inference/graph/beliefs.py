"""Sum-product belief propagation: marginals that are exact without cycles, and else a guess.

Nodes are visited in order, then in reversed order, as in loopy.py. At node v the messages out of
its factors are sums, at a temperature t,

    r_fv(x_v) = t log sum over the other nodes of f of exp((T_f + sum_{u != v} m_fu) / t),

damped, and those into its factors are m_fv = u_v + sum_{g at v, g != f} r_gv, less its maximum.
Where no message changes any more, softmax((u_v + sum_f r_fv) / t) and softmax((T_f + sum_v m_fv) /
t) are the marginals of nodes and of factors: a point where the Bethe free energy is stationary.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import jitable, kernel
from maxmargin.inference.graph.bound import node_rest
from maxmargin.inference.graph.loopy import send
from maxmargin.inference.graph.smoothed import soft_message, soft_pair, softmax

__all__ = ["loopy_beliefs", "soft_bound"]


@kernel
def loopy_beliefs(
    shape, unary, tables, messages, temperature, n_iterations, damping, tolerance, room, nodes,
    factors,
):  # fmt: skip
    """Sweep at most n_iterations times, and fill marginals; return (last change, iterations done).

    Parameters
    ----------
    shape, unary, tables : of a graph of dense tables
    messages : float64 array
        Where to start; zeros.
    temperature : float > 0
    damping : float in [0, 1)
        The share of the old message in the new.
    tolerance : float
        Stop when no message has changed by more than this share of the temperature.
    room : SmoothedRoom
    nodes, factors : float64 arrays
        Receive the marginals; those of factors lie as room.cell_at says.

    The change that is returned is a share of the temperature. It is nan if it is proved that there
    is no labelling; then the marginals are zeros.
    """
    change = 0.0
    n_done = 0
    for iteration in range(n_iterations):
        change = 0.0
        for is_forward in (True, False):
            is_first = iteration == 0 and is_forward
            share = 0.0 if is_first else damping
            moved = _sweep(shape, unary, tables, messages, temperature, share, room.srmp,
                           is_forward, is_first)  # fmt: skip
            if np.isnan(moved):
                _clear(nodes)
                _clear(factors)
                return np.nan, n_done
            change = max(change, moved / temperature)
        n_done = iteration + 1
        if change <= tolerance and iteration > 0:
            break
    _fill_nodes(shape, unary, temperature, room.srmp.rest, nodes)
    _fill_factors(shape, tables, messages, temperature, room.cell_at, factors)
    return change, n_done


@jitable
def _sweep(shape, unary, tables, messages, temperature, damping, room, is_forward, is_first):
    """Visit all nodes once; return the largest change of a message out of a factor.

    nan: no label of a node can be had. So far -inf has come from -inf alone, so that is proved.
    """
    rest, out = room.rest, room.out
    n_nodes = shape.n_labels.shape[0]
    change = 0.0
    for step in range(n_nodes):
        v = step if is_forward else n_nodes - 1 - step
        n_own = shape.n_labels[v]
        for i in range(shape.slot_at[v], shape.slot_at[v + 1]):
            s = shape.slots[i]
            at, f = shape.message_at[s], shape.factor_of[s]
            if room.partner[s] >= 0:
                soft_pair(
                    tables, shape.table_at[f], room.is_row[s], messages, room.partner[s],
                    shape.n_labels[room.far[s]], out, n_own, temperature,
                )  # fmt: skip
            else:
                soft_message(shape, tables, f, s, messages, room, temperature)
            for x in range(n_own):
                new, old = out[x], rest[at + x]
                if not is_first and new > -np.inf and old > -np.inf:
                    new += damping * (old - new)
                    change = max(change, abs(new - old))
                elif not is_first and new != old:
                    change = np.inf
                rest[at + x] = new
        if not _is_possible(shape, unary, rest, v):
            return np.nan
        send(shape, unary, messages, v, room)
    return change


@jitable
def _is_possible(shape, unary, rest, v):
    """Tell whether a node has a label that neither its own score nor a factor forbids."""
    for x in range(shape.n_labels[v]):
        value = unary[shape.unary_at[v] + x]
        for i in range(shape.slot_at[v], shape.slot_at[v + 1]):
            value += rest[shape.message_at[shape.slots[i]] + x]
        if value > -np.inf:
            return True
    return False


@jitable
def _clear(values):
    """Set all to 0."""
    for i in range(values.shape[0]):
        values[i] = 0.0


@jitable
def _fill_nodes(shape, unary, temperature, rest, nodes):
    """Fill the marginals of nodes."""
    for v in range(shape.n_labels.shape[0]):
        first, last = shape.unary_at[v], shape.unary_at[v + 1]
        for x in range(last - first):
            nodes[first + x] = unary[first + x]
            for i in range(shape.slot_at[v], shape.slot_at[v + 1]):
                nodes[first + x] += rest[shape.message_at[shape.slots[i]] + x]
        softmax(nodes, first, last, temperature)


@jitable
def _fill_factors(shape, tables, messages, temperature, cell_at, factors):
    """Fill the marginals of factors."""
    for f in range(shape.kinds.shape[0]):
        for cell in range(cell_at[f + 1] - cell_at[f]):
            factors[cell_at[f] + cell] = _cell(shape, tables, messages, f, cell)
        softmax(factors, cell_at[f], cell_at[f + 1], temperature)


@jitable
def _cell(shape, tables, messages, f, cell):
    """Return T_f + sum_v m_fv at one cell of a table."""
    value = tables[shape.table_at[f] + cell]
    left = cell
    for s in range(shape.member_at[f + 1] - 1, shape.member_at[f] - 1, -1):
        size = shape.message_at[s + 1] - shape.message_at[s]
        value += messages[shape.message_at[s] + left % size]
        left //= size
    return value


@kernel
def soft_bound(shape, unary, tables, messages, temperature, cell_at, out):
    """Return sum_v lse(theta_v / t) + sum_f lse(theta_f / t), which log Z never exceeds.

    theta are the potentials of `message_bound`. ``out`` is scratch, as long as the largest number
    of labels.
    """
    total = 0.0
    for v in range(shape.n_labels.shape[0]):
        best = node_rest(shape, unary, messages, v, out)
        if best == -np.inf:
            return -np.inf
        mass = 0.0
        for x in range(shape.n_labels[v]):
            mass += np.exp((out[x] - best) / temperature)
        total += best / temperature + np.log(mass)
    for f in range(shape.kinds.shape[0]):
        best = -np.inf
        for cell in range(cell_at[f + 1] - cell_at[f]):
            best = max(best, _cell(shape, tables, messages, f, cell))
        if best == -np.inf:
            return -np.inf
        mass = 0.0
        for cell in range(cell_at[f + 1] - cell_at[f]):
            mass += np.exp((_cell(shape, tables, messages, f, cell) - best) / temperature)
        total += best / temperature + np.log(mass)
    return total

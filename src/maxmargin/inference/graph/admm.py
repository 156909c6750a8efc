"""ADMM on the linear relaxation: a point of the local polytope, and a bound, for dense tables.

Each factor has marginals z_f of its own for its nodes, and nodes have marginals p that all must
agree with. The alternating direction method of multipliers goes over (AD3, Martins et al. 2015)

    z_f   the best distribution of factor f by its table and the messages m_fv, less
          step/2 |z_fv - p_v|^2 (`active_set`),
    p_v   the mean of z_fv over the factors of v,
    m_fv  less step (z_fv - p_v).

The messages at a node always add up to its unary scores. So they are messages as those of SRMP: the
bound of `message_bound` is valid for them at any time. Near the optimum supports no longer change,
and both bound and point come closer by a constant factor per iteration, so that many digits cost
little. It is made for dense graphs with repulsive tables, where SRMP gets stuck above the optimum
and temperatures of smoothed ascent must become low.

The step doubles or halves where the marginals of factors differ from those of nodes by more than
these still move, or by less.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import jitable, kernel
from maxmargin.core.sealed import sealed
from maxmargin.inference.graph.active_set import best_distribution
from maxmargin.inference.graph.bound import message_bound
from maxmargin.inference.graph.projection import cell_starts, point_value, project
from maxmargin.inference.graph.shape import Shape, read_only
from maxmargin.inference.graph.srmp import srmp_example

__all__ = ["ADMM", "AdmmRoom", "admm", "admm_room"]

#: The first step, as a share of how far tables spread; and messages move by so many steps.
FIRST, OVER = 0.25, 1.5
#: Iterations between two looks at bound and point; the step changes at such looks, but not after
#: LAST_CHANGE iterations: a step that keeps changing need not converge.
BETWEEN, LAST_CHANGE = 10, 500
#: The step changes where one residual is so many times the other.
RATIO = 3.0


class AdmmRoom(NamedTuple):
    """Workspace of `admm`, and where it stands.

    Attributes
    ----------
    share : float64 array of shape (n,)
        1 / the number of factors of each node; 0 if it has none.
    mean : float64 array, flat as unary potentials
        The marginals p of nodes.
    own : float64 array, flat as messages
        The marginals z of factors.
    support_at : int64 array of shape (F + 1,)
    support : int64 array, mass : float64 array
        The cells of each factor that have mass.
    n_support : int64 array of shape (F,)
    scores : float64 array, as long as the largest table
    sizes : int64 array, as long as the largest order
    matrix, right : float64 arrays
        Scratch of `best_distribution`.
    n_done : int64 array of shape (1,)
        Iterations since the beginning.
    cell_at, spare, nodes, factors, out : arrays
        As `project`, `point_value` and `message_bound` want them.
    """

    share: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    own: npt.NDArray[np.float64]
    support_at: npt.NDArray[np.int64]
    support: npt.NDArray[np.int64]
    mass: npt.NDArray[np.float64]
    n_support: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]
    sizes: npt.NDArray[np.int64]
    matrix: npt.NDArray[np.float64]
    right: npt.NDArray[np.float64]
    n_done: npt.NDArray[np.int64]
    cell_at: npt.NDArray[np.int64]
    spare: npt.NDArray[np.float64]
    nodes: npt.NDArray[np.float64]
    factors: npt.NDArray[np.float64]
    out: npt.NDArray[np.float64]


def admm_room(shape: Shape) -> AdmmRoom:
    """Return the workspace of `admm` for graphs of this shape, all of tables."""
    cell_at = cell_starts(shape)
    n_factors_of = np.diff(shape.slot_at)
    orders = np.diff(shape.member_at)
    n_messages = int(shape.message_at[-1])
    # A support has independent columns, at most sum K - order + 1, and takes in one more.
    lengths = np.diff(shape.message_at[shape.member_at]) - orders + 2
    support_at = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    most = int(lengths.max(initial=1))
    n_labels = int(shape.unary_at[-1])
    return AdmmRoom(
        np.where(n_factors_of > 0, 1.0 / np.maximum(1, n_factors_of), 0.0),
        np.zeros(n_labels),
        np.zeros(n_messages),
        support_at,
        np.zeros(int(support_at[-1]), dtype=np.int64),
        np.zeros(int(support_at[-1])),
        np.zeros(len(orders), dtype=np.int64),
        np.zeros(int(np.diff(cell_at).max(initial=1))),
        np.zeros(int(orders.max(initial=1)), dtype=np.int64),
        np.zeros((most + 1, most + 1)),
        np.zeros(most + 1),
        np.zeros(1, dtype=np.int64),
        read_only(cell_at),
        np.zeros(n_messages),
        np.zeros(n_labels),
        np.zeros(int(cell_at[-1])),
        np.zeros(int(shape.n_labels.max(initial=1))),
    )


@kernel
def admm(shape, unary, tables, messages, step, n_iterations, tolerance, room, nodes, factors):
    """Make at most n_iterations iterations; return (bound, value, iterations done, step).

    Parameters
    ----------
    messages : float64 array
        Where to start: zeros, or those of `srmp`. Left for the next call, the last ones.
    step : float
        0: begin, with a step that fits the potentials. Otherwise go on where the last call with
        this room ended, with the step that it returned.
    tolerance : float
        Stop when bound - value <= tolerance * (1 + |bound|).
    room : AdmmRoom
    nodes, factors : float64 arrays
        Receive the best point of this call, the marginals of factors at room.cell_at. If its value
        is -inf, no point was found that uses no forbidden entry.

    Returns
    -------
    bound : the least of this call; -inf if no labelling is feasible
    value : <= bound
    """
    if step == 0.0:
        step = _start(shape, unary, tables, messages, room)
    bound, value = np.inf, -np.inf
    for iteration in range(n_iterations):
        if not _distribute(shape, tables, messages, step, room):
            return -np.inf, -np.inf, iteration + 1, step
        apart, moved = _agree(shape, messages, step, room)
        room.n_done[0] += 1
        is_look = room.n_done[0] % BETWEEN == 0
        if not is_look and iteration < n_iterations - 1:
            continue
        bound = min(bound, message_bound(shape, unary, tables, messages, room.out))
        found = _value(shape, unary, tables, room)
        if found > value or value == -np.inf:
            value = found
            for i in range(nodes.shape[0]):
                nodes[i] = room.nodes[i]
            for i in range(factors.shape[0]):
                factors[i] = room.factors[i]
        # They are sums of the same numbers in different order: rounding may cross them.
        bound = max(bound, value)
        if bound - value <= tolerance * (1.0 + abs(bound)):
            return bound, value, iteration + 1, step
        if is_look and room.n_done[0] <= LAST_CHANGE:
            if apart > RATIO**2 * moved:
                step *= 2.0
            elif moved > RATIO**2 * apart:
                step /= 2.0
    return bound, value, n_iterations, step


@jitable
def _start(shape, unary, tables, messages, room):
    """Let messages add up to the unary scores, and marginals be uniform; return the first step."""
    room.n_done[0] = 0
    for v in range(shape.n_labels.shape[0]):
        first, last = shape.unary_at[v], shape.unary_at[v + 1]
        n_possible = 0
        for i in range(first, last):
            room.mean[i] = 1.0 if unary[i] > -np.inf else 0.0
            n_possible += unary[i] > -np.inf
        for i in range(first, last):
            room.mean[i] /= max(1, n_possible)
            rest = unary[i]
            for k in range(shape.slot_at[v], shape.slot_at[v + 1]):
                at = shape.message_at[shape.slots[k]] + i - first
                if messages[at] == -np.inf:
                    messages[at] = 0.0
                rest -= messages[at]
            for k in range(shape.slot_at[v], shape.slot_at[v + 1]):
                messages[shape.message_at[shape.slots[k]] + i - first] += rest * room.share[v]
        if shape.slot_at[v] == shape.slot_at[v + 1] and n_possible > 0:
            _choose(unary, first, last, room.mean)
    total, n_factors = 0.0, shape.kinds.shape[0]
    for f in range(n_factors):
        room.n_support[f] = 0
        least, most = np.inf, -np.inf
        start = shape.table_at[f]
        for i in range(start, start + room.cell_at[f + 1] - room.cell_at[f]):
            if tables[i] > -np.inf:
                least, most = min(least, tables[i]), max(most, tables[i])
        if most > least:
            total += most - least
    return FIRST * total / n_factors if total > 0.0 else FIRST


@jitable
def _choose(unary, first, last, mean):
    """Give all mass of a node without factors to its best label."""
    best = first
    for i in range(first, last):
        mean[i] = 0.0
        if unary[i] > unary[best]:
            best = i
    mean[best] = 1.0


@jitable
def _distribute(shape, tables, messages, step, room):
    """Solve for the marginals of all factors; return False if one allows nothing."""
    scores, sizes = room.scores, room.sizes
    scale = 1.0 / step
    for f in range(shape.kinds.shape[0]):
        first = shape.member_at[f]
        order = shape.member_at[f + 1] - first
        for axis in range(order):
            sizes[axis] = shape.n_labels[shape.members[first + axis]]
        n_cells = room.cell_at[f + 1] - room.cell_at[f]
        start = shape.table_at[f]
        for cell in range(n_cells):
            scores[cell] = tables[start + cell] * scale
        repeats, run = 1, n_cells
        for axis in range(order):
            size = sizes[axis]
            run //= size
            at, node = shape.message_at[first + axis], shape.unary_at[shape.members[first + axis]]
            for x in range(size):
                added = room.mean[node + x] + messages[at + x] * scale
                for r in range(repeats):
                    place = (r * size + x) * run
                    for k in range(place, place + run):
                        scores[k] += added
            repeats *= size
        own = slice(room.support_at[f], room.support_at[f + 1])
        support, mass = room.support[own], room.mass[own]
        if room.n_support[f] == 0:
            best = 0
            for cell in range(n_cells):
                if scores[cell] > scores[best]:
                    best = cell
            if scores[best] == -np.inf:
                return False
            support[0], mass[0], room.n_support[f] = best, 1.0, 1
        own = slice(shape.message_at[first], shape.message_at[first + order])
        room.n_support[f] = best_distribution(
            sizes, order, scores, n_cells, support, mass, room.n_support[f],
            (room.matrix, room.right), room.own[own],
        )  # fmt: skip
    return True


@jitable
def _agree(shape, messages, step, room):
    """Set the marginals of nodes and the messages; return the squares of what is apart and moved.

    That is the sum over all slots of |z_fv - p_v|^2, and of |p_v - p_v before|^2.
    """
    apart, moved = 0.0, 0.0
    for v in range(shape.n_labels.shape[0]):
        n_slots = shape.slot_at[v + 1] - shape.slot_at[v]
        if n_slots == 0:
            continue
        first = shape.unary_at[v]
        for x in range(shape.n_labels[v]):
            total = 0.0
            for k in range(shape.slot_at[v], shape.slot_at[v + 1]):
                total += room.own[shape.message_at[shape.slots[k]] + x]
            mean = total * room.share[v]
            moved += n_slots * (mean - room.mean[first + x]) ** 2
            room.mean[first + x] = mean
            for k in range(shape.slot_at[v], shape.slot_at[v + 1]):
                at = shape.message_at[shape.slots[k]] + x
                off = room.own[at] - mean
                apart += off * off
                messages[at] -= OVER * step * off
    return apart, moved


@jitable
def _value(shape, unary, tables, room):
    """Make a point of the local polytope of the marginals; return its value."""
    for v in range(shape.n_labels.shape[0]):
        total = 0.0
        for i in range(shape.unary_at[v], shape.unary_at[v + 1]):
            total += room.mean[i]
        for i in range(shape.unary_at[v], shape.unary_at[v + 1]):
            room.nodes[i] = room.mean[i] / total
    for i in range(room.factors.shape[0]):
        room.factors[i] = 0.0
    for f in range(shape.kinds.shape[0]):
        for i in range(room.n_support[f]):
            k = room.support_at[f] + i
            room.factors[room.cell_at[f] + room.support[k]] += room.mass[k]
    project(shape, room.cell_at, room.nodes, room.factors, room.spare)
    return point_value(shape, unary, tables, room.cell_at, room.nodes, room.factors)


def _example() -> tuple[Any, ...]:
    """Return arguments of `admm`, of the types that all callers have."""
    shape, unary, tables, messages, *_ = srmp_example()
    room = admm_room(shape)
    return shape, unary, tables, messages, 0.0, 1, 0.0, room, np.zeros(2), np.zeros(1)


#: It takes seconds to compile, so all callers share one code.
ADMM = sealed(admm, 0, "Tuple(float64, float64, int64, float64)", _example)

"""The k best closed sets of nodes of any hierarchy, by minimum cuts in parts of all sets (Lawler).

Take the best set y of a part, and its border: the nodes outside y all whose parents are in y, and
the nodes of y that have no child in y. Every other closed set differs from y at some node of the
border: the first node that it has more is of the former kind, or else the last that it lacks is of
the latter. So the other sets of the part fall into one part per node of the border: sets that
differ from y at this node, and agree with y at the nodes of the border that came before it.

A part needs one cut, unless it cannot hold one of the k best. What the flow has left at node n,
r'_n, says so: the score of every closed set is at most the sum of r' over its nodes, and that of y
is the sum of all positive r'. So a set that differs from y at n is worse by |r'_n| at least. Nodes
are taken in the order of this bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.hierarchy.closure import best_closure

__all__ = ["BestClosures", "best_closures_room", "best_k_closures"]

#: What a part says of a node.
FREE, IN, OUT = 0, 1, 2


class BestClosures(NamedTuple):
    """The k best closed sets of M nodes, and workspace of `best_k_closures`."""

    sets: npt.NDArray[np.int8]  # (k, M): 0 or 1, best first
    scores: npt.NDArray[np.float64]  # (k,)
    parts: npt.NDArray[np.int8]  # (k, M): FREE, IN or OUT, of the parts that are still open
    values: npt.NDArray[np.float64]  # (k,): the best score of each part
    part: npt.NDArray[np.int8]  # (M,): the part that is split
    trial: npt.NDArray[np.int8]  # (M,): a part of it
    gains: npt.NDArray[np.float64]  # (M,): scores, -inf for nodes that are out
    must: npt.NDArray[np.int8]  # (M,)
    y: npt.NDArray[np.int8]  # (M,)
    bound: npt.NDArray[np.float64]  # (M,): of the sets that differ at a node; -inf: not to be cut


def best_closures_room(n_nodes: int, k: int) -> BestClosures:
    """Return room for the k best sets of n_nodes nodes."""
    sets, parts = np.zeros((2, k, n_nodes), dtype=np.int8)
    part, trial, must, y = np.zeros((4, n_nodes), dtype=np.int8)
    gains, bound = np.zeros((2, n_nodes))
    return BestClosures(sets, np.zeros(k), parts, np.zeros(k), part, trial, gains, must, y, bound)


@kernel
def _hold(shape, node, part):
    """Mark a node and all nodes above it as IN."""
    part[node] = IN
    for v in range(node, -1, -1):
        if part[v] == IN:
            for place in range(shape.parent_at[v], shape.parent_at[v + 1]):
                part[shape.parents[place]] = IN


@kernel
def _best_of_part(scores, shape, part, closure, room):
    """Write the best set of a part into room.y; return its score, -inf if it has none."""
    for n in range(part.shape[0]):
        room.must[n] = 1 if part[n] == IN else 0
        room.gains[n] = -np.inf if part[n] == OUT else scores[n]
    return best_closure(room.gains, shape, room.must, closure, room.y)


@kernel
def _is_border(shape, n, y):
    """Tell whether y with node n changed is closed."""
    if y[n] == 1:
        for place in range(shape.child_at[n], shape.child_at[n + 1]):
            if y[shape.children[place]] == 1:
                return False
        return True
    for place in range(shape.parent_at[n], shape.parent_at[n + 1]):
        if y[shape.parents[place]] == 0:
            return False
    return True


@kernel
def _place_of(values, count, sign):
    """Return the place of the largest of sign * values, the first of equal ones."""
    place = 0
    for k in range(1, count):
        if sign * values[k] > sign * values[place]:
            place = k
    return place


@kernel
def _close_part(place, count, room):
    """Take a part from the open ones, of which the last moves to its place."""
    for n in range(room.part.shape[0]):
        room.parts[place, n] = room.parts[count - 1, n]
    room.values[place] = room.values[count - 1]


@kernel
def best_k_closures(scores, shape, must, k, closure, room):
    """Find the k best closed sets, best first; return how many there are, at most k.

    They are in room.sets, and their scores in room.scores. Arguments are those of `best_closure`,
    and

    closure : ClosureRoom
    room : BestClosures, for this k or a larger one
    """
    M, part = shape.parent_at.shape[0] - 1, room.part
    for n in range(M):
        part[n] = IN if must.shape[0] > 0 and must[n] == 1 else FREE
        room.parts[0, n] = part[n]
    room.values[0] = _best_of_part(scores, shape, part, closure, room)
    n_open = 1 if room.values[0] > -np.inf else 0
    n_found = 0
    while n_open > 0 and n_found < k:
        top = _place_of(room.values, n_open, 1.0)
        for n in range(M):
            part[n] = room.parts[top, n]
        value = room.values[top]
        _close_part(top, n_open, room)
        n_open -= 1
        if n_found > 0:  # cut again: other cuts have overwritten the set, and what the flow leaves
            _best_of_part(scores, shape, part, closure, room)
        best = room.sets[n_found]
        for n in range(M):
            best[n] = room.y[n]
        room.scores[n_found] = value
        n_found += 1
        most = k - n_found  # more parts than these cannot be needed
        while n_open > most:
            _close_part(_place_of(room.values, n_open, -1.0), n_open, room)
            n_open -= 1
        for n in range(M):
            room.bound[n] = -np.inf
            if most > 0 and part[n] == FREE and scores[n] > -np.inf and _is_border(shape, n, best):
                room.bound[n] = value - abs(closure.network.excess[n])
        while most > 0:
            n = _place_of(room.bound, M, 1.0)
            worst = _place_of(room.values, n_open, -1.0)
            if room.bound[n] == -np.inf or (n_open == most and room.bound[n] <= room.values[worst]):
                break
            room.bound[n] = -np.inf
            for v in range(M):
                room.trial[v] = part[v]
            if best[n] == 1:
                room.trial[n] = OUT
                _hold(shape, n, part)  # the parts that follow agree with y at n
            else:
                _hold(shape, n, room.trial)
                part[n] = OUT
            other = _best_of_part(scores, shape, room.trial, closure, room)
            into = n_open if n_open < most else worst
            if other > -np.inf and (n_open < most or other > room.values[worst]):
                for v in range(M):
                    room.parts[into, v] = room.trial[v]
                room.values[into] = other
                n_open = max(n_open, into + 1)
    return n_found

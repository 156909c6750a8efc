"""A good label set for any pairwise weights, by flipping labels, with a bound from roof duality.

The score is ``sum_j unary[j] y_j + sum_e pair[e] y_a y_b``. Nothing here is random: the same
weights give the same labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.core.sealed import sealed
from maxmargin.inference.labels.graph import LabelGraph, label_graph
from maxmargin.inference.labels.roof_duality import RoofRoom, roof_dual, roof_room

__all__ = [
    "BEST_BOUNDED",
    "BoundedRoom",
    "FlipRoom",
    "best_labels_bounded",
    "bounded_room",
    "flip_room",
    "label_score",
    "local_search",
]

# The walk of `local_search` ends after patience = _PATIENCE + _PATIENCE_PER_LABEL * n_free steps
# without a better label set, and always after _MOST_PATIENCES * patience steps. A flipped label
# rests for half as many steps as there are free labels, at most for _LONGEST_REST steps.
_PATIENCE, _PATIENCE_PER_LABEL = 20, 2
_MOST_PATIENCES = 20
_LONGEST_REST = 12
# A score counts as better only if it grows by this share of the largest field: a smaller difference
# may be rounding.
_PRECISION = 1e-12


class FlipRoom(NamedTuple):
    """Workspace of `local_search`, arrays with one entry per label."""

    field: npt.NDArray[np.float64]
    free_labels: npt.NDArray[np.int32]
    rests_until: npt.NDArray[np.int64]
    best: npt.NDArray[np.int32]
    given: npt.NDArray[np.int32]


class BoundedRoom(NamedTuple):
    """Workspace of `best_labels_bounded`; node2 and edge2 hold the relaxed answer afterwards."""

    roof: RoofRoom
    flips: FlipRoom
    node2: npt.NDArray[np.int32]
    edge2: npt.NDArray[np.int32]
    free: npt.NDArray[np.int8]
    trial: npt.NDArray[np.int32]


def flip_room(graph: LabelGraph) -> FlipRoom:
    """Return the workspace of `local_search` for this graph."""
    n_labels = len(graph.start) - 1
    return FlipRoom(
        np.empty(n_labels),
        np.empty(n_labels, dtype=np.int32),
        np.empty(n_labels, dtype=np.int64),
        np.empty(n_labels, dtype=np.int32),
        np.empty(n_labels, dtype=np.int32),
    )


def bounded_room(graph: LabelGraph) -> BoundedRoom:
    """Return the workspace of `best_labels_bounded` for this graph."""
    n_labels = len(graph.start) - 1
    return BoundedRoom(
        roof_room(graph),
        flip_room(graph),
        np.empty(n_labels, dtype=np.int32),
        np.empty(len(graph.edges), dtype=np.int32),
        np.empty(n_labels, dtype=np.int8),
        np.empty(n_labels, dtype=np.int32),
    )


@kernel
def label_score(unary, graph, pair, y):
    """Return the score of the label set y."""
    score = 0.0
    for j in range(unary.shape[0]):
        if y[j] != 0:
            score += unary[j]
    for e in range(pair.shape[0]):
        if y[graph.edges[e, 0]] != 0 and y[graph.edges[e, 1]] != 0:
            score += pair[e]
    return score


@kernel
def local_search(unary, graph, pair, room, free, y):
    """Improve a label set by single flips and a short tabu walk; return its score.

    Each step flips the label whose flip gains most, or loses least. A label that was flipped rests
    for some steps: meanwhile it is flipped only if that gives the best score so far. The best label
    set of the walk is kept.

    Parameters
    ----------
    unary : float64 array of shape (m,)
        Finite, or -inf for a label that must be 0.
    graph : LabelGraph
    pair : float64 array of shape (E,)
        Finite.
    room : FlipRoom
        Of this graph. Overwritten.
    free : int8 array of shape (m,)
        Labels with 0 here keep their value.
    y : int32 array of shape (m,)
        0 or 1: where to start. Overwritten by the best label set found, which never scores less.
    """
    field, free_labels, rests_until, best, given = room
    _copy(y, given)
    given_score = label_score(unary, graph, pair, y)
    n_free = 0
    for j in range(unary.shape[0]):
        if free[j] != 0:
            if unary[j] == -np.inf:
                y[j] = 0
            else:
                free_labels[n_free] = j
                n_free += 1
    largest = _set_fields(unary, graph, pair, free_labels, n_free, y, field)
    for k in range(n_free):
        rests_until[free_labels[k]] = 0
    precision = _PRECISION * largest
    rest = min(_LONGEST_REST, n_free // 2)
    patience = _PATIENCE + _PATIENCE_PER_LABEL * n_free
    score = label_score(unary, graph, pair, y)
    best_score = score
    _copy(y, best)
    n_idle = 0
    for step in range(1, _MOST_PATIENCES * patience):
        flip = -1
        most = -np.inf
        for k in range(n_free):
            j = free_labels[k]
            gain = -field[j] if y[j] != 0 else field[j]
            if gain > most and (rests_until[j] < step or score + gain > best_score + precision):
                flip, most = j, gain
        # No flip gains: y is a local maximum. Record it before the walk goes down.
        if most <= 0.0 and score > best_score + precision:
            best_score = score
            _copy(y, best)
            n_idle = 0
        n_idle += 1
        if n_idle > patience:
            break
        if flip >= 0:
            score += most
            rests_until[flip] = step + rest
            _flip(flip, graph, pair, y, field)
    if score > best_score + precision:
        _copy(y, best)
    _copy(best, y)
    score = label_score(unary, graph, pair, y)
    if score < given_score:
        _copy(given, y)
        score = given_score
    return score


@kernel
def _copy(source, target):
    """Copy labels. This loop compiles in a tenth of the time of an assignment of slices."""
    for j in range(source.shape[0]):
        target[j] = source[j]


@kernel
def _set_fields(unary, graph, pair, free_labels, n_free, y, field):
    """Set field[j] of free labels to what y_j = 1 adds to the score; return the largest |field|."""
    largest = 0.0
    for k in range(n_free):
        j = free_labels[k]
        total = unary[j]
        for i in range(graph.start[j], graph.start[j + 1]):
            if y[graph.neighbour[i]] != 0:
                total += pair[graph.edge_of[i]]
        field[j] = total
        largest = max(largest, abs(total))
    return largest


@kernel
def _flip(j, graph, pair, y, field):
    """Flip label j, and update the fields of its neighbours."""
    sign = -1.0 if y[j] != 0 else 1.0
    y[j] = 1 - y[j]
    for i in range(graph.start[j], graph.start[j + 1]):
        field[graph.neighbour[i]] += sign * pair[graph.edge_of[i]]


@kernel
def best_labels_bounded(unary, graph, pair, room, y):
    """Fill y with a good label set; return its score and a bound that no label set exceeds.

    Roof duality comes first. If its answer is integral, it is a best label set, and the bound is
    its score. Otherwise the integral labels are kept, since some best label set has them
    (persistency), and `local_search` sets the labels at 1/2. It starts from three roundings of
    them: by `_round_in_turn`, all 0, and all 1. The bound is then the value of the relaxation.

    Parameters are those of `local_search`, but room is a BoundedRoom and y need not be set.
    """
    node2, free, trial = room.node2, room.free, room.trial
    bound = roof_dual(unary, graph, pair, room.roof, node2, room.edge2)
    n_labels = unary.shape[0]
    n_halves = 0
    for j in range(n_labels):
        y[j] = node2[j] // 2
        free[j] = node2[j] == 1
        n_halves += free[j]
    score = label_score(unary, graph, pair, y)
    if n_halves == 0:
        return score, score
    score = -np.inf
    for start in range(3):
        for j in range(n_labels):
            trial[j] = start - 1 if free[j] else node2[j] // 2
        if start == 0:
            _round_in_turn(unary, graph, pair, n_halves, room, trial)
        reached = local_search(unary, graph, pair, room.flips, free, trial)
        if reached > score:
            score = reached
            _copy(trial, y)
    return score, max(score, bound)


@kernel
def _round_in_turn(unary, graph, pair, n_halves, room, trial):
    """Round the labels at 1/2 one by one, always the one with the largest |field| next.

    The fields take into account the labels that were rounded before.
    """
    field, is_half = room.flips.field, room.flips.best
    node2 = room.node2
    for j in range(unary.shape[0]):
        is_half[j] = node2[j] == 1
        field[j] = unary[j]
        for i in range(graph.start[j], graph.start[j + 1]):
            field[j] += 0.5 * node2[graph.neighbour[i]] * pair[graph.edge_of[i]]
    for _ in range(n_halves):
        surest = -1
        for j in range(unary.shape[0]):
            if is_half[j] and (surest < 0 or abs(field[j]) > abs(field[surest])):
                surest = j
        is_half[surest] = 0
        trial[surest] = 1 if field[surest] > 0.0 else 0
        change = trial[surest] - 0.5
        for i in range(graph.start[surest], graph.start[surest + 1]):
            field[graph.neighbour[i]] += change * pair[graph.edge_of[i]]


def _example() -> tuple[Any, ...]:
    """Return arguments of `best_labels_bounded`, of the types that all callers have."""
    graph = label_graph(2, [(0, 1)])
    return np.zeros(2), graph, np.zeros(1), bounded_room(graph), np.zeros(2, dtype=np.int32)


#: It takes seconds to compile, so all callers share one code.
BEST_BOUNDED = sealed(best_labels_bounded, 0, "Tuple(float64, float64)", _example)

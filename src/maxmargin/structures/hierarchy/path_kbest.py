"""Edge fields of trees with partial paths: the k best sets of nodes.

Every cell of a node keeps the k best values of what is below, best first. Children are merged into
their parents one after the other, from the last node to the first, and traced back in the reverse
order. The roots are merged into one cell more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    implements,
    k_best,
    k_best_room,
    margin_error,
    maximize,
    workspace,
)
from maxmargin.costs.tables import SumOverParts, WholeCost
from maxmargin.structures.graph.costs import SMALL_SCALE, augment, is_truth, write_truth
from maxmargin.structures.graph.data import graph_potentials
from maxmargin.structures.hierarchy.path_field import PathFields, fill_values


class PathKBestRoom(NamedTuple):
    """Room for the k best sets of one example, of C cells in all; the last cell is of all roots.

    Of a node and the labels above it (C / 2 pairs in all), ``bit`` and ``rank`` say which label and
    which of its values come at each place of the message to the parent; ``old`` and ``new`` which
    value of the parent before, and which of the message, make each value of the parent after.
    """

    count: Any  # (C + 1,) int64
    values: Any  # (C + 1, k)
    bit: Any  # (C / 2, k) int32
    rank: Any  # (C / 2, k) int32
    old: Any  # (C / 2, k) int32
    new: Any  # (C / 2, k) int32
    message: Any  # (k,)
    merged: Any  # (k,)
    place: Any  # (M + 1,) int32: which value of its cell a node has, on the way back
    sets: Any  # (k * (M + 1),) int32


class PathRoom(NamedTuple):
    """Room for the best set of one example, and for the two best."""

    augmented: Any  # (2 * (M + 1),)
    tables: Any  # (cells of all tables,)
    values: Any  # (C,)
    code: Any  # (M,) int64: the labels of a path as a number in base 2, the root first
    two: PathKBestRoom
    pair: Any  # (2 * (M + 1),) int32


def _room(data: Any, k: int) -> PathKBestRoom:
    n_cells = int(data.value_at[-1])
    bit, rank, old, new = (np.zeros((n_cells // 2, k), dtype=np.int32) for _ in range(4))
    return PathKBestRoom(
        np.zeros(n_cells + 1, dtype=np.int64),
        np.zeros((n_cells + 1, k)),
        bit,
        rank,
        old,
        new,
        np.zeros(k),
        np.zeros(k),
        np.zeros(len(data.parent) + 1, dtype=np.int32),
        np.zeros(k * (len(data.parent) + 1), dtype=np.int32),
    )


@implements(workspace, PathFields)
def _workspace(data):
    """Return theta and room."""
    theta = graph_potentials(data)
    n_nodes = len(data.parent)
    room = PathRoom(
        np.zeros(len(theta.unary)),
        np.zeros(len(theta.tables)),
        np.zeros(int(data.value_at[-1])),
        np.zeros(n_nodes, dtype=np.int64),
        _room(data, 2),
        np.zeros(2 * (n_nodes + 1), dtype=np.int32),
    )
    return theta, room


@implements(k_best_room, PathFields)
def _k_best_room(data, cost, k):
    """Return room for k sets, and one more where the truth may be one of them."""
    return _room(data, k + 1 if isinstance(cost, WholeCost) else k)


@jitable
def _take_best(own, cell, pair, k):
    """Write the best values of the two labels of a node, given those above; return their number."""
    places = (0, 0)
    count = 0
    while count < k and places[0] + places[1] < own.count[cell] + own.count[cell + 1]:
        off, on = places
        takes_on = off >= own.count[cell]
        if off < own.count[cell] and on < own.count[cell + 1]:
            takes_on = own.values[cell + 1, on] > own.values[cell, off]
        label = 1 if takes_on else 0
        place = on if takes_on else off
        own.message[count] = own.values[cell + label, place]
        own.bit[pair, count], own.rank[pair, count] = label, place
        places = (off + (1 - label), on + label)
        count += 1
    return count


@jitable
def _merge(own, into, pair, n_message, k):
    """Make the k best sums of the values of a cell and of a message the values of the cell."""
    n_old, count = own.count[into], 0
    for a in range(n_old):
        for b in range(n_message):
            if (a + 1) * (b + 1) > k:  # as many sums are no worse
                break
            value = own.values[into, a] + own.message[b]
            if count == k and value <= own.merged[k - 1]:
                break
            place = min(count, k - 1)
            while place > 0 and own.merged[place - 1] < value:
                own.merged[place] = own.merged[place - 1]
                own.old[pair, place] = own.old[pair, place - 1]
                own.new[pair, place] = own.new[pair, place - 1]
                place -= 1
            own.merged[place], own.old[pair, place], own.new[pair, place] = value, a, b
            count = min(count + 1, k)
    for place in range(count):
        own.values[into, place] = own.merged[place]
    own.count[into] = count


@jitable
def _collect(data, values, own, k):
    """Merge all nodes into their parents, and the roots into the last cell."""
    n_nodes = data.parent.shape[0]
    last = data.value_at[n_nodes]
    for cell in range(last):
        own.values[cell, 0] = values[cell]
        own.count[cell] = 1 if values[cell] > -np.inf else 0
    own.values[last, 0], own.count[last] = 0.0, 1
    for back in range(n_nodes):
        v = n_nodes - 1 - back
        at, above = data.value_at[v], data.parent[v]
        for labels in range((data.value_at[v + 1] - at) // 2):
            pair = at // 2 + labels
            n_message = _take_best(own, at + 2 * labels, pair, k)
            into = data.value_at[above] + labels if above >= 0 else last
            _merge(own, into, pair, n_message, k)


@jitable
def _trace(data, code, own, rank, outputs, at):
    """Write the set of one rank."""
    n_nodes = data.parent.shape[0]
    own.place[n_nodes] = rank
    for v in range(n_nodes):
        above = data.parent[v] if data.parent[v] >= 0 else n_nodes
        labels = code[above] if above < n_nodes else 0
        pair = data.value_at[v] // 2 + labels
        place = own.place[above]
        taken = own.new[pair, place]
        own.place[above] = own.old[pair, place]
        own.place[v] = own.rank[pair, taken]
        code[v] = 2 * labels + own.bit[pair, taken]
        outputs[at + v] = own.bit[pair, taken]
    outputs[at + n_nodes] = 1


@jitable
def _list_best(data, i, unary, tables, room, k, own, outputs, at):
    """Write the k best sets; return their number."""
    fill_values(data, i, unary, tables, room.values)
    _collect(data, room.values, own, k)
    n_nodes = data.parent.shape[0]
    count = own.count[data.value_at[n_nodes]]
    for rank in range(count):
        _trace(data, room.code, own, rank, outputs, at + rank * (n_nodes + 1))
    return count


@implements(k_best, PathFields, SumOverParts)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Find the k best sets, with the cost added to the potentials."""
    priced = augment(cost, data, i, theta, max(score_scale, SMALL_SCALE), cost_scale, room)
    return _list_best(data, i, priced.unary, priced.tables, room, k, own, outputs, at)


# -- the zero-one cost: the right set against all others, which cost the same ---------------------


@implements(maximize, PathFields, WholeCost)
def _maximize_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Compare the best set other than the truth, one of the two best, with the truth."""
    size = data.parent.shape[0] + 1
    count = _list_best(data, i, theta.unary, theta.tables, room, 2, room.two, room.pair, 0)
    for rank in range(count):
        if not is_truth(data, i, room.pair, rank * size):
            error = margin_error(data, i, theta, room.pair, rank * size)
            if score_scale * error + cost_scale * cost.price[i] > 0.0:
                for v in range(size):
                    outputs[at + v] = room.pair[rank * size + v]
                return
            break
    write_truth(data, i, outputs, at)


@implements(k_best, PathFields, WholeCost)
def _k_best_whole(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Put the truth, whose value is 0, before the first of the k + 1 best that is not above 0."""
    size = data.parent.shape[0] + 1
    listed = own.sets
    n_found = _list_best(data, i, theta.unary, theta.tables, room, k + 1, own, listed, 0)
    count = 0
    truth_waits = True
    for rank in range(n_found):
        if is_truth(data, i, listed, rank * size):
            continue
        error = margin_error(data, i, theta, listed, rank * size)
        value = score_scale * error + cost_scale * cost.price[i]
        if truth_waits and value <= 0.0 and count < k:
            write_truth(data, i, outputs, at + count * size)
            count += 1
            truth_waits = False
        if count < k:
            for v in range(size):
                outputs[at + count * size + v] = listed[rank * size + v]
            count += 1
    if truth_waits and count < k:
        write_truth(data, i, outputs, at + count * size)
        count += 1
    return count

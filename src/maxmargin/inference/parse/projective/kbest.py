"""The k best projective trees, found lazily (Huang and Chiang, 2005, algorithm 3).

Eisner's chart gives the best of every item. Only items of which more than the best is asked for get
a list of their own: first all their splits are candidates, each with the best of its two parts;
after a candidate (r, i, j), the parts' ranks i and j, was taken, (r, i, j + 1) becomes one, and
(r, i + 1, 0) if j = 0. So no candidate is made twice, and few items are ever touched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference._inline import inlined
from maxmargin.inference.parse.projective.chart import (
    ARC,
    GOAL,
    Chart,
    chart_room,
    decode,
    fill_chart,
    find_split,
    goal_of,
    goal_value,
    is_trivial,
    split,
    split_range,
    split_score,
)


class TreeLists(NamedTuple):
    """Workspace of `best_k_projective`: lists of the items that were touched.

    List number l of a touched item has its derivations, best first, in found_score[l] and
    found[l], and its candidates, a heap, in heap_score[l] and heap[l]. A derivation is (r, rank of
    the left part, rank of the right part).
    """

    chart: Chart
    place: npt.NDArray[np.int32]  # (3 (n + 1)^2 + 1,): the list of an item, -1 if it has none
    touched: npt.NDArray[np.int64]  # (n_lists,): the item of a list
    n_found: npt.NDArray[np.int32]  # (n_lists,)
    n_heap: npt.NDArray[np.int32]  # (n_lists,): -1 once an item has no more derivations
    found_score: npt.NDArray[np.float64]  # (n_lists, k)
    found: npt.NDArray[np.int32]  # (n_lists, k, 3)
    heap_score: npt.NDArray[np.float64]  # (n_lists, n + k + 1)
    heap: npt.NDArray[np.int32]  # (n_lists, n + k + 1, 3)


def tree_lists_room(n_words: int, k: int) -> TreeLists:
    """Return workspace for the k best trees of up to ``n_words`` words."""
    size = n_words + 1
    n_items = 3 * size * size + 1
    # A tree is made of fewer than 4 n items, and every item that is touched belongs to a tree.
    n_lists = min(n_items, 4 * size * k)
    return TreeLists(
        chart_room(n_words),
        np.full(n_items, -1, dtype=np.int32),
        np.zeros(n_lists, dtype=np.int64),
        np.zeros(n_lists, dtype=np.int32),
        np.zeros(n_lists, dtype=np.int32),
        np.zeros((n_lists, k)),
        np.zeros((n_lists, k, 3), dtype=np.int32),
        np.zeros((n_lists, size + k)),
        np.zeros((n_lists, size + k, 3), dtype=np.int32),
    )


@kernel
def best_k_projective(scores, siblings, many, k, lists, heads, totals):
    """Find the k best projective trees, best first; return how many there are.

    Parameters
    ----------
    scores, siblings, many : as for `best_projective`
    k : int, at least 1
    lists : TreeLists, for this k or a larger one, overwritten
    heads : int32 array of shape (>= k, >= n); rows [0:count] receive the trees
    totals : float64 array of length >= k; [0:count] receives their scores, from the highest down

    Trees that score -inf are never returned.
    """
    chart = lists.chart
    fill_chart(scores, siblings, many, chart)
    best, _ = goal_value(scores, siblings, many, chart.values[0])
    if best == -np.inf:
        return 0
    goal = goal_of(chart.values.shape[1], scores.shape[0] - 1, many)
    n_lists = 0
    count = 0
    while count < k:
        n_lists = _ensure(scores, siblings, goal, count, lists, n_lists)
        place = lists.place[goal]
        if lists.n_found[place] <= count:
            break
        totals[count] = lists.found_score[place, count]
        _write_derivation(scores, siblings, goal, count, lists, heads[count])
        count += 1
    for place in range(n_lists):
        lists.place[lists.touched[place]] = -1
    return count


@inlined
def _is_known(places, n_found, n_heap, side, item, rank):
    """Tell whether a derivation of rank > 0 was found, or is known not to exist."""
    if is_trivial(side, item):
        return True
    place = places[item]
    return place >= 0 and (n_found[place] > rank or n_heap[place] < 0)


@inlined
def _score_of_rank(places, n_found, found_score, flat, side, item, rank):
    """Return the score of a known derivation; -inf if there is none of this rank."""
    if rank == 0:
        return flat[item]
    if is_trivial(side, item):
        return -np.inf
    place = places[item]
    return found_score[place, rank] if n_found[place] > rank else -np.inf


@kernel
def _ensure(scores, siblings, item, rank, lists, n_lists):
    """Find the derivations of an item up to a rank; return the number of lists in use."""
    n = scores.shape[0] - 1
    side = lists.chart.values.shape[1]
    flat = lists.chart.values.reshape(-1)
    second = siblings.shape[0] > 0
    stack = lists.chart.stack
    # Arrays are named once: to look one up in a tuple counts references.
    places, touched, n_found, n_heap = lists.place, lists.touched, lists.n_found, lists.n_heap
    found_score, found = lists.found_score, lists.found
    heap_score, heap = lists.heap_score, lists.heap
    stack[0, 0], stack[0, 1] = item, rank
    depth = 1
    while depth > 0:
        item, rank = stack[depth - 1, 0], stack[depth - 1, 1]
        place = places[item]
        if place >= 0 and (n_found[place] > rank or n_heap[place] < 0):
            depth -= 1
            continue
        kind, a, b = decode(side, item)
        if place < 0:
            # Make the list of the item: all its splits are candidates, the best one is taken.
            place = n_lists
            n_lists += 1
            places[item] = place
            touched[place] = item
            n_found[place] = 0
            n_heap[place] = 0
            first, end = split_range(n, kind, a, b, second)
            for r in range(first, end):
                left, right = split(side, n, kind, a, b, second, r)
                below = flat[left] + flat[right]
                value = split_score(scores, siblings, kind, a, b, r, below)
                if value > -np.inf:
                    at = n_heap[place]
                    # The first of the best stays on top: `find_split` takes it as well.
                    if at > 0 and value > heap_score[place, 0]:
                        heap_score[place, at] = heap_score[place, 0]
                        _write(heap, place, at, heap[place, 0, 0], 0, 0)
                        at = 0
                    heap_score[place, at] = value
                    _write(heap, place, at, r, 0, 0)
                    n_heap[place] += 1
            for at in range(n_heap[place] // 2 - 1, -1, -1):
                _sink(heap_score, heap, place, at, n_heap[place])
        else:
            # What follows the derivation taken last needs the next ranks of its parts.
            last = n_found[place] - 1
            r = found[place, last, 0]
            i, j = found[place, last, 1], found[place, last, 2]
            left, right = split(side, n, kind, a, b, second, r)
            if not _is_known(places, n_found, n_heap, side, right, j + 1):
                stack[depth, 0], stack[depth, 1] = right, j + 1
                depth += 1
                continue
            if j == 0 and not _is_known(places, n_found, n_heap, side, left, i + 1):
                stack[depth, 0], stack[depth, 1] = left, i + 1
                depth += 1
                continue
            for way in range(2 if j == 0 else 1):
                next_i, next_j = (i, j + 1) if way == 0 else (i + 1, 0)
                below = _score_of_rank(places, n_found, found_score, flat, side, left, next_i)
                below += _score_of_rank(places, n_found, found_score, flat, side, right, next_j)
                if below > -np.inf:
                    value = split_score(scores, siblings, kind, a, b, r, below)
                    _push(n_heap, heap_score, heap, place, value, r, next_i, next_j)
        _take(n_found, n_heap, found_score, found, heap_score, heap, place)
    return n_lists


@inlined
def _write(table, place, at, r, i, j):
    table[place, at, 0], table[place, at, 1], table[place, at, 2] = r, i, j


@inlined
def _take(n_found, n_heap, found_score, found, heap_score, heap, place):
    """Take the best candidate of a list; if there is none, the item has no more derivations."""
    count = n_heap[place] - 1
    n_heap[place] = count
    if count >= 0:
        rank = n_found[place]
        n_found[place] = rank + 1
        found_score[place, rank] = heap_score[place, 0]
        heap_score[place, 0] = heap_score[place, count]
        for c in range(3):
            found[place, rank, c] = heap[place, 0, c]
            heap[place, 0, c] = heap[place, count, c]
        _sink(heap_score, heap, place, 0, count)


@inlined
def _sink(heap_score, heap, place, at, count):
    """Move a candidate of a heap of ``count`` down to where it belongs."""
    value = heap_score[place, at]
    r, i, j = heap[place, at, 0], heap[place, at, 1], heap[place, at, 2]
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and heap_score[place, child + 1] > heap_score[place, child]:
            child += 1
        if not heap_score[place, child] > value:
            break
        heap_score[place, at] = heap_score[place, child]
        for c in range(3):
            heap[place, at, c] = heap[place, child, c]
        at = child
    heap_score[place, at] = value
    _write(heap, place, at, r, i, j)


@inlined
def _push(n_heap, heap_score, heap, place, value, r, i, j):
    """Add a candidate to a heap."""
    at = n_heap[place]
    n_heap[place] = at + 1
    while at > 0:
        above = (at - 1) // 2
        if not value > heap_score[place, above]:
            break
        heap_score[place, at] = heap_score[place, above]
        for c in range(3):
            heap[place, at, c] = heap[place, above, c]
        at = above
    heap_score[place, at] = value
    _write(heap, place, at, r, i, j)


@inlined
def _write_derivation(scores, siblings, goal, rank, lists, heads):
    """Write the tree of a derivation."""
    n = scores.shape[0] - 1
    side = lists.chart.values.shape[1]
    flat = lists.chart.values.reshape(-1)
    second = siblings.shape[0] > 0
    stack, places, found = lists.chart.stack, lists.place, lists.found
    stack[0, 0], stack[0, 1] = goal, rank
    depth = 1
    while depth > 0:
        depth -= 1
        item, rank = stack[depth, 0], stack[depth, 1]
        kind, a, b = decode(side, item)
        place = places[item]
        r = i = j = 0
        if place >= 0:
            r = found[place, rank, 0]
            i, j = found[place, rank, 1], found[place, rank, 2]
        else:
            r = find_split(scores, siblings, flat, side, kind, a, b, flat[item])
        if kind == GOAL:
            heads[r - 1] = 0
        elif kind == ARC:
            heads[b - 1] = a
        left, right = split(side, n, kind, a, b, second, r)
        if not is_trivial(side, left):
            stack[depth, 0], stack[depth, 1] = left, i
            depth += 1
        if not is_trivial(side, right):
            stack[depth, 0], stack[depth, 1] = right, j
            depth += 1

"""Which arcs k best trees of any shape are made of, usually some 2 n + k.

The contraction that finds the best tree also gives every node a price, what its best arc weighs
when it is taken. The prices are a dual solution: a tree that is not the best costs at least the
reduced cost of each of its arcs, which is the sum of prices of the nodes that the arc enters minus
its score. Where the best tree enters the outermost of these nodes by an arc of the node's own, and
the other arc does not come from below the word of that arc, the swap of the two gives a tree that
costs exactly the reduced cost; other swaps give other trees. So the k - 1 cheapest of these swaps
bound what the k-th best tree costs. Trees with an arc at or beyond the bound are no better than
these, and the arc need not be kept, unless it is one of the swaps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import jitable, kernel
from maxmargin.inference._inline import inlined


class ArcLists(NamedTuple):
    """The arcs that were kept, word by word, and workspace of `keep_arcs`.

    The arcs into word y have the places first[y] .. first[y + 1] - 1.
    """

    first: npt.NDArray[np.int32]  # (n + 2,)
    source: npt.NDArray[np.int32]  # ((n + 1)^2,): where an arc comes from
    score: npt.NDArray[np.float64]  # the same: its score, lowered if it is of the root
    reduced: npt.NDArray[np.float64]  # the same: its reduced cost
    price: npt.NDArray[np.float64]  # (2 n + 2,): of a node
    begin: npt.NDArray[np.int32]  # (2 n + 2,): words of a node are order[begin] and those after it
    size: npt.NDArray[np.int32]  # (2 n + 2,): so many
    order: npt.NDArray[np.int32]  # (n + 1,)
    loss: npt.NDArray[np.float64]  # (k,): what the cheapest swaps cost, from the lowest up
    swap: npt.NDArray[np.int32]  # (k,): the places of their arcs


@jitable
def arc_lists_room(n_words: int, k: int) -> ArcLists:
    """Return workspace for the k best trees of up to ``n_words`` words."""
    size = n_words + 1
    return ArcLists(
        np.empty(size + 1, dtype=np.int32),
        np.empty(size * size, dtype=np.int32),
        np.empty(size * size),
        np.empty(size * size),
        np.empty(2 * size),
        np.empty(2 * size, dtype=np.int32),
        np.empty(2 * size, dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.empty(k),
        np.empty(k, dtype=np.int32),
    )


@kernel
def keep_arcs(scores, n, heads, k, room, lists):
    """List arcs of which k best trees are made, k >= 2.

    Parameters
    ----------
    scores : as for `contract`
    heads : the best tree, by `expand` after `contract`
    room : Contraction, as `contract` left it
    lists : ArcLists, overwritten
    """
    above, arc_source, arc_target = room.above, room.arc_source, room.arc_target
    first, source, score, reduced = lists.first, lists.source, lists.score, lists.reduced
    price, begin, size, order = lists.price, lists.begin, lists.size, lists.order
    loss, swap = lists.loss, lists.swap
    n_nodes = above[2 * n + 1]
    _lay_out(n, n_nodes, above, begin, size, order)
    for v in range(1, n_nodes):
        inner = arc_target[v]
        total = scores[arc_source[v], inner]
        while inner != v:
            total -= price[inner]
            inner = above[inner]
        price[v] = total
    for rank in range(k - 1):
        loss[rank], swap[rank] = np.inf, -1
    count = 0
    for y in range(1, n + 1):
        first[y] = count
        v, total = y, 0.0
        low, high = begin[y], begin[y] + 1
        while v >= 0:
            # Arcs from words that are in the node around v, but not in v, enter v last.
            total += price[v]
            outer = above[v]
            start, stop = 0, n + 1
            if outer >= 0:
                start, stop = begin[outer], begin[outer] + size[outer]
            s, t = arc_source[v], arc_target[v]
            is_entered = heads[t - 1] == s
            at = start
            while at < stop:
                if at == low:
                    at = high
                    continue
                x = order[at]
                at += 1
                cost = total - scores[x, y]
                if x == s and y == t:
                    cost = -np.inf  # always kept: cycles are opened along such arcs
                elif not cost < loss[k - 2]:
                    continue
                elif is_entered and not is_below(heads, x, t):
                    _insert(loss, swap, k - 1, cost, count)
                source[count], score[count], reduced[count] = x, scores[x, y], cost
                count += 1
            low, high = start, stop
            v = outer
    first[n + 1] = count
    for rank in range(k - 1):
        if swap[rank] >= 0:
            reduced[swap[rank]] = -np.inf
    _drop_beyond(n, loss[k - 2], first, source, score, reduced)


@inlined
def is_below(heads, word, top):
    """Tell whether a word is ``top``, or below it in the tree."""
    while word != 0 and word != top:
        word = heads[word - 1]
    return word == top


@inlined
def _lay_out(n, n_nodes, above, begin, size, order):
    """Put the words, and the root, in an order in which those of every node stand together."""
    for v in range(n_nodes):
        size[v] = 1 if v <= n else 0
    for v in range(n_nodes):
        if above[v] >= 0:
            size[above[v]] += size[v]
    # In the meantime begin[v] + size[v] is where the next node within v ends.
    end = n + 1
    for v in range(n_nodes - 1, -1, -1):
        outer = above[v]
        if outer < 0:
            begin[v] = end - size[v]
            end -= size[v]
        else:
            begin[v] = begin[outer]
            begin[outer] += size[v]
    for v in range(n_nodes):
        if v <= n:
            order[begin[v]] = v
        if above[v] >= 0:
            begin[above[v]] -= size[v]


@inlined
def _insert(loss, swap, n_losses, cost, place):
    """Put a swap in its place; the dearest is dropped."""
    at = n_losses - 1
    while at > 0 and loss[at - 1] > cost:
        loss[at], swap[at] = loss[at - 1], swap[at - 1]
        at -= 1
    loss[at], swap[at] = cost, place


@inlined
def _drop_beyond(n, bound, first, source, score, reduced):
    """Drop arcs that were listed when the bound was higher."""
    kept = start = 0
    for y in range(1, n + 1):
        stop = first[y + 1]
        first[y] = kept
        for at in range(start, stop):
            if reduced[at] < bound:
                source[kept], score[kept] = source[at], score[at]
                kept += 1
        start = stop
    first[n + 1] = kept

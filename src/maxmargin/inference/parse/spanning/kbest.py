"""The k best trees of any shape (Camerini, Fratta and Maffioli, 1980).

A set of trees is given by arcs that are forced and arcs that are banned. Of each set the best tree
is known, and the arc of it whose loss costs the least: `_find_next` finds it by running the
contraction again. The next best tree of all is the best of some set without that arc, and the set
falls apart into two: trees with the arc, and trees without.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference._inline import inlined
from maxmargin.inference.parse.spanning.best import (
    Contraction,
    begin_contraction,
    contract,
    contraction_room,
    drop_members,
    expand,
    lower_root,
)


class SpanningLists(NamedTuple):
    """Workspace of `best_k_spanning`. A set of trees has a number, and names the one it is part of.

    Set s has the trees of set parent[s] with the arc forced (is_forced[s]) or without it.
    """

    room: Contraction
    base: npt.NDArray[np.float64]  # (n + 1, n + 1): scores, with the arcs of the root lowered
    scores: npt.NDArray[np.float64]  # (n + 1, n + 1): those of a set, other arcs -inf
    into: npt.NDArray[np.float64]  # (n + 1, n + 1): the same, transposed
    shift: npt.NDArray[np.float64]  # (n + 1,): what was subtracted from the arcs into a word
    slot: npt.NDArray[np.int32]  # (n + 1,): the slot that holds a word
    next_word: npt.NDArray[np.int32]  # (n + 1,): the words of a slot v are v, next_word[v], ...
    last_word: npt.NDArray[np.int32]  # (n + 1,): the last of them
    begin: npt.NDArray[np.int32]  # (n + 1,): words below v in the tree have begin[v] .. end[v] - 1
    end: npt.NDArray[np.int32]  # (n + 1,)
    is_free: npt.NDArray[np.bool_]  # (n + 1,): the arc into this word is not forced
    parent: npt.NDArray[np.int32]  # (2 k + 1,)
    own_source: npt.NDArray[np.int32]  # (2 k + 1,)
    own_target: npt.NDArray[np.int32]  # (2 k + 1,)
    is_forced: npt.NDArray[np.bool_]  # (2 k + 1,)
    tree: npt.NDArray[np.int32]  # (2 k + 1,): the number of the best tree of a set
    next_value: npt.NDArray[np.float64]  # (2 k + 1,): of the best tree without next_arc
    next_target: npt.NDArray[np.int32]  # (2 k + 1,)


def spanning_lists_room(n_words: int, k: int) -> SpanningLists:
    """Return workspace for the k best trees of up to ``n_words`` words."""
    size, n_sets = n_words + 1, 2 * k + 1
    squares = [np.zeros((size, size)) for _ in range(3)]
    words = [np.zeros(size, dtype=np.int32) for _ in range(5)]
    arcs = [np.zeros(n_sets, dtype=np.int32) for _ in range(5)]
    return SpanningLists(
        room=contraction_room(n_words),
        base=squares[0],
        scores=squares[1],
        into=squares[2],
        shift=np.zeros(size),
        slot=words[0],
        next_word=words[1],
        last_word=words[2],
        begin=words[3],
        end=words[4],
        is_free=np.zeros(size, dtype=np.bool_),
        parent=arcs[0],
        own_source=arcs[1],
        own_target=arcs[2],
        is_forced=np.zeros(n_sets, dtype=np.bool_),
        tree=arcs[3],
        next_value=np.zeros(n_sets),
        next_target=arcs[4],
    )


@kernel
def best_k_spanning(scores, many, k, lists, heads, totals):
    """Find the k best trees, best first; return how many there are.

    Parameters
    ----------
    scores, many : as for `best_spanning`
    k : int, at least 1
    lists : SpanningLists, for this k or a larger one, overwritten
    heads : int32 array of shape (>= k, >= n); rows [0:count] receive the trees
    totals : float64 array of length >= k; [0:count] receives their scores, from the highest down

    Trees that score -inf are never returned. Trees whose scores differ by less than rounding may
    change places.
    """
    n = scores.shape[0] - 1
    lower_root(scores, many, lists.base)
    lists.parent[0] = -1
    n_sets = 0
    count = 0
    while count < k:
        if count == 0:
            worse, forced = -1, -1
        else:
            # The set whose second best tree is the best of all that were not written yet.
            worse, value = -1, -np.inf
            for s in range(n_sets):
                if lists.next_value[s] > value:
                    worse, value = s, lists.next_value[s]
            if worse < 0:
                break
        without = n_sets
        if worse >= 0:
            target = lists.next_target[worse]
            source = heads[lists.tree[worse], target - 1]
            _divide(lists, worse, without, source, target, False)
        _restrict(lists, without, n)
        if not contract(lists.scores, n, lists.room):
            break
        expand(n, lists.room, heads[count])
        total, n_roots = 0.0, 0
        for m in range(1, n + 1):
            total += scores[heads[count, m - 1], m]
            n_roots += heads[count, m - 1] == 0
        if total == -np.inf or (n_roots > 1 and not many):
            break
        totals[count] = total
        lists.tree[without] = count
        n_sets += 1
        count += 1
        if count == k:
            break
        _find_next(lists, without, heads[count - 1], n)
        if worse >= 0:
            forced = n_sets
            _divide(lists, worse, forced, source, target, True)
            lists.tree[forced] = lists.tree[worse]
            lists.next_value[worse] = -np.inf
            n_sets += 1
            _restrict(lists, forced, n)
            _find_next(lists, forced, heads[lists.tree[forced]], n)
    # Scores were compared with the arcs of the root lowered, which rounds them otherwise.
    for last in range(1, count):
        at = last
        while at > 0 and totals[at - 1] < totals[at]:
            totals[at - 1], totals[at] = totals[at], totals[at - 1]
            for m in range(n):
                heads[at - 1, m], heads[at, m] = heads[at, m], heads[at - 1, m]
            at -= 1
    return count


@inlined
def _divide(lists, whole, part, source, target, is_forced):
    """Make a set: the trees of another one that have an arc, or have it not."""
    lists.parent[part] = whole
    lists.own_source[part], lists.own_target[part] = source, target
    lists.is_forced[part] = is_forced


@inlined
def _restrict(lists, s, n):
    """Fill lists.scores with -inf where the set s forbids an arc, and lists.is_free."""
    scores, base, is_free = lists.scores, lists.base, lists.is_free
    for h in range(n + 1):
        is_free[h] = True
        for m in range(1, n + 1):
            scores[h, m] = base[h, m]
    while lists.parent[s] >= 0:
        source, target = lists.own_source[s], lists.own_target[s]
        if lists.is_forced[s]:
            is_free[target] = False
            for h in range(n + 1):
                if h != source:
                    scores[h, target] = -np.inf
        else:
            scores[source, target] = -np.inf
        s = lists.parent[s]


@kernel
def _find_next(lists, s, heads, n):
    """Find the arc of the best tree of a set, given by lists.scores, that is cheapest to lose.

    The contraction is run once more. Where a node takes its best arc, and it is in the tree, the
    tree without it has in its place the best other arc into the node that does not come from below
    the word. An infinite loss: no other tree is allowed.
    """
    # Arrays are named once: to look one up in a tuple counts references.
    room = lists.room
    weight, source, target = room.weight, room.source, room.target
    state, path, live = room.state, room.path, room.live
    scores, into, shift = lists.scores, lists.into, lists.shift
    slot, is_free = lists.slot, lists.is_free
    next_word, last_word, begin, end = lists.next_word, lists.last_word, lists.begin, lists.end
    begin_contraction(scores, n, weight, source, target, state, live)
    _number(heads, begin, end, path, n)
    total = 0.0
    for word in range(n + 1):
        for x in range(n + 1):
            into[word, x] = weight[word, x]
        shift[word] = 0.0
        slot[word] = word
        next_word[word] = -1
        last_word[word] = word
        if word > 0:
            total += lists.base[heads[word - 1], word]
    lists.next_value[s] = -np.inf
    least, place = np.inf, -1
    n_live = n + 1
    for start in range(1, n + 1):
        if state[start] != 0:
            continue
        length = 1
        path[0] = start
        state[start] = 1
        while True:
            v = path[length - 1]
            best, b = -np.inf, -1
            for k in range(n_live):
                u = live[k]
                # Of equal arcs that of the tree is taken, or trees would be lost.
                value = weight[v, u]
                if value > best or (
                    value == best and u != v and heads[target[v, u] - 1] == source[v, u]
                ):
                    best, b = value, u
            if best == -np.inf:
                return
            s_real, t_real = source[v, b], target[v, b]
            if heads[t_real - 1] == s_real and is_free[t_real]:
                low, high = begin[t_real], end[t_real]
                other = -np.inf
                y = v
                while y >= 0:
                    for x in range(n + 1):
                        value = into[y, x] - shift[y]
                        if not value > other:
                            continue  # most are not: what follows is looked at seldom
                        is_own = x == s_real and y == t_real
                        if slot[x] != v and not low <= begin[x] < high and not is_own:
                            other = value
                    y = next_word[y]
                if best - other < least:
                    least, place = best - other, t_real
            if state[b] == 2:
                for k in range(length):
                    state[path[k]] = 2
                break
            if state[b] == 0:
                path[length] = b
                state[b] = 1
                length += 1
                continue
            first = length - 1
            while path[first] != b:
                first -= 1
            for k in range(first, length):
                c = path[k]
                taken = weight[c, path[k + 1] if k + 1 < length else b]
                for at in range(n_live):
                    weight[c, live[at]] -= taken
                word = c
                while word >= 0:
                    shift[word] += taken
                    slot[word] = b
                    word = next_word[word]
            n_live = drop_members(state, path, live, first, length, b, n_live)
            for k in range(first, length):
                c = path[k]
                if c == b:
                    continue
                next_word[last_word[b]] = c
                last_word[b] = last_word[c]
                for at in range(n_live):
                    u = live[at]
                    if u != b:
                        _keep_better(weight, source, target, heads, c, u, b, u)
                        _keep_better(weight, source, target, heads, u, c, u, b)
            weight[b, b] = -np.inf
            length = first + 1
    lists.next_value[s] = total - least
    lists.next_target[s] = place


@inlined
def _number(heads, begin, end, path, n):
    """Number the words of the tree so that those below v have the numbers begin[v] .. end[v] - 1.

    In the meantime end[v] has the number of words below v, itself included, and path[v] where its
    next child begins.
    """
    for v in range(n + 1):
        end[v] = 1
        begin[v] = -1
    for m in range(1, n + 1):
        at = m
        while at != 0:
            at = heads[at - 1]
            end[at] += 1
    begin[0] = 0
    path[0] = 1
    for m in range(1, n + 1):
        while begin[m] < 0:
            at = m
            while begin[heads[at - 1]] < 0:
                at = heads[at - 1]
            above = heads[at - 1]
            begin[at] = path[above]
            path[at] = begin[at] + 1
            path[above] += end[at]
    for v in range(n + 1):
        end[v] += begin[v]


@inlined
def _keep_better(weight, source, target, heads, v, u, to_v, to_u):
    """Let the entry (v, u) take the place of (to_v, to_u) where it is better, or of the tree."""
    old, new = weight[to_v, to_u], weight[v, u]
    if new >= old and v > 0 and (new > old or heads[target[v, u] - 1] == source[v, u]):
        weight[to_v, to_u] = new
        source[to_v, to_u], target[to_v, to_u] = source[v, u], target[v, u]

"""The k best trees of any shape (Camerini, Fratta and Maffioli, 1980).

A set of trees is given by arcs that are forced and arcs that are banned. Of each set the best tree
is known, and the second best: `_find_next` finds it by one contraction, in which the arc of the
best tree whose loss costs the least is swapped for another. The next best tree of all is the second
best of some set; the set falls apart into the trees with the arc that was lost, and those without.
Contractions read only the few arcs of which k best trees are made, see arcs.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import jitable, kernel
from maxmargin.inference._inline import inlined
from maxmargin.inference.parse.spanning.arcs import (
    ArcLists,
    arc_lists_room,
    is_below,
    keep_arcs,
)
from maxmargin.inference.parse.spanning.best import (
    Contraction,
    contract,
    contraction_room,
    expand,
    lower_root,
)


class SpanningLists(NamedTuple):
    """Workspace of `best_k_spanning`.

    Every tree that was found is the best of one set, and has its number. The set has the trees that
    keep rule[tree], the rule before it, and so on: an arc that must be there, or must not.
    """

    room: Contraction
    arcs: ArcLists
    value: npt.NDArray[np.float64]  # ((n + 1)^2,): scores of arcs in a set, others -inf
    shift: npt.NDArray[np.float64]  # (n + 1,): what was subtracted from the arcs into a word
    price: npt.NDArray[np.float64]  # (n + 1,): what the arc of a slot on the path weighs
    slot: npt.NDArray[np.int32]  # (n + 1,): the slot that holds a word
    next_word: npt.NDArray[np.int32]  # (n + 1,): the words of a slot v are v, next_word[v], ...
    last_word: npt.NDArray[np.int32]  # (n + 1,): the last of them
    rule: npt.NDArray[np.int32]  # (k,): the last rule of a set
    before: npt.NDArray[np.int32]  # (2 k,): the rule before a rule, -1 if none
    rule_source: npt.NDArray[np.int32]  # (2 k,)
    rule_target: npt.NDArray[np.int32]  # (2 k,)
    is_forced: npt.NDArray[np.bool_]  # (2 k,)
    next_value: npt.NDArray[np.float64]  # (k,): of the second best tree of a set
    next_target: npt.NDArray[np.int32]  # (k,): the word whose arc the best tree loses
    next_heads: npt.NDArray[np.int32]  # (k, n): the second best tree


@jitable
def spanning_lists_room(n_words: int, k: int) -> SpanningLists:
    """Return workspace for the k best trees of up to ``n_words`` words."""
    size = n_words + 1
    return SpanningLists(
        contraction_room(n_words),
        arc_lists_room(n_words, k),
        np.empty(size * size),
        np.empty(size),
        np.empty(size),
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.empty(k, dtype=np.int32),
        np.empty(2 * k, dtype=np.int32),
        np.empty(2 * k, dtype=np.int32),
        np.empty(2 * k, dtype=np.int32),
        np.empty(2 * k, dtype=np.bool_),
        np.empty(k),
        np.empty(k, dtype=np.int32),
        np.empty((k, n_words), dtype=np.int32),
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
    room = lists.room
    lowered = room.lowered
    largest = lower_root(scores, many, lowered)
    # Prices and shifts are sums of up to n scores.
    rounding = 1e-15 * (n + 1) * largest
    if not contract(lowered, n, room):
        return 0
    expand(n, room, heads[0])
    totals[0] = _total(scores, many, heads[0])
    if totals[0] == -np.inf or k == 1:
        return 1 if totals[0] > -np.inf else 0
    keep_arcs(lowered, n, heads[0], k, room, lists.arcs)
    rule, next_value, next_target = lists.rule, lists.next_value, lists.next_target
    next_heads = lists.next_heads
    rule[0] = -1
    _find_next(lists, 0, heads[0], n, rounding)
    count, n_rules = 1, 0
    while count < k:
        # The set whose second best tree is the best of all that were not written yet.
        worse, value = -1, -np.inf
        for tree in range(count):
            if next_value[tree] > value:
                worse, value = tree, next_value[tree]
        if worse < 0:
            break
        for m in range(n):
            heads[count, m] = next_heads[worse, m]
        total = _total(scores, many, heads[count])
        if total == -np.inf:
            break
        totals[count] = total
        count += 1
        if count == k:
            break
        target, before = next_target[worse], rule[worse]
        for is_forced in range(2):
            tree = worse if is_forced else count - 1
            lists.before[n_rules] = before
            lists.rule_source[n_rules] = heads[worse, target - 1]
            lists.rule_target[n_rules] = target
            lists.is_forced[n_rules] = is_forced == 1
            rule[tree] = n_rules
            n_rules += 1
            _find_next(lists, tree, heads[tree], n, rounding)
    # Scores were compared with the arcs of the root lowered, which rounds them otherwise.
    for last in range(1, count):
        at = last
        while at > 0 and totals[at - 1] < totals[at]:
            totals[at - 1], totals[at] = totals[at], totals[at - 1]
            for m in range(n):
                heads[at - 1, m], heads[at, m] = heads[at, m], heads[at - 1, m]
            at -= 1
    return count


@kernel
def best_k_spanning_once(scores, many, k, heads, totals):
    """Find the k best trees as `best_k_spanning` does, in workspace that is made for it."""
    lists = spanning_lists_room(scores.shape[0] - 1, k)
    return best_k_spanning(scores, many, k, lists, heads, totals)


@inlined
def _total(scores, many, heads):
    """Return the score of a tree, -inf if it has more roots than it may have."""
    total, n_roots = 0.0, 0
    for m in range(1, scores.shape[0]):
        total += scores[heads[m - 1], m]
        n_roots += heads[m - 1] == 0
    return total if many or n_roots <= 1 else -np.inf


@inlined
def _restrict(lists, tree, n):
    """Fill lists.value with the scores of arcs, and -inf where the rules of a set forbid one."""
    value, first, source, score = lists.value, lists.arcs.first, lists.arcs.source, lists.arcs.score
    for at in range(first[n + 1]):
        value[at] = score[at]
    rule = lists.rule[tree]
    while rule >= 0:
        x, y = lists.rule_source[rule], lists.rule_target[rule]
        for at in range(first[y], first[y + 1]):
            if (source[at] == x) != lists.is_forced[rule]:
                value[at] = -np.inf
        rule = lists.before[rule]


@kernel
def _find_next(lists, tree, heads, n, rounding):
    """Find the second best tree of the set of which ``tree`` is the best; ``heads`` are its heads.

    Every node takes its best arc. Where that is an arc of the tree, what replaces it is the best
    other arc into the node that does not come from below the word. The cheapest swap of all gives
    the second best tree: the cycles within the node are opened from where the new arc enters. The
    value is -inf if no other tree is allowed.

    Of equal arcs that of the tree is taken, or trees would be lost; arcs that differ by less than
    ``rounding`` are equal.
    """
    # Arrays are named once: to look one up in a tuple counts references.
    room = lists.room
    state, path, node, above = room.state, room.path, room.node, room.above
    arc_source, arc_target = room.arc_source, room.arc_target
    first, source, value, shift = lists.arcs.first, lists.arcs.source, lists.value, lists.shift
    price, slot, next_word, last_word = lists.price, lists.slot, lists.next_word, lists.last_word
    _restrict(lists, tree, n)
    total = 0.0
    for v in range(n + 1):
        state[v] = 0
        node[v] = slot[v] = last_word[v] = v
        above[v] = next_word[v] = -1
        shift[v] = 0.0
        if v > 0:
            total += room.lowered[heads[v - 1], v]
    state[0] = 2
    n_nodes = n + 1
    least, place, place_source, place_target = np.inf, -1, -1, -1
    lists.next_value[tree] = -np.inf
    for start in range(1, n + 1):
        if state[start] != 0:
            continue
        length = 1
        path[0] = start
        state[start] = 1
        while True:
            v = path[length - 1]
            best, s, t = -np.inf, -1, -1
            own, own_target = -np.inf, -1
            y = v
            while y >= 0:
                head = heads[y - 1]
                for at in range(first[y], first[y + 1]):
                    x = source[at]
                    weight = value[at] - shift[y]
                    if slot[x] == v:
                        continue
                    if weight > best:
                        best, s, t = weight, x, y
                    if x == head and weight > own:
                        own, own_target = weight, y
                y = next_word[y]
            if best == -np.inf:
                return
            if own >= best - rounding:
                best, s, t = own, heads[own_target - 1], own_target
                # Only an arc that makes this the cheapest swap is looked at any further.
                bound = best - least
                y = v
                while y >= 0:
                    for at in range(first[y], first[y + 1]):
                        x = source[at]
                        weight = value[at] - shift[y]
                        if not weight > bound or slot[x] == v or (x == s and y == t):
                            continue
                        if not is_below(heads, x, t):
                            bound, least = weight, best - weight
                            place, place_source, place_target = node[v], x, y
                            lists.next_target[tree] = t
                    y = next_word[y]
            arc_source[node[v]], arc_target[node[v]] = s, t
            price[v] = best
            b = slot[s]
            if state[b] == 2:
                for k in range(length):
                    state[path[k]] = 2
                break
            if state[b] == 0:
                path[length] = b
                state[b] = 1
                length += 1
                continue
            # The path closed a cycle: slot b takes its words, whose arcs are lowered by what is
            # lost with them.
            begin = length - 1
            while path[begin] != b:
                begin -= 1
            for k in range(begin, length):
                c = path[k]
                taken = price[c]
                above[node[c]] = n_nodes
                y = c
                while y >= 0:
                    shift[y] += taken
                    slot[y] = b
                    y = next_word[y]
            for k in range(begin + 1, length):
                c = path[k]
                next_word[last_word[b]] = c
                last_word[b] = last_word[c]
                state[c] = 3
            node[b] = n_nodes
            above[n_nodes] = -1
            n_nodes += 1
            length = begin + 1
    if least == np.inf:
        return
    above[2 * n + 1] = n_nodes
    arc_source[place], arc_target[place] = place_source, place_target
    expand(n, room, lists.next_heads[tree])
    lists.next_value[tree] = total - least

"""The best tree of any shape: a maximum spanning arborescence in O(n^2) (Tarjan, dense).

Every word in turn takes its best incoming arc; where these arcs close a cycle, the cycle becomes
one node, and the rows of its members are merged. Rows are targets. With every entry stands the
real arc that it came from, so that at the end the cycles are opened again from the last to the
first.

Exactly one arc from the root: all arcs of the root are first lowered by so much that no tree with
two of them can be the best if there is one with a single such arc.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import jitable, kernel
from maxmargin.inference._inline import inlined


class Contraction(NamedTuple):
    """Workspace of one sentence of n words; a larger one will do.

    A slot is a row and a column of ``weight``; it holds a word or a cycle that became one node.
    Nodes are numbered: words first, then cycles as they are made.
    """

    lowered: npt.NDArray[np.float64]  # (n + 1, n + 1): the scores that are maximised
    weight: npt.NDArray[np.float64]  # (n + 1, n + 1): [target slot, source slot]
    source: npt.NDArray[np.int32]  # the same: the real arc of an entry
    target: npt.NDArray[np.int32]
    node: npt.NDArray[np.int32]  # (n + 1,): the node in a slot
    state: npt.NDArray[np.int8]  # (n + 1,): new 0, on the path 1, done 2, dead 3
    path: npt.NDArray[np.int32]  # (n + 1,)
    live: npt.NDArray[np.int32]  # (n + 1,): the live slots, in no order
    above: npt.NDArray[np.int32]  # (2 n + 2,): the cycle that a node belongs to, -1 if none
    arc_source: npt.NDArray[np.int32]  # (2 n + 2,): the arc that a node took
    arc_target: npt.NDArray[np.int32]
    is_entered: npt.NDArray[np.bool_]  # (2 n + 2,)


@jitable
def contraction_room(n_words: int) -> Contraction:
    """Return workspace for sentences of up to ``n_words`` words."""
    size = n_words + 1
    return Contraction(
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((size, size), dtype=np.int32),
        np.empty((size, size), dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.int8),
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.empty(2 * size, dtype=np.int32),
        np.empty(2 * size, dtype=np.int32),
        np.empty(2 * size, dtype=np.int32),
        np.empty(2 * size, dtype=np.bool_),
    )


@kernel
def best_spanning(scores, many, room, heads):
    """Find a best tree; return its score.

    Parameters
    ----------
    scores : float64 array of shape (n + 1, n + 1), n >= 1, as for `best_projective`
    many : int
        1 if several words may hang on the root, 0 if exactly one must.
    room : Contraction, overwritten
    heads : int32 array of length >= n; heads[m - 1] receives the head of word m

    If every tree scores -inf, so does the answer, and nothing of use is written.
    """
    n = scores.shape[0] - 1
    best = room.lowered[0]
    if not greedy_is_tree(scores, many, best, room.path, room.is_entered, heads):
        lowered = scores
        if not many:
            lower_root(scores, many, room.lowered)
            lowered = room.lowered
        if not contract(lowered, n, room):
            return -np.inf
        expand(n, room, heads)
    return tree_score(scores, many, heads)


@kernel
def best_spanning_once(scores, many, heads):
    """Find a best tree as `best_spanning` does, in workspace that is made for it.

    This is for calls from Python: to pass a dozen arrays takes longer than to find a tree of ten
    words.
    """
    return best_spanning(scores, many, contraction_room(scores.shape[0] - 1), heads)


@inlined
def tree_score(scores, many, heads):
    """Return the score of a tree, -inf if it has more roots than it may have."""
    n_roots = 0
    total = 0.0
    for m in range(1, scores.shape[0]):
        total += scores[heads[m - 1], m]
        n_roots += heads[m - 1] == 0
    return total if many or n_roots == 1 else -np.inf


@inlined
def greedy_is_tree(scores, many, best, path, is_safe, heads):
    """Give every word its best head; tell whether that is a tree that may be."""
    n = scores.shape[0] - 1
    n_roots = 0
    for m in range(1, n + 1):
        best[m], heads[m - 1] = scores[0, m], 0
    for h in range(1, n + 1):  # row by row, as scores lie in memory
        for m in range(1, n + 1):
            if scores[h, m] > best[m] and h != m:
                best[m], heads[m - 1] = scores[h, m], h
    for m in range(1, n + 1):
        if best[m] == -np.inf:
            return False
        n_roots += heads[m - 1] == 0
    if n_roots == 0 or (n_roots > 1 and not many):
        return False
    is_safe[0] = True
    for m in range(1, n + 1):
        is_safe[m] = False
    for m in range(1, n + 1):
        count, v = 0, m
        while not is_safe[v] and count < n:
            path[count] = v
            count += 1
            v = heads[v - 1]
        if not is_safe[v]:
            return False
        for k in range(count):
            is_safe[path[k]] = True
    return True


@kernel
def spread(scores):
    """Return how much finite scores of arcs differ, 0 if there is none."""
    least, most = np.inf, -np.inf
    for h in range(scores.shape[0]):
        for m in range(1, scores.shape[0]):
            if scores[h, m] > -np.inf:
                least = min(least, scores[h, m])
                most = max(most, scores[h, m])
    return most - least if most >= least else 0.0


@inlined
def lower_root(scores, many, lowered):
    """Copy scores; lower those of the root so far that one root arc is better than two.

    Return the largest absolute value of those that were written, -inf left aside.
    """
    n = scores.shape[0] - 1
    least, most = np.inf, -np.inf
    for h in range(n + 1):
        for m in range(1, n + 1):
            lowered[h, m] = scores[h, m]
            if h != m and scores[h, m] > -np.inf:
                least = min(least, scores[h, m])
                most = max(most, scores[h, m])
    if not most >= least:
        return 0.0
    largest = max(abs(least), abs(most))
    if many:
        return largest
    # n arcs gain up to n times the spread. The rest goes with the scores, or it would round them.
    price = (most - least) * n + (largest if largest > 0.0 else 1.0)
    for m in range(1, n + 1):
        lowered[0, m] -= price
    return largest + price


@kernel
def contract(scores, n, room):
    """Let every node take its best arc, cycles becoming nodes; tell whether that worked."""
    # Arrays are named once: to look one up in a tuple counts references.
    weight, source, target, node = room.weight, room.source, room.target, room.node
    state, path, live = room.state, room.path, room.live
    above, arc_source, arc_target = room.above, room.arc_source, room.arc_target
    begin_contraction(scores, n, weight, source, target, state, live)
    for v in range(n + 1):
        node[v] = v
        above[v] = -1
    n_nodes = n_live = n + 1
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
                if weight[v, u] > best:
                    best, b = weight[v, u], u
            if b < 0:
                return False
            arc_source[node[v]] = source[v, b]
            arc_target[node[v]] = target[v, b]
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
                above[node[c]] = n_nodes
                taken = weight[c, path[k + 1] if k + 1 < length else b]
                for at in range(n_live):
                    weight[c, live[at]] -= taken
            n_live = drop_members(state, path, live, first, length, b, n_live)
            # The rows and columns of the members other than b are merged into those of b.
            for k in range(first, length):
                c = path[k]
                if c == b:
                    continue
                for at in range(n_live):
                    u = live[at]
                    if weight[c, u] > weight[b, u]:
                        weight[b, u] = weight[c, u]
                        source[b, u], target[b, u] = source[c, u], target[c, u]
                    if weight[u, c] > weight[u, b]:
                        weight[u, b] = weight[u, c]
                        source[u, b], target[u, b] = source[u, c], target[u, c]
            weight[b, b] = -np.inf
            node[b] = n_nodes
            above[n_nodes] = -1
            n_nodes += 1
            length = first + 1
    above[2 * n + 1] = n_nodes
    return True


@inlined
def begin_contraction(scores, n, weight, source, target, state, live):
    """Every word, and the root, is a node in a slot of its own."""
    for v in range(n + 1):
        state[v] = 0
        live[v] = v
        for u in range(n + 1):
            weight[v, u] = scores[u, v] if u != v and v > 0 else -np.inf
            source[v, u] = u
            target[v, u] = v
    state[0] = 2


@inlined
def drop_members(state, path, live, first, length, b, n_live):
    """Take the members of a cycle other than b out of the live slots; return their number."""
    for k in range(first, length):
        if path[k] != b:
            state[path[k]] = 3
    kept = 0
    for at in range(n_live):
        if state[live[at]] != 3:
            live[kept] = live[at]
            kept += 1
    return kept


@kernel
def expand(n, room, heads):
    """Open the cycles, the newest first: each is entered by the arc that its node took."""
    above, is_entered = room.above, room.is_entered
    arc_source, arc_target = room.arc_source, room.arc_target
    n_nodes = above[2 * n + 1]
    for node in range(n_nodes):
        is_entered[node] = False
    for node in range(n_nodes - 1, 0, -1):
        if is_entered[node]:
            continue
        inner = arc_target[node]
        heads[inner - 1] = arc_source[node]
        while inner != node:
            is_entered[inner] = True
            inner = above[inner]
        is_entered[node] = True

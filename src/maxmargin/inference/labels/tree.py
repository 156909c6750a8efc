"""Label sets whose edges form a forest: best, k best, marginals, best per number of wrong labels.

All kernels maximise ``sum_j unary[j] y_j + sum_e pair[e] y_a y_b`` over y in {0, 1}^m by passing
messages from the leaves to the roots. A unary of -inf keeps its label off; pair weights are finite.

`tree_order` is computed once per graph. Every label except the roots has a parent; a parent stands
before its children in the order. The kernels first go through the order backwards: all children of
a label have been merged into it when it is reached, and it is then merged into its parent. Then
they go forwards, so that a parent is decided before its children. Ties leave labels off; roots are
decided first, and of the children of a label those that stand earlier in the order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.labels.graph import LabelGraph

__all__ = [
    "TreeOrder",
    "best_k_tree",
    "best_tree",
    "find_cycle",
    "tree_marginals",
    "tree_order",
    "tree_profile",
    "write_tree_level",
]


class TreeOrder(NamedTuple):
    """The order in which kernels visit the labels of a forest, and the parent of each label.

    Attributes
    ----------
    order : int32 array of shape (m,)
        All labels, parents before their children.
    parent : int32 array of shape (m,)
        The parent of label j; -1 for roots.
    edge : int32 array of shape (m,)
        The edge that joins j to its parent; -1 for roots.
    """

    order: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int32]
    edge: npt.NDArray[np.int32]


def find_cycle(graph: LabelGraph) -> int:
    """Return the first edge that closes a cycle with edges before it; -1 for a forest.

    Examples
    --------
    >>> from maxmargin.inference.labels.graph import label_graph
    >>> from maxmargin.inference.labels.tree import find_cycle
    >>> find_cycle(label_graph(4, [(0, 1), (1, 2), (2, 0), (2, 3)]))
    2
    >>> find_cycle(label_graph(4, [(0, 1), (2, 3)]))
    -1
    """
    group = list(range(len(graph.start) - 1))

    def find(label: int) -> int:
        while group[label] != label:
            group[label] = group[group[label]]
            label = group[label]
        return label

    for e, (a, b) in enumerate(graph.edges.tolist()):
        first, second = find(a), find(b)
        if first == second:
            return e
        group[first] = second
    return -1


def tree_order(graph: LabelGraph) -> TreeOrder:
    """Return an order for the forest `graph`; refuse a graph with a cycle, naming an edge of it.

    The highest label of each tree is its root. So on a path 0 - 1 - 2 ... ties are broken as by the
    kernels of chains.

    Examples
    --------
    >>> from maxmargin.inference.labels.graph import label_graph
    >>> from maxmargin.inference.labels.tree import tree_order
    >>> tree_order(label_graph(4, [(1, 2), (0, 3)]))
    TreeOrder(order=array([3, 0, 2, 1], dtype=int32), parent=array([ 3,  2, -1, -1], dtype=int32),
    edge=array([ 1,  0, -1, -1], dtype=int32))
    """
    e = find_cycle(graph)
    if e >= 0:
        a, b = graph.edges[e].tolist()
        raise ValueError(
            f"edges[{e}] is ({a}, {b}), which closes a cycle; expected edges that form a forest."
        )
    m = len(graph.start) - 1
    parent = np.full(m, -1, dtype=np.int32)
    edge = np.full(m, -1, dtype=np.int32)
    order: list[int] = []
    seen = np.zeros(m, dtype=bool)
    for root in range(m - 1, -1, -1):
        if seen[root]:
            continue
        seen[root] = True
        place = len(order)
        order.append(root)
        while place < len(order):
            label = order[place]
            place += 1
            for at in range(graph.start[label], graph.start[label + 1]):
                child = int(graph.neighbour[at])
                if not seen[child]:
                    seen[child] = True
                    parent[child] = label
                    edge[child] = graph.edge_of[at]
                    order.append(child)
    return TreeOrder(np.array(order, dtype=np.int32), parent, edge)


@kernel
def best_tree(unary, pair, tree, up, y):
    """Write a best label set into y; return its score.

    Parameters
    ----------
    unary : float64 array of shape (m,)
    pair : float64 array of shape (>= E,)
    tree : TreeOrder
    up : float64 workspace of shape (>= m, 2): up[j, s] is the best score of the subtree of label j
        with j in state s, off 0 or on 1
    y : int32 array of length >= m
    """
    m = unary.shape[0]
    for j in range(m):
        up[j, 0] = 0.0
        up[j, 1] = unary[j]
    score = 0.0
    for i in range(m - 1, -1, -1):
        j = tree.order[i]
        off = up[j, 0]
        on = up[j, 1]
        above = tree.parent[j]
        if above < 0:
            score += max(off, on)
        else:
            up[above, 0] += max(off, on)
            up[above, 1] += max(off, on + pair[tree.edge[j]])
    for i in range(m):
        j = tree.order[i]
        above = tree.parent[j]
        on = up[j, 1]
        if above >= 0 and y[above] == 1:
            on += pair[tree.edge[j]]
        y[j] = 1 if on > up[j, 0] else 0
    return score


@kernel
def tree_marginals(unary, edges, pair, tree, temperature, top, log_sum, given, node, edge):
    """Fill node and edge marginals of p(y) ~ exp(score(y) / temperature); return log Z.

    Parameters
    ----------
    unary : float64 array of shape (m,)
    edges : int32 array of shape (E, 2)
    pair : float64 array of shape (>= E,)
    tree : TreeOrder
    temperature : float, positive and finite
    top, log_sum : float64 workspaces of shape (>= m, 2)
    given : float64 workspace of shape (>= m, 2, 2)
    node : float64 array of shape (>= m, 2); node[j, k] receives p(y_j = k)
    edge : float64 array of shape (>= E, 2, 2); edge[e, k, l] receives p(y_a = k, y_b = l)

    As on chains, a sum over label sets is stored as exp(top / temperature + log_sum). Marginals are
    products of conditionals, given[j, l, k] = p(y_j = k | parent is l), so node and edge marginals
    agree with one another whatever the rounding.
    """
    m = unary.shape[0]
    for j in range(m):
        top[j, 0] = 0.0
        top[j, 1] = unary[j]
        log_sum[j, 0] = 0.0
        log_sum[j, 1] = 0.0
    best = 0.0
    rest = 0.0
    for i in range(m - 1, -1, -1):
        j = tree.order[i]
        above = tree.parent[j]
        for state in range(2):
            on = top[j, 1]
            if state == 1 and above >= 0:
                on += pair[tree.edge[j]]
            higher = max(top[j, 0], on)
            log_off = (top[j, 0] - higher) / temperature + log_sum[j, 0]
            log_on = (on - higher) / temperature + log_sum[j, 1]
            highest = max(log_off, log_on)
            exp_off = math.exp(log_off - highest)
            exp_on = math.exp(log_on - highest)
            given[j, state, 0] = exp_off / (exp_off + exp_on)
            given[j, state, 1] = exp_on / (exp_off + exp_on)
            log_total = highest + math.log(exp_off + exp_on)
            if above >= 0:
                top[above, state] += higher
                log_sum[above, state] += log_total
            elif state == 0:
                best += higher
                rest += log_total
    for i in range(m):
        j = tree.order[i]
        above = tree.parent[j]
        if above < 0:
            node[j, 0] = given[j, 0, 0]
            node[j, 1] = given[j, 0, 1]
            continue
        e = tree.edge[j]
        for k in range(2):
            node[j, k] = node[above, 0] * given[j, 0, k] + node[above, 1] * given[j, 1, k]
            for state in range(2):
                p = node[above, state] * given[j, state, k]
                if edges[e, 0] == j:
                    edge[e, k, state] = p
                else:
                    edge[e, state, k] = p
    return best / temperature + rest


@kernel
def tree_profile(unary, pair, tree, truth, size, table, before, message, scores):
    """Fill scores[d] with the best score at d wrong labels, 0 to m; -inf where there is none.

    Parameters
    ----------
    unary : float64 array of shape (m,)
    pair : float64 array of shape (>= E,)
    tree : TreeOrder
    truth : int32 array of length >= m: 0, 1, or -1 where unknown; such a label is off and is never
        wrong
    size : int32 workspace of shape (2, >= m + 1)
    table : float64 workspace of shape (>= m + 1, 2, >= m + 1)
    before : float64 workspace of shape (>= m, 2, >= m + 1)
    message : float64 workspace of length >= m + 1
    scores : float64 array of length >= m + 1

    Afterwards the workspaces hold what `write_tree_level` needs. table[j, s, d] is the best score
    of the subtree of label j with j in state s and d labels wrong; size[0, j] is how many labels of
    the subtree can be wrong; row m joins all trees. before[c] and size[1, c] are the table and the
    size of the parent of c before c was merged into it. To merge two parts takes as many steps as
    the product of their sizes, O(m^2) in all.
    """
    m = unary.shape[0]
    for j in range(m):
        size[0, j] = 0 if truth[j] < 0 else 1
        table[j, 0, 0] = 0.0 if truth[j] <= 0 else -np.inf
        table[j, 1, 0] = unary[j] if truth[j] == 1 else -np.inf
        if truth[j] >= 0:
            table[j, 0, 1] = 0.0 if truth[j] == 1 else -np.inf
            table[j, 1, 1] = unary[j] if truth[j] == 0 else -np.inf
    size[0, m] = 0
    table[m, 0, 0] = 0.0
    for i in range(m - 1, -1, -1):
        j = tree.order[i]
        above = tree.parent[j]
        n = size[0, j]
        # The roots are merged into row m, which has one state.
        into = above if above >= 0 else m
        n_before = size[0, into]
        size[1, j] = n_before
        size[0, into] = n_before + n
        for state in range(2 if above >= 0 else 1):
            weight = pair[tree.edge[j]] if state == 1 else 0.0
            for d in range(n + 1):
                message[d] = max(table[j, 0, d], table[j, 1, d] + weight)
            for c in range(n_before + 1):
                before[j, state, c] = table[into, state, c]
            for c in range(n_before + n + 1):
                table[into, state, c] = -np.inf
            for c in range(n_before + 1):
                base = before[j, state, c]
                for d in range(n + 1):
                    value = base + message[d]
                    if value > table[into, state, c + d]:
                        table[into, state, c + d] = value
    for d in range(m + 1):
        scores[d] = table[m, 0, d] if d <= size[0, m] else -np.inf


@kernel
def write_tree_level(pair, tree, m, level, size, table, before, left, y):
    """Write a best label set with `level` wrong labels into y, after `tree_profile`.

    Parameters
    ----------
    pair, tree : as given to `tree_profile`
    size, table, before : as `tree_profile` filled them
    m : int, the number of labels
    level : int; if there is no such label set, all of y is -1
    left : int32 workspace of length >= m + 1: how many labels of a subtree are still to be wrong
    y : int32 array of length >= m
    """
    if level > size[0, m] or table[m, 0, level] == -np.inf:
        for j in range(m):
            y[j] = -1
        return
    left[m] = level
    for i in range(m):
        j = tree.order[i]
        above = tree.parent[j]
        into = above if above >= 0 else m
        state = y[above] if above >= 0 else 0
        weight = pair[tree.edge[j]] if state == 1 else 0.0
        total = left[into]
        top = -np.inf
        taken = 0
        label = 0
        for d in range(max(0, total - size[1, j]), min(size[0, j], total) + 1):
            base = before[j, state, total - d]
            for own in range(2):
                value = base + (table[j, own, d] + (weight if own == 1 else 0.0))
                if value > top:
                    top = value
                    taken = d
                    label = own
        y[j] = label
        left[j] = taken
        left[into] = total - taken


@kernel
def best_k_tree(unary, pair, tree, k, best, part, message, head, chosen, at, ys, scores):
    """Find the k best label sets, best first; return how many there are.

    Parameters
    ----------
    unary : float64 array of shape (m,)
    pair : float64 array of shape (>= E,)
    tree : TreeOrder
    k : int, at least 1
    best : float64 workspace of shape (>= m + 1, 2, >= k): the k best scores of the subtree of a
        label, per state of the label; row m joins all trees
    part : float64 workspace of length >= k
    message : float64 workspace of length >= k
    head : int32 workspace of shape (3, >= k)
    chosen : int32 workspace of shape (>= m, 2, 3, >= k): chosen[j, s, :, r] belongs to entry r of
        the list of j's parent in state s after j was merged into it. It holds the rank in the
        parent's list before the merge, the state of j, and the rank in the list of j
    at : int32 workspace of length >= m + 1
    ys : int32 array of shape (>= k, >= m); rows [0:count] receive the label sets
    scores : float64 array of length >= k; [0:count] receives their scores, from the highest down

    Label sets that score -inf are never returned, so there may be fewer than k. Takes O(m k^2).
    """
    m = unary.shape[0]
    for j in range(m + 1):
        for rank in range(k):
            best[j, 0, rank] = -np.inf
            best[j, 1, rank] = -np.inf
        best[j, 0, 0] = 0.0
        if j < m:
            best[j, 1, 0] = unary[j]
    for i in range(m - 1, -1, -1):
        j = tree.order[i]
        above = tree.parent[j]
        into = above if above >= 0 else m
        for state in range(2 if above >= 0 else 1):
            weight = pair[tree.edge[j]] if state == 1 else 0.0
            _merge_states(best[j], weight, k, message, head[1], head[2])
            _merge_parts(best[into, state], message, k, part, head, chosen[j, state])
    count = 0
    while count < k and best[m, 0, count] > -np.inf:
        scores[count] = best[m, 0, count]
        at[m] = count
        for i in range(m):
            j = tree.order[i]
            above = tree.parent[j]
            into = above if above >= 0 else m
            state = ys[count, above] if above >= 0 else 0
            rank = at[into]
            at[into] = chosen[j, state, 0, rank]
            ys[count, j] = chosen[j, state, 1, rank]
            at[j] = chosen[j, state, 2, rank]
        count += 1
    return count


@kernel
def _merge_states(best, weight, k, message, own_state, own_rank):
    """Merge best[0] and best[1] + weight, the lists of the two states of a label, into message.

    own_state and own_rank receive the state and the rank that each entry came from.
    """
    off = 0
    on = 0
    for rank in range(k):
        # Both lists have an entry left, as off + on = rank < k.
        if best[0, off] >= best[1, on] + weight:
            message[rank] = best[0, off]
            own_state[rank] = 0
            own_rank[rank] = off
            off += 1
        else:
            message[rank] = best[1, on] + weight
            own_state[rank] = 1
            own_rank[rank] = on
            on += 1


@kernel
def _merge_parts(best, message, k, part, head, chosen):
    """Replace the sorted list `best` by the k highest sums of one entry of it and one of `message`.

    head[0, c] is the next entry of the message to combine with entry c of the old list; head[1] and
    head[2] are the state and the rank that each entry of the message came from.
    """
    for rank in range(k):
        part[rank] = best[rank]
        head[0, rank] = 0
    n_open = 1  # entry c of the old list can be used only after entry c - 1 has been used
    for rank in range(k):
        top = -np.inf
        first = -1
        for c in range(n_open):
            if head[0, c] < k:
                value = part[c] + message[head[0, c]]
                if value > top:
                    top = value
                    first = c
        best[rank] = top
        if first < 0:
            continue
        there = head[0, first]
        chosen[0, rank] = first
        chosen[1, rank] = head[1, there]
        chosen[2, rank] = head[2, there]
        head[0, first] += 1
        if first == n_open - 1 and n_open < k:
            n_open += 1

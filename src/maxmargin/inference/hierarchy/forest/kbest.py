"""The k best sets of nodes of a forest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel


class BestSets(NamedTuple):
    """Workspace of `best_k_sets`: lists of the best, of k + 1 each, of M nodes and the virtual one.

    ``sums`` has the best scores of what is below a node, over the children merged so far, and
    ``empty`` the place of "no child" among them, -1 if it is not there. When child n is merged,
    entry r of the new list is made of entry before[n, r] of the old one and, if own[n, r] >= 0, of
    the set of that rank below n.
    """

    sums: npt.NDArray[np.float64]  # (M + 1, k + 1)
    n_sums: npt.NDArray[np.int32]  # (M + 1,)
    empty: npt.NDArray[np.int32]  # (M + 1,)
    before: npt.NDArray[np.int32]  # (M, k + 1)
    own: npt.NDArray[np.int32]  # (M, k + 1)
    merged: npt.NDArray[np.float64]  # (k + 1,)
    rank: npt.NDArray[np.int32]  # (M + 1,)
    scores: npt.NDArray[np.float64]  # (k,): of the sets found


def best_sets_room(n_nodes: int, k: int) -> BestSets:
    """Return workspace for the k best sets of a forest of n_nodes nodes."""
    return BestSets(
        np.zeros((n_nodes + 1, k + 1)),
        np.zeros(n_nodes + 1, dtype=np.int32),
        np.zeros(n_nodes + 1, dtype=np.int32),
        np.zeros((n_nodes, k + 1), dtype=np.int32),
        np.zeros((n_nodes, k + 1), dtype=np.int32),
        np.zeros(k + 1),
        np.zeros(n_nodes + 1, dtype=np.int32),
        np.zeros(k),
    )


@kernel
def _insert(value, before, own, count, most, merged, befores, owns):
    """Insert an entry into a sorted list of at most ``most``; return the length of the list."""
    if count == most and not value > merged[most - 1]:
        return count
    place = min(count, most - 1)
    while place > 0 and value > merged[place - 1]:
        merged[place] = merged[place - 1]
        befores[place] = befores[place - 1]
        owns[place] = owns[place - 1]
        place -= 1
    merged[place] = value
    befores[place] = before
    owns[place] = own
    return min(count + 1, most)


@kernel
def best_k_sets(scores, parent, n_children, to_leaves, must, k, room):
    """Find the k best sets, best first; return how many there are, at most k.

    `write_ranked_set` writes them, and room.scores has their scores. Arguments are those of
    `best_set`, and

    n_children : int32 array of shape (M,)
    room : BestSets, for this k or a larger one
    """
    # Lists are longer by one than k, since "no child" is among them, which is no set to leaves. If
    # there are k + 1 better ones than it, it is not needed: each of these, with what is added to
    # it, is better than "no child" with the same added.
    M, most = parent.shape[0], k + 1
    has_must = must.shape[0] > 0
    for n in range(M + 1):
        room.sums[n, 0] = 0.0
        room.n_sums[n] = 1
        room.empty[n] = 0
    for n in range(M - 1, -1, -1):
        above = parent[n] if parent[n] >= 0 else M
        skipped = room.empty[n] if to_leaves == 1 and n_children[n] > 0 else -1
        count = 0
        is_free = not (has_must and must[n] == 1)
        befores, owns = room.before[n], room.own[n]
        for a in range(room.n_sums[above]):
            base = room.sums[above, a]
            if is_free:
                count = _insert(base, a, -1, count, most, room.merged, befores, owns)
            rank = 0
            for b in range(room.n_sums[n]):
                if b == skipped:
                    continue
                value = base + (scores[n] + room.sums[n, b])
                # Lists fall, so nothing that comes later in this one is better.
                if value == -np.inf or (count == most and not value > room.merged[most - 1]):
                    break
                count = _insert(value, a, rank, count, most, room.merged, befores, owns)
                rank += 1
        empty = -1
        for r in range(count):
            room.sums[above, r] = room.merged[r]
            if befores[r] == room.empty[above] and owns[r] < 0 and room.empty[above] >= 0:
                empty = r
        room.n_sums[above] = count
        room.empty[above] = empty
    found = 0
    for r in range(room.n_sums[M]):
        if not (to_leaves == 1 and r == room.empty[M]) and found < k:
            room.scores[found] = room.sums[M, r]
            found += 1
    return found


@kernel
def write_ranked_set(rank, parent, n_children, to_leaves, room, y):
    """Write the set of a rank, of the last `best_k_sets`, into y (int8, 0 or 1)."""
    M = parent.shape[0]
    for n in range(M):
        y[n] = 0
    # rank[n] becomes the entry in the list of a node; "no child" is left out of ranks.
    is_before = to_leaves == 1 and 0 <= room.empty[M] <= rank
    room.rank[M] = rank + 1 if is_before else rank
    for n in range(M):
        above = parent[n] if parent[n] >= 0 else M
        if above < M and y[above] == 0:
            continue
        r = room.rank[above]
        room.rank[above] = room.before[n, r]
        own = room.own[n, r]
        if own >= 0:
            y[n] = 1
            is_before = to_leaves == 1 and n_children[n] > 0 and 0 <= room.empty[n] <= own
            room.rank[n] = own + 1 if is_before else own

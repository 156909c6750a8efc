"""The best set of nodes of a forest at every level of a cost, which is a sum over nodes.

A node that is in the set costs ``taken[n]`` steps, and one that is not costs ``left[n]``; both are
whole numbers, and for a node of the true set the former is 0, for another node the latter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel


class SetLevels(NamedTuple):
    """Workspace of `set_profile`. Of a node, ``size`` is the most steps that it and all below cost.

    The table of a node, from at[n] on, has the best score of what is below it with at least one
    child, at each number of steps, over the children merged so far. When child n is merged, the
    choices from choice_at[n] on say how each new entry is made: by the steps below and at n, plus
    1; negative if n is the first child that is taken; 0 if n is left out.
    """

    size: npt.NDArray[np.int64]  # (M + 1,)
    at: npt.NDArray[np.int64]  # (M + 2,)
    table: npt.NDArray[np.float64]
    fresh: npt.NDArray[np.float64]  # (most steps + 1,)
    filled: npt.NDArray[np.int64]  # (M + 1,): the steps that the table of a node has so far
    missed: npt.NDArray[np.int64]  # (M + 1,): the steps of leaving out a node and all below it
    choice_at: npt.NDArray[np.int64]  # (M + 1,)
    choice: npt.NDArray[np.int32]
    is_bare: npt.NDArray[np.int8]  # (M + 1,): whether, at the steps ``missed``, no child is best
    level: npt.NDArray[np.int64]  # (M + 1,)


def set_levels_room(parent: np.ndarray, most_steps: np.ndarray) -> SetLevels:
    """Return workspace for costs with at most so many steps for each node."""
    n_nodes = len(parent)
    size = np.append(np.asarray(most_steps, dtype=np.int64), 0)
    n_choices = np.zeros(n_nodes, dtype=np.int64)
    filled = np.zeros(n_nodes + 1, dtype=np.int64)
    for n in range(n_nodes - 1, -1, -1):
        size[n] += filled[n]
        above = parent[n]  # -1 is the last entry
        filled[above] += size[n]
        n_choices[n] = filled[above] + 1
    size[n_nodes] = filled[n_nodes]
    at = np.concatenate([[0], np.cumsum(size + 1)])
    choice_at = np.concatenate([[0], np.cumsum(n_choices)])
    return SetLevels(
        size,
        at,
        np.zeros(at[-1]),
        np.zeros(size[n_nodes] + 1),
        filled,
        np.zeros(n_nodes + 1, dtype=np.int64),
        choice_at,
        np.zeros(choice_at[-1], dtype=np.int32),
        np.zeros(n_nodes + 1, dtype=np.int8),
        np.zeros(n_nodes + 1, dtype=np.int64),
    )


@kernel
def set_profile(scores, parent, n_children, to_leaves, taken, left, room, best):
    """Write the best score of a set that costs c steps into best[c]; -inf if there is none.

    Returns the number of levels. Other arguments are those of `best_set`, and

    n_children : int32 array of shape (M,)
    taken, left : int32 arrays of shape (M,)
    room : SetLevels, for as many steps
    best : float64 array with room for room.size[M] + 1 levels
    """
    M = parent.shape[0]
    table, fresh, filled, missed = room.table, room.fresh, room.filled, room.missed
    for n in range(M + 1):
        filled[n] = 0
        missed[n] = 0
        table[room.at[n]] = -np.inf  # no set with a child yet
        room.is_bare[n] = 0
    for n in range(M - 1, -1, -1):
        first = room.at[n]
        may_end = to_leaves == 0 or n_children[n] == 0
        if may_end and not table[first + missed[n]] > 0.0:
            # Without a child the steps of all below are those of leaving them out.
            table[first + missed[n]] = 0.0
            room.is_bare[n] = 1
        # From here on the table has the score of n too, at the steps below n; taken[n] is added
        # where it is read.
        own, steps = taken[n], filled[n]
        for c in range(steps + 1):
            table[first + c] += scores[n]
        skip = missed[n] + left[n]
        above = parent[n] if parent[n] >= 0 else M
        start, old = room.at[above], filled[above]
        new = old + max(steps + own, skip)
        picks = room.choice_at[n]
        for c in range(new + 1):
            fresh[c] = -np.inf
            room.choice[picks + c] = 0
        for c in range(old + 1):  # n is left out
            fresh[c + skip] = table[start + c]
        for j in range(steps + 1):
            value = table[first + j]
            if value == -np.inf:
                continue
            for c in range(old + 1):
                both = table[start + c] + value
                if both > fresh[c + j + own]:
                    fresh[c + j + own] = both
                    room.choice[picks + c + j + own] = j + 1
            c = missed[above] + j + own  # n is the first child that is taken
            if value > fresh[c]:
                fresh[c] = value
                room.choice[picks + c] = -(j + 1)
        for c in range(new + 1):
            table[start + c] = fresh[c]
        filled[above] = new
        missed[above] += skip
    first = room.at[M]
    for c in range(room.size[M] + 1):
        best[c] = table[first + c] if c <= filled[M] else -np.inf
    if to_leaves == 0 and not best[missed[M]] > 0.0:
        best[missed[M]] = 0.0
        room.is_bare[M] = 1
    return room.size[M] + 1


@kernel
def write_set_level(parent, taken, left, level, room, y):
    """Write the set of a level of the last `set_profile` into y (int8, 0 or 1).

    The level must have a set.
    """
    M = parent.shape[0]
    for n in range(M):
        y[n] = 0
    # level[n] is the steps that are left to the children of n not yet decided, and -1 if none of
    # them is taken. Children are decided in the reverse of the order in which they were merged.
    room.level[M] = -1 if room.is_bare[M] == 1 and level == room.missed[M] else level
    for n in range(M):
        above = parent[n] if parent[n] >= 0 else M
        if (above < M and y[above] == 0) or room.level[above] < 0:
            continue
        pick = room.choice[room.choice_at[n] + room.level[above]]
        if pick == 0:
            room.level[above] -= room.missed[n] + left[n]
            continue
        j = abs(pick) - 1
        y[n] = 1
        room.level[above] = -1 if pick < 0 else room.level[above] - j - taken[n]
        room.level[n] = -1 if room.is_bare[n] == 1 and j == room.missed[n] else j

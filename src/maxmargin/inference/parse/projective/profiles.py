"""The best projective tree at every level of a cost that is counted in steps.

Every item of Eisner's chart is a vector over the steps so far, and sums of items become max-plus
convolutions: O(n^5) with a small constant. An arc has two scores, ``right`` with which it costs
nothing and ``wrong`` with which it costs a step; -inf where there is no such arc. Without
relations an arc has one of the two: the true arcs ``right``, all others ``wrong``. With relations
a true arc has both: the score of its true relation, and that of the best other one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel


class TreeLevels(NamedTuple):
    """Workspace of `projective_profile`, for sentences of up to n words."""

    halves: npt.NDArray[np.float64]  # (n + 1, n + 1, n + 1)
    arcs: npt.NDArray[np.float64]  # (n + 1, n + 1, n + 1)
    joined: npt.NDArray[np.float64]  # (n + 1,): two halves
    stack: npt.NDArray[np.int32]  # (2 n + 4, 4)


def tree_levels_room(n_words: int) -> TreeLevels:
    """Return workspace for sentences of up to ``n_words`` words."""
    size = n_words + 1
    halves, arcs = np.zeros((size, size, size)), np.zeros((size, size, size))
    return TreeLevels(halves, arcs, np.zeros(size), np.zeros((2 * size + 2, 4), dtype=np.int32))


@kernel
def projective_profile(right, wrong, many, limit, room, totals):
    """Find the best score of each level up to ``limit``; return the number of levels.

    Parameters
    ----------
    right, wrong : float64 arrays of shape (n + 1, n + 1), n >= 1
        [h, m]: the score of the arc h -> m with no step, and with one; -inf where there is none.
        The diagonal and the first column are not read.
    many : int
        As for `best_projective`.
    limit : int >= 0
        The largest level wanted: levels above it are left out, which saves their work.
    room : TreeLevels, overwritten
    totals : float64 array of length >= min(n, limit) + 1
        totals[c] receives the best score with c steps, -inf if there is none.
    """
    n = right.shape[0] - 1
    halves, arcs, joined = room.halves, room.arcs, room.joined
    lowest = 0 if many else 1
    for t in range(lowest, n + 1):
        halves[t, t, 0] = 0.0
        for s in range(t - 1, lowest - 1, -1):
            length = t - s
            most = min(length, limit)
            for c in range(most + 1):
                joined[c] = -np.inf
                halves[t, s, c] = -np.inf
                halves[s, t, c] = -np.inf
            for r in range(s, t):
                _convolve(halves[s, r], r - s, halves[t, r + 1], t - r - 1, limit, joined)
            _step(joined, right[s, t], wrong[s, t], most, length, arcs[s, t])
            if s > 0:
                _step(joined, right[t, s], wrong[t, s], most, length, arcs[t, s])
                for r in range(s, t):
                    _convolve(halves[r, s], r - s, arcs[t, r], t - r, limit, halves[t, s])
            for r in range(s + 1, t + 1):
                _convolve(halves[r, t], t - r, arcs[s, r], r - s, limit, halves[s, t])
    top = min(n, limit)
    if many:
        for c in range(top + 1):
            totals[c] = halves[0, n, c]
        return top + 1
    for c in range(top + 1):
        totals[c] = -np.inf
    for r in range(1, n + 1):
        for c in range(min(n - 1, limit) + 1):
            joined[c] = -np.inf
        _convolve(halves[r, 1], r - 1, halves[r, n], n - r, limit, joined)
        for c in range(min(n - 1, limit) + 1):
            totals[c] = max(totals[c], joined[c] + right[0, r])
            if c < top:
                totals[c + 1] = max(totals[c + 1], joined[c] + wrong[0, r])
    return top + 1


@kernel
def _convolve(a, most_a, b, most_b, limit, result):
    """result[c] = max(result[c], max over i + j = c of a[i] + b[j]), for c <= limit."""
    for i in range(min(most_a, limit) + 1):
        first = a[i]
        if first == -np.inf:
            continue
        for j in range(min(most_b, limit - i) + 1):
            value = first + b[j]
            result[i + j] = value if value > result[i + j] else result[i + j]


@kernel
def _step(joined, right, wrong, most, length, result):
    """Add an arc to two halves, which have at most length - 1 steps."""
    for c in range(most + 1):
        value = joined[c] + right if c < length else -np.inf
        if c > 0:
            value = max(value, joined[c - 1] + wrong)
        result[c] = value


@kernel
def write_projective_level(right, wrong, many, room, level, total, heads, steps):
    """Write the best tree of a level, after `projective_profile`.

    Parameters
    ----------
    right, wrong, many, room : as for `projective_profile`
    level : int
    total : float, totals[level] as `projective_profile` wrote it; must not be -inf
    heads : int32 array of length >= n; heads[m - 1] receives the head of word m
    steps : int32 array of length >= n; steps[m - 1] receives the steps of the arc into m, 0 or 1
    """
    n = right.shape[0] - 1
    halves, stack = room.halves, room.stack
    count = 0
    # Entries of the stack are (1 if an arc else 0, head, end, steps).
    if many:
        count = _push(stack, count, 0, 0, n, level)
    else:
        found = False
        for r in range(1, n + 1):
            for own in range(2):
                if own > level or found:
                    continue
                score = wrong[0, r] if own else right[0, r]
                for i in range(min(r - 1, level - own) + 1):
                    j = level - own - i
                    if j > n - r or found:
                        continue
                    if (halves[r, 1, i] + halves[r, n, j]) + score == total:
                        found = True
                        heads[r - 1], steps[r - 1] = 0, own
                        count = _push(stack, count, 0, r, 1, i)
                        count = _push(stack, count, 0, r, n, j)
    while count > 0:
        count -= 1
        is_arc, a, b, c = stack[count, 0], stack[count, 1], stack[count, 2], stack[count, 3]
        if is_arc:
            count = _split_arc(right, wrong, room, a, b, c, count, heads, steps)
        else:
            count = _split_half(room, a, b, c, count)


@kernel
def _push(stack, count, is_arc, a, b, c):
    if not is_arc and a == b:
        return count
    stack[count, 0], stack[count, 1], stack[count, 2], stack[count, 3] = is_arc, a, b, c
    return count + 1


@kernel
def _split_half(room, a, b, c, count):
    """Find how a half with c steps was made: an arc, and a half of its word."""
    halves, arcs = room.halves, room.arcs
    target = halves[a, b, c]
    side = 1 if b > a else -1
    for distance in range(1, abs(b - a) + 1):
        r = a + side * distance
        for i in range(min(distance, c) + 1):
            j = c - i
            if j <= abs(b - r) and halves[r, b, j] + arcs[a, r, i] == target:
                count = _push(room.stack, count, 1, a, r, i)
                return _push(room.stack, count, 0, r, b, j)
    return count


@kernel
def _split_arc(right, wrong, room, a, b, c, count, heads, steps):
    """Find how an arc with c steps below it was made, and write it."""
    halves = room.halves
    target = room.arcs[a, b, c]
    low, high = min(a, b), max(a, b)
    for own in range(2):
        score = wrong[a, b] if own else right[a, b]
        if own > c or score == -np.inf:
            continue
        for r in range(low, high):
            for i in range(min(r - low, c - own) + 1):
                j = c - own - i
                if j > high - r - 1:
                    continue
                if (halves[low, r, i] + halves[high, r + 1, j]) + score == target:
                    heads[b - 1], steps[b - 1] = a, own
                    count = _push(room.stack, count, 0, low, r, i)
                    return _push(room.stack, count, 0, high, r + 1, j)
    return count

"""Interleavings for a cost that is not monotone in j: all places of all negatives, O(P N)."""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel
from maxmargin.inference.ranking.rule import call_difference

__all__ = ["place_all"]


@kernel
def place_all(rule, pull, high, P, N, values, ids, places, at, tally):
    """Place all negatives, sorted, by a dynamic programme over prefixes of both lists.

    best[a] is the highest value of the negatives so far if the last of them stands at a or before,
    and the last of them may not stand before the one before it. Of ties the largest a wins. What
    is remembered is one bit for each of the (P + 1) N cells: whether the best place up to a is a.
    """
    best = np.zeros(P + 1)
    is_here = np.zeros((N, P // 8 + 1), dtype=np.uint8)
    tally[0] += P * N
    for j in range(1, N + 1):
        value = values[j - 1]
        # Relative to no positive above.
        here = 0.0
        before = -np.inf
        for a in range(P + 1):
            if a > 0:
                here += high[a - 1] - value + pull * call_difference(rule.address, j, a, P, N)
            total = best[a] + here
            if total >= before:
                is_here[j - 1, a >> 3] |= np.uint8(1 << (a & 7))
                before = total
            best[a] = before
    a = P
    for s in range(N - 1, -1, -1):
        while a > 0 and (is_here[s, a >> 3] >> (a & 7)) & 1 == 0:
            a -= 1
        places[ids[s]] = a
        at[a] += 1

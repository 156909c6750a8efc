"""The best places of negatives among sorted positives, by divide and conquer.

With the positives' scores high[0] >= high[1] >= .., negative j of score v stands below its first
a positives. Going from a - 1 to a = i changes the objective, in units of 2 / (P N), by

    high[i - 1] - v + pull D_j(i),        pull = cost_scale P N / 2,

and its best place is the LARGEST a whose running sum is highest: a tie goes to the truth. If D_j
does not fall with j, that place does not fall with j either, nor as v falls. So the place of one
negative bounds those of all before and after it.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel
from maxmargin.inference._inline import inlined
from maxmargin.inference.ranking.buckets import SHORT_RUN, insert_run, select
from maxmargin.inference.ranking.rule import (
    AVERAGE_PRECISION,
    DCG,
    call_difference,
    discount_drop,
)

#: Runs up to this length are placed one after the other: to halve them would save nothing.
TINY_RUN = 4

__all__ = ["best_place", "count_at_least", "place_runs"]


@inlined
def count_at_least(high, low, top, value, margin, tally):
    """Return how many positives have high[i] - value >= margin, known to be in low..top.

    tally[1] counts comparisons.
    """
    n_compared = 0
    while low < top:
        middle = (low + top) // 2
        n_compared += 1
        if high[middle] - value >= margin:
            low = middle + 1
        else:
            top = middle
    tally[1] += n_compared
    return low


@inlined
def best_place(kind, address, drops, pull, high, P, N, j, value, low, top, tally):
    """Return the best place of negative j among low..top. tally[0] counts evaluations of D.

    pull : float
        As above for a user's D; over P for average precision, and over C for NDCG. AUC is not
        asked about here, as its places depend on scores alone.
    """
    if kind == AVERAGE_PRECISION:
        tail = max(low, j)
        while top > tail:
            # Beyond j -D falls with i: positives that do not reach what it is at top stay below.
            before = top
            margin = pull * top / ((top + j) * (top + j - 1.0))
            top = count_at_least(high, tail, top, value, margin, tally)
            tally[0] += 1
            if 2 * (top - tail) > before - tail:
                break
        # Up to j steps only fall: bisect.
        right = min(top, j)
        while low < right:
            i = (low + right) // 2 + 1
            tally[0] += 1
            if (high[i - 1] - value) * ((i + j) * (i + j - 1.0)) >= pull * i:
                low = i
            else:
                right = i - 1
        if top <= j:
            top = low
    elif kind == DCG:
        while top - low > 2:
            # -D falls with i. So positives that beat what it is at low + 1 go above, those that do
            # not reach what it is at top stay below, and both may be said again of what is left.
            width = top - low
            margin = pull * discount_drop(drops, low + 1 + j)
            low = count_at_least(high, low, top, value, margin, tally)
            margin = pull * discount_drop(drops, top + j)
            top = count_at_least(high, low, top, value, margin, tally)
            tally[0] += 2
            if 2 * (top - low) > width:
                break
    # What is left is summed up, step by step.
    tally[0] += top - low
    total = 0.0
    for i in range(low + 1, top + 1):
        step = high[i - 1] - value
        if kind == AVERAGE_PRECISION:
            step -= pull * i / ((i + j) * (i + j - 1.0))
        elif kind == DCG:
            step -= pull * discount_drop(drops, i + j)
        else:
            step += pull * call_difference(address, j, i, P, N)
        total += step
        if total >= 0.0:
            low = i
            total = 0.0
    return low


@inlined
def _are_equal(values, start, end, tally):
    """Return 1 if all of a run are equal, as scores are before any training, else 0."""
    s = start + 1
    while s < end and values[s] == values[start]:
        s += 1
    tally[1] += s - start
    return np.int64(s == end)


@kernel
def place_runs(
    kind, address, drops, pull, high, P, N, values, ids, n_runs, runs, ends, ranks, bound,
    places, at, stack, tally,
):  # fmt: skip
    """Place negatives that lie in runs, one after the other, each within bounds.

    Parameters
    ----------
    kind, address, drops, pull, high : as for `best_place`
    values, ids : scores of negatives and who they are; reordered within each run
    n_runs, runs : int, and int array of the runs, in their order
    ends : int array; run b ends before ends[b], and begins where the one before it ended
    ranks : int array; as many negatives rank above those of run b
    bound : int array; the best places in run b are bound[b]..bound[b + 1]
    places : int32 array; places[ids[s]] receives the place
    at : int64 array of length >= P + 1; at[a] is raised by the number placed at a
    stack : int64 workspace of shape (>= 64, >= 5)

    Of a run the middle negative is found and placed; those before it stand no lower, those after it
    no higher. No more of the order is found out than is needed: a run is done once low = top.
    """
    start = np.int64(0)
    for r in range(n_runs):
        run = runs[r]
        stack[0, 0] = start
        stack[0, 1] = ends[run]
        stack[0, 2] = bound[run]
        stack[0, 3] = bound[run + 1]
        stack[0, 4] = 0
        offset = ranks[run] + 1 - start
        start = np.int64(ends[run])
        depth = 0
        while depth >= 0:
            left = stack[depth, 0]
            right = stack[depth, 1]
            low = stack[depth, 2]
            top = stack[depth, 3]
            is_sorted = stack[depth, 4]
            depth -= 1
            if is_sorted == 0 and low < top:
                if right - left <= SHORT_RUN:
                    insert_run(values, ids, left, right, tally)
                    is_sorted = 1
                else:
                    is_sorted = _are_equal(values, left, right, tally)
            while left < right and low < top:
                middle = left if right - left <= TINY_RUN else (left + right) // 2
                if is_sorted == 0:
                    select(values, ids, left, right, middle, tally)
                best = best_place(
                    kind, address, drops, pull, high, P, N, middle + offset, values[middle],
                    low, top, tally,
                )  # fmt: skip
                places[ids[middle]] = best
                at[best] += 1
                if middle == left:
                    left += 1
                    low = best
                    continue
                depth += 1
                stack[depth, 0] = middle + 1
                stack[depth, 1] = right
                stack[depth, 2] = best
                stack[depth, 3] = top
                stack[depth, 4] = is_sorted
                right = middle
                top = best
            if left < right:
                for s in range(left, right):
                    places[ids[s]] = low
                at[low] += right - left

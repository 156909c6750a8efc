"""The best places of negatives among sorted positives, by divide and conquer.

The positives have the scores high[0] >= high[1] >= .. A negative at place a stands below the first
a positives. If negative j of score v moves from place i - 1 to place i, the objective changes, in
units of 2 / (P N), by

    high[i - 1] - v + pull D_j(i),        pull = cost_scale P N / 2.

Its best place is the LARGEST a with the highest running sum of these steps: a tie goes to the
truth. If D_j does not fall as j grows, the best place does not fall as j grows or as v falls. So
the place of one negative bounds the places of all negatives before and after it.
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

#: In runs up to this length negatives are placed one by one: halving such a run saves nothing.
TINY_RUN = 4

__all__ = ["best_place", "count_at_least", "place_runs"]


@inlined
def count_at_least(high, low, top, value, margin, tally):
    """Return how many positives have high[i] - value >= margin.

    The caller knows that this number lies in low..top. tally[1] counts comparisons.
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
        For a user's D, pull as in the docstring of the module; for average precision divided by P,
        for NDCG divided by C. Not for AUC, whose places depend on scores alone.
    """
    if kind == AVERAGE_PRECISION:
        tail = max(low, j)
        while top > tail:
            # For i > j, -D_j(i) falls as i grows, so pull * -D is at least `margin`, its value at
            # top. Positives whose high - value is below `margin` stand below the negative.
            before = top
            margin = pull * top / ((top + j) * (top + j - 1.0))
            top = count_at_least(high, tail, top, value, margin, tally)
            tally[0] += 1
            if 2 * (top - tail) > before - tail:
                break
        # For i <= j the steps fall as i grows, so bisection finds the last one that is >= 0.
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
            # -D_j(i) falls as i grows. Positives whose high - value reaches pull * -D at low + 1
            # stand above the negative; those that do not reach pull * -D at top stand below it.
            # Repeat this for the positives that remain.
            width = top - low
            margin = pull * discount_drop(drops, low + 1 + j)
            low = count_at_least(high, low, top, value, margin, tally)
            margin = pull * discount_drop(drops, top + j)
            top = count_at_least(high, low, top, value, margin, tally)
            tally[0] += 2
            if 2 * (top - low) > width:
                break
    # Sum the steps of the places that remain, one by one.
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
    """Return 1 if all values of a run are equal, as all scores are at w = 0, else 0."""
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
    """Place the negatives of several runs, each run within its bounds.

    Parameters
    ----------
    kind, address, drops, pull, high : as for `best_place`
    values, ids : scores of negatives and their indices; reordered within each run
    n_runs, runs : number of runs, and the numbers b of the runs, in their order
    ends : int array; run b ends before ends[b], and begins where the run before it ends
    ranks : int array; ranks[b] negatives rank above those of run b
    bound : int array; the best places in run b are bound[b]..bound[b + 1]
    places : int32 array; places[ids[s]] receives the place
    at : int64 array of length >= P + 1; at[a] is raised by the number placed at a
    stack : int64 workspace of shape (>= 64, >= 5)

    The middle negative of a run is found by selection and placed. The negatives before it have
    places up to that place, those after it places from it on; both parts are treated in the same
    way. A part is done once low = top, so the runs are sorted only as far as is needed.
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

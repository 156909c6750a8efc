"""The best places of negatives among sorted positives, by divide and conquer.

With the positives' scores high[0] >= high[1] >= .., negative j of score v stands below its first
a positives. Going from a - 1 to a = i changes the objective, in units of 2 / (P N), by

    high[i - 1] - v + pull D_j(i),        pull = cost_scale P N / 2,

and its best place is the LARGEST a whose running sum is highest: a tie goes to the truth. If D_j
does not fall with j, that place does not fall with j either, nor as v falls. So the place of one
negative bounds those of all before and after it.
"""

from __future__ import annotations

from maxmargin._compile import kernel
from maxmargin.inference.ranking_buckets import SHORT_RUN, insert_run, select
from maxmargin.inference.ranking_rule import (
    AVERAGE_PRECISION,
    DCG,
    USER,
    call_difference,
    discount_drop,
)

__all__ = ["best_place", "count_at_least", "place_run"]


@kernel
def count_at_least(high, low, top, value, margin):
    """Return how many positives have high[i] - value >= margin, known to be in low..top."""
    while low < top:
        middle = (low + top) // 2
        if high[middle] - value >= margin:
            low = middle + 1
        else:
            top = middle
    return low


@kernel
def best_place(rule, pull, high, P, N, j, value, low, top, tally):
    """Return the best place of negative j among low..top. tally[0] counts evaluations of D.

    rule : MonotoneRule, but for AUC, whose places depend on the score alone
    """
    if low < top and rule.kind != USER:
        # D <= 0: positives that score less do not go above.
        top = count_at_least(high, low, top, value, 0.0)
    if low >= top:
        return low
    if rule.kind == AVERAGE_PRECISION:
        return _best_place_ap(pull / P, high, j, value, low, top, tally)
    total = 0.0
    if rule.kind == DCG:
        per_drop = pull / rule.ideal[P]
        # -D falls with i: what beats the first of it beats all.
        low = count_at_least(high, low, top, value, per_drop * discount_drop(rule.drops, j + 1))
        tally[0] += top - low + 1
        best = low
        for i in range(low + 1, top + 1):
            total += high[i - 1] - value - per_drop * discount_drop(rule.drops, i + j)
            if total >= 0.0:
                best = i
                total = 0.0
        return best
    tally[0] += top - low
    best = low
    for i in range(low + 1, top + 1):
        total += high[i - 1] - value + pull * call_difference(rule.address, j, i, P, N)
        if total >= 0.0:
            best = i
            total = 0.0
    return best


@kernel
def _best_place_ap(pull, high, j, value, low, top, tally):
    """Bisect where the running sum is concave, a <= j, and scan the rest."""
    left = low
    right = max(low, min(top, j))
    while left < right:
        i = (left + right) // 2 + 1
        tally[0] += 1
        if high[i - 1] - value - pull * i / ((i + j) * (i + j - 1.0)) >= 0.0:
            left = i
        else:
            right = i - 1
    best = left
    if top > j:
        tally[0] += top - left
        total = 0.0
        for i in range(left + 1, top + 1):
            total += high[i - 1] - value - pull * i / ((i + j) * (i + j - 1.0))
            if total >= 0.0:
                best = i
                total = 0.0
    return best


@kernel
def place_run(
    rule, pull, high, P, N, values, ids, start, end, skipped, low, top, places, at, stack, tally
):
    """Place the negatives values[start:end], whose best places are within low..top.

    Parameters
    ----------
    values, ids : scores of negatives and who they are; reordered within start..end
    skipped : int
        values[s] would be negative j = s - start + skipped + 1 if the run were sorted.
    places : int32 array; places[ids[s]] receives the place
    at : int64 array of length >= P + 1; at[a] is raised by the number placed at a
    stack : int64 workspace of shape (>= 64, >= 5)

    Of a run the middle negative is found and placed; those before it go no lower, those after it
    no higher. No more of the order is found out than is needed: a run stops once low = top.
    """
    depth = 0
    stack[0, 0] = start
    stack[0, 1] = end
    stack[0, 2] = low
    stack[0, 3] = top
    stack[0, 4] = 0
    offset = skipped + 1 - start
    while depth >= 0:
        left = stack[depth, 0]
        right = stack[depth, 1]
        low = stack[depth, 2]
        top = stack[depth, 3]
        is_sorted = stack[depth, 4]
        depth -= 1
        while left < right:
            if low == top:
                for s in range(left, right):
                    places[ids[s]] = low
                at[low] += right - left
                break
            if is_sorted == 0 and right - left <= SHORT_RUN:
                insert_run(values, ids, left, right, tally)
                is_sorted = 1
            middle = (left + right) // 2
            if is_sorted == 0:
                select(values, ids, left, right, middle, tally)
            best = best_place(
                rule, pull, high, P, N, middle + offset, values[middle], low, top, tally
            )
            places[ids[middle]] = best
            at[best] += 1
            depth += 1
            stack[depth, 0] = middle + 1
            stack[depth, 1] = right
            stack[depth, 2] = best
            stack[depth, 3] = top
            stack[depth, 4] = is_sorted
            right = middle
            top = best

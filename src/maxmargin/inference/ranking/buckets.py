"""Values put into buckets from the highest down: what a sort would be, as far as it is needed.

To find its bucket takes one addition and one product per value; a sort takes log2(n) comparisons
per value. The map from values to buckets is exactly monotone: it multiplies by a power of two and
rounds down, both without error, so the edges of the buckets are known exactly too.

Values that lie unevenly fill some buckets more than others. That costs time, never correctness.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin.core.compile import kernel
from maxmargin.inference._inline import inlined

__all__ = [
    "bucket_edge",
    "bucket_of",
    "count_buckets",
    "fit_buckets",
    "insert_run",
    "select",
    "sort_run",
    "spread_of",
]

#: `spread_of` looks at GROUPS groups of GROUP_SIZE values each.
GROUPS, GROUP_SIZE = 16, 8

#: Runs up to this length are sorted by insertion.
SHORT_RUN = 20

_LARGEST = 1e308


@kernel
def spread_of(values, sketch):
    """Return (low, high), between which most of the values lie; low = high if all may be equal.

    sketch : float64 workspace of shape (2, GROUPS)

    The range goes from the median of the groups' lowest values to the median of their highest
    values. Outliers do not move these medians, unless more than about 8% of the values are outliers
    at one end. Then 0.7 times the range is added at both ends: for normal values the result reaches
    to 3.4 standard deviations.
    """
    n = values.shape[0]
    size = max(1, min(GROUP_SIZE, n // GROUPS))
    step = max(1, n // (GROUPS * size))
    for group in range(GROUPS):
        low = np.float64(values[min(group * step, n - 1)])
        high = low
        for member in range(1, size):
            value = np.float64(values[min((member * GROUPS + group) * step, n - 1)])
            low = min(low, value)
            high = max(high, value)
        for row, value in ((0, low), (1, high)):
            place = group
            while place > 0 and sketch[row, place - 1] > value:
                sketch[row, place] = sketch[row, place - 1]
                place -= 1
            sketch[row, place] = value
    low = sketch[0, GROUPS // 2]
    high = sketch[1, GROUPS // 2]
    if not high > low:
        low = sketch[0, 0]
        high = sketch[1, GROUPS - 1]
    # width is half of the range: the range itself may overflow.
    width = 0.5 * high - 0.5 * low
    if not (width > 0.0 and math.isfinite(width)):
        return low, low
    return max(low - 1.4 * width, -_LARGEST), min(high + 1.4 * width, _LARGEST)


@kernel
def fit_buckets(low, high, n_buckets):
    """Return (base, scale): n_buckets buckets of width 1/scale that cover low..high.

    Values below low or above high fall into the outermost buckets.
    """
    if not low < high:
        return 0.0, 1.0
    # width is a quarter of the range, which cannot overflow.
    width = 0.25 * high - 0.25 * low
    # scale is the largest power of two for which the buckets cover the range, and for which a
    # float64 holds value * scale, rounded down, exactly.
    exponent = math.frexp(n_buckets / 4.0)[1] - math.frexp(width)[1] - 1
    exponent = min(exponent, 51 - math.frexp(max(abs(low), abs(high)))[1])
    scale = math.ldexp(1.0, max(-1000, min(exponent, 1000)))
    return math.floor(low * scale) + 0.0, scale


@inlined
def bucket_of(value, base, scale, n_buckets):
    """Return the bucket of a value; bucket 0 holds the highest values, the last one also NaN."""
    place = np.floor(np.float64(value) * scale) - base
    if not place > 0.0:
        place = 0.0
    if place > n_buckets - 1.0:
        place = n_buckets - 1.0
    return n_buckets - 1 - np.int32(place)


@inlined
def bucket_edge(bucket, base, scale, n_buckets):
    """Return the upper edge of a bucket > 0: values in this and all later buckets are below it."""
    return (base + (n_buckets - bucket)) / scale


@kernel
def count_buckets(values, base, scale, n_buckets, which, first):
    """Write to which[s] the bucket of value s, and to first[b] how many values precede bucket b.

    first : int32 array of length >= n_buckets + 1; first[n_buckets] receives the number of values
    """
    for bucket in range(n_buckets + 1):
        first[bucket] = 0
    for s in range(values.shape[0]):
        bucket = bucket_of(values[s], base, scale, n_buckets)
        which[s] = bucket
        first[bucket + 1] += 1
    for bucket in range(n_buckets):
        first[bucket + 1] += first[bucket]


@kernel
def sort_run(values, ids, start, end, stack, tally):
    """Sort values[start:end] from the highest down, and reorder ids in the same way.

    stack : int64 workspace of shape (>= 64, >= 2)
    tally : tally[1] counts comparisons
    """
    depth = 0
    stack[0, 0] = start
    stack[0, 1] = end
    while depth >= 0:
        start = stack[depth, 0]
        end = stack[depth, 1]
        depth -= 1
        while end - start > SHORT_RUN:
            left, right = _partition(values, ids, start, end)
            tally[1] += end - start
            # Push the longer part: the stack then holds at most log2(end - start) parts.
            depth += 1
            if right + 1 - start > end - left:
                stack[depth, 0] = start
                stack[depth, 1] = right + 1
                start = left
            else:
                stack[depth, 0] = left
                stack[depth, 1] = end
                end = right + 1
        insert_run(values, ids, start, end, tally)


@kernel
def select(values, ids, start, end, place, tally):
    """Reorder values[start:end] so that none before `place` is lower and none after it higher."""
    while end - start > SHORT_RUN:
        left, right = _partition(values, ids, start, end)
        tally[1] += end - start
        if place <= right:
            end = right + 1
        elif place >= left:
            start = left
        else:
            return
    insert_run(values, ids, start, end, tally)


@inlined
def _median(first, middle, last):
    return max(min(first, middle), min(max(first, middle), last))


@inlined
def _median_near(values, start, n, seed, step):
    """Return the median of the values at seed, seed + step and seed + 2 step, all modulo n."""
    return _median(
        values[start + np.int64(seed) % n],
        values[start + np.int64(seed + step) % n],
        values[start + np.int64(seed + 2.0 * step) % n],
    )


@kernel
def _partition(values, ids, start, end):
    """Split values[start:end] at a pivot near the median; return (left, right).

    Values up to right are >= pivot, those from left on are <= pivot, those between equal it. The
    pivot is the median of three values, or the median of three such medians. In long runs the
    values are not taken at regular distances: otherwise values in some regular order would make
    every split uneven.
    """
    n = end - start
    if n <= 128:
        pivot = _median(values[start], values[start + n // 2], values[end - 1])
    else:
        # Multiples of the golden section are spread evenly, but share no period with the values.
        seed = n * 0.6180339887498949
        step = n * 0.38196601125010515
        pivot = _median(
            _median_near(values, start, n, seed, step),
            _median_near(values, start, n, seed + 3.0 * step, step),
            _median_near(values, start, n, seed + 6.0 * step, step),
        )
    left = start
    right = end - 1
    while left <= right:
        while values[left] > pivot:
            left += 1
        while values[right] < pivot:
            right -= 1
        if left <= right:
            value = values[left]
            values[left] = values[right]
            values[right] = value
            name = ids[left]
            ids[left] = ids[right]
            ids[right] = name
            left += 1
            right -= 1
    return left, right


@inlined
def insert_run(values, ids, start, end, tally):
    """Sort values[start:end] from the highest down by insertion, and reorder ids likewise."""
    for s in range(start + 1, end):
        value = values[s]
        name = ids[s]
        place = s
        while place > start and values[place - 1] < value:
            values[place] = values[place - 1]
            ids[place] = ids[place - 1]
            place -= 1
        values[place] = value
        ids[place] = name
        tally[1] += s - place + 1

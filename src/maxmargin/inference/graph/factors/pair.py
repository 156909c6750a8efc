"""The message of a dense table of two axes, which most time is spent on.

Rows and columns are slices, so that the compiler knows that no index is negative: it then makes
use of wide registers. Columns are read one after the other where they are short; where they are
long, all at once, row by row. Both were measured on tables of 2 to 50 labels; the limit is where
they are equally fast.
"""

from __future__ import annotations

import numpy as np

from maxmargin.inference._inline import inlined

LONG = 24


@inlined
def pair_message(tables, table, is_row, incoming, at, n_other, out, to, n_own):
    """Fill out[to : to + n_own] with the best of each row, or of each column if not is_row.

    The table begins at ``table``. The message of the other node, incoming[at : at + n_other], is
    added.
    """
    added = incoming[at : at + n_other]
    found = out[to : to + n_own]
    end = table + n_own * n_other
    if is_row:
        for x in range(n_own):
            row = tables[table + x * n_other : end]
            found[x] = _best_sum(row, added, n_other)
    elif n_own < LONG:
        for x in range(n_own):
            column = tables[table + x : end : n_own]
            best = -np.inf
            for y in range(n_other):
                value = column[y] + added[y]
                best = value if value > best else best
            found[x] = best
    else:
        for x in range(n_own):
            found[x] = -np.inf
        for y in range(n_other):
            row = tables[table + y * n_own : end]
            more = added[y]
            for x in range(n_own):
                value = row[x] + more
                found[x] = value if value > found[x] else found[x]


@inlined
def _best_sum(left, right, n):
    """Return the largest of left + right."""
    best = -np.inf
    if n < LONG:
        for y in range(n):
            value = left[y] + right[y]
            best = value if value > best else best
        return best
    # Four chains of comparisons, so that one need not wait for the other.
    second, third, fourth = best, best, best
    whole = n - n % 4
    for y in range(0, whole, 4):
        value = left[y] + right[y]
        best = value if value > best else best
        value = left[y + 1] + right[y + 1]
        second = value if value > second else second
        value = left[y + 2] + right[y + 2]
        third = value if value > third else third
        value = left[y + 3] + right[y + 3]
        fourth = value if value > fourth else fourth
    for y in range(whole, n):
        value = left[y] + right[y]
        best = value if value > best else best
    return max(max(best, second), max(third, fourth))

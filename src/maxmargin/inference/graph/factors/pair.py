"""The message of a dense table of two axes, which most time is spent on.

Indices are made unsigned, so that the compiler need not think of negative ones: that takes a third
of the time. Four rows or columns are searched at a time, because a maximum waits for the one before
it: that takes a fifth of the time, or a third from 12 labels on. Columns are read in fours where
they are short; where they are long, all at once, row by row.
"""

from __future__ import annotations

import numpy as np

from maxmargin.inference._inline import inlined

LONG = 24

#: Makes an index unsigned.
place = np.uintp


@inlined
def pair_message(tables, table, is_row, incoming, at, n_other, out, to, n_own):
    """Fill out[to : to + n_own] with the best of each row, or of each column if not is_row.

    The table begins at ``table``. The message of the other node, incoming[at : at + n_other], is
    added.
    """
    if is_row or n_own < LONG:
        along, across = (1, n_other) if is_row else (n_own, 1)
        n_fours = n_own - n_own % 4
        for x in range(0, n_fours, 4):
            first = table + x * across
            second = first + across
            third = second + across
            fourth = third + across
            best0 = best1 = best2 = best3 = -np.inf
            for y in range(n_other):
                step, added = y * along, incoming[place(at + y)]
                value0 = tables[place(first + step)] + added
                value1 = tables[place(second + step)] + added
                value2 = tables[place(third + step)] + added
                value3 = tables[place(fourth + step)] + added
                best0 = value0 if value0 > best0 else best0
                best1 = value1 if value1 > best1 else best1
                best2 = value2 if value2 > best2 else best2
                best3 = value3 if value3 > best3 else best3
            out[place(to + x)], out[place(to + x + 1)] = best0, best1
            out[place(to + x + 2)], out[place(to + x + 3)] = best2, best3
        for x in range(n_fours, n_own):
            first = table + x * across
            best = -np.inf
            for y in range(n_other):
                value = tables[place(first + y * along)] + incoming[place(at + y)]
                best = value if value > best else best
            out[place(to + x)] = best
        return
    for x in range(n_own):
        out[place(to + x)] = -np.inf
    for y in range(n_other):
        first = table + y * n_own
        added = incoming[place(at + y)]
        for x in range(n_own):
            value = tables[place(first + x)] + added
            best = out[place(to + x)]
            out[place(to + x)] = value if value > best else best

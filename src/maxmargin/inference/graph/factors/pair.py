"""The message of a dense table of two axes, which most time is spent on.

Indices are made unsigned, so that the compiler need not think of negative ones: that takes a third
of the time. Columns are read one after the other where they are short; where they are long, all at
once, row by row. Both were measured on tables of 2 to 50 labels; at `LONG` they are equally fast.
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
        for x in range(n_own):
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

"""The message of a dense table of two axes, which most time is spent on.

Four rows or columns are searched at a time, by vector instructions (`fours.py`). Where the number
of labels is no multiple of four, the last four overlap those before, and come first: what is read
next, from the front, then lies in one write each, which is quicker to read.

Indices are made unsigned, so that the compiler need not think of negative ones.
"""

from __future__ import annotations

import numpy as np

from maxmargin.inference._inline import inlined
from maxmargin.inference.graph.factors.fours import WIDTH, best_of_columns, best_of_rows

#: Makes an index unsigned.
place = np.uintp


@inlined
def pair_message(tables, table, is_row, incoming, at, n_other, out, to, n_own):
    """Fill out[to : to + n_own] with the best of each row, or of each column if not is_row.

    The table begins at ``table``. The message of the other node, incoming[at : at + n_other], is
    added.
    """
    if n_own >= WIDTH and (n_other >= WIDTH or not is_row):
        for block in range((n_own + WIDTH - 1) // WIDTH):
            x = WIDTH * (block - 1) if block > 0 else n_own - WIDTH
            if is_row:
                first = table + x * n_other
                best_of_rows(tables, first, n_other, incoming, at, n_other, out, to + x)
            else:
                best_of_columns(tables, table + x, n_own, incoming, at, n_other, out, to + x)
        return
    along, across = (1, n_other) if is_row else (n_own, 1)
    for x in range(n_own):
        first = table + x * across
        best = -np.inf
        for y in range(n_other):
            value = tables[place(first + y * along)] + incoming[place(at + y)]
            best = value if value > best else best
        out[place(to + x)] = best

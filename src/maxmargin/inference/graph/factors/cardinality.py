"""A score of how many of the members are on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import jitable
from maxmargin.inference._checks import check_potential
from maxmargin.inference.graph.factors.switches import (
    SwitchFactor,
    n_on,
    off_and_on,
    write_switch,
)

KIND = 5


class Cardinality(SwitchFactor):
    """values[c] if c of the nodes are on.

    Parameters
    ----------
    nodes : sequence of k ints
    values : array-like of shape (k + 1,)
        Finite numbers, or -inf where a count is forbidden.
    on : label, or list of one label per node, default=1
        The label that counts as on; a node with any other label is off.

    Examples
    --------
    >>> from maxmargin.inference.graph.factors import Cardinality
    >>> rule = Cardinality((0, 1, 2), [0.0, 2.0, 1.0, 0.5])
    >>> rule.value((0, 1, 1))
    1.0
    """

    def __init__(self, nodes: Sequence[int], values: Any, on: Any = 1) -> None:
        super().__init__(nodes, on)
        self.values = check_potential("values of a Cardinality", values, 1)
        if len(self.values) != len(self.nodes) + 1:
            raise ValueError(
                f"Cardinality: values has length {len(self.values)}; expected "
                f"{len(self.nodes) + 1}, one for each count from 0 to {len(self.nodes)}."
            )

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return the scores of all counts."""
        return self.values

    def value(self, labels: Sequence[int]) -> float:
        """Return the score of the count."""
        return float(self.values[self.count(labels)])


@jitable
def sort_rising(values: Any, n: int) -> None:
    """Sort the first n values, by Shell's method: that of numba takes a second to compile."""
    gap = 1
    while 3 * gap < n:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, n):
            value, place = values[k], k
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value
        gap //= 3


@jitable
def message(shape: Any, tables: Any, factor: int, slot: int, incoming: Any, out: Any) -> None:
    """Fill out; see base.py. The c others that are on are those of largest q(1) - q(0)."""
    first, last = shape.member_at[factor], shape.member_at[factor + 1]
    # Sorting needs room, and a message has none of its own. This is the one kind that allocates.
    fallen = np.empty(last - first)
    n_free = 0
    n_forced = 0
    base = 0.0
    for s in range(first, last):
        if s == slot:
            continue
        off, on = off_and_on(shape, s, incoming)
        if off == -np.inf:
            base += on
            n_forced += 1
        else:
            base += off
            if on > -np.inf:
                fallen[n_free] = off - on
                n_free += 1
    sort_rising(fallen, n_free)
    table = shape.table_at[factor] + n_forced
    off, on = tables[table], tables[table + 1]
    gain = 0.0
    for c in range(1, n_free + 1):
        gain -= fallen[c - 1]
        off = max(off, tables[table + c] + gain)
        on = max(on, tables[table + c + 1] + gain)
    write_switch(shape, slot, base + off, base + on, out)


@jitable
def value(shape: Any, tables: Any, factor: int, labels: Any) -> float:
    """Return the score of how many members are on."""
    score: float = tables[shape.table_at[factor] + n_on(shape, factor, labels)]
    return score

"""One node implies another: if the first is on, so is the second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.inference.graph.factors.switches import SwitchFactor, off_and_on, write_switch

KIND = 4


class Implies(SwitchFactor):
    """-inf if the first node is on and the second is off, else 0.

    Parameters
    ----------
    nodes : sequence of two ints
    on : label, or list of two labels, default=1
        The label that counts as on; a node with any other label is off.

    Examples
    --------
    >>> from maxmargin.inference.graph.factors import Implies
    >>> rule = Implies((4, 2))
    >>> rule.value((0, 1)), rule.value((1, 0))
    (0.0, -inf)
    """

    def __init__(self, nodes: Sequence[int], on: Any = 1) -> None:
        super().__init__(nodes, on)
        if len(self.nodes) != 2:
            raise ValueError(f"Implies joins two nodes, got {len(self.nodes)}: {self.nodes}.")

    def value(self, labels: Sequence[int]) -> float:
        """Return -inf if the first is on and the second is off, else 0."""
        is_broken = labels[0] == self.on_labels[0] and labels[1] != self.on_labels[1]
        return -np.inf if is_broken else 0.0


@jitable
def message(shape: Any, tables: Any, factor: int, slot: int, incoming: Any, out: Any) -> None:
    """Fill out; see base.py."""
    first = shape.member_at[factor]
    off, on = off_and_on(shape, 2 * first + 1 - slot, incoming)
    if slot == first:
        write_switch(shape, slot, max(off, on), on, out)
    else:
        write_switch(shape, slot, off, max(off, on), out)


@jitable
def value(shape: Any, tables: Any, factor: int, labels: Any) -> float:
    """Return -inf if the first member is on and the second is off, else 0."""
    first = shape.member_at[factor]
    is_on = labels[shape.members[first]] == shape.on[first]
    is_off = labels[shape.members[first + 1]] != shape.on[first + 1]
    return -np.inf if is_on and is_off else 0.0

"""At least one of the members is on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.inference.graph.factors.switches import SwitchFactor, n_on, others, write_switch

KIND = 3


class AtLeastOne(SwitchFactor):
    """0 if at least one of the nodes is on, else -inf.

    Parameters
    ----------
    nodes : sequence of int
    on : label, or list of one label per node, default=1
        The label that counts as on; a node with any other label is off.

    Examples
    --------
    >>> from maxmargin.inference.graph.factors import AtLeastOne
    >>> rule = AtLeastOne((0, 1, 2))
    >>> rule.value((0, 1, 1)), rule.value((0, 0, 0))
    (0.0, -inf)
    """

    def value(self, labels: Sequence[int]) -> float:
        """Return 0 if at least one is on, else -inf."""
        return 0.0 if self.count(labels) >= 1 else -np.inf


@jitable
def message(shape: Any, tables: Any, factor: int, slot: int, incoming: Any, out: Any) -> None:
    """Fill out; see base.py."""
    base, n_forced, largest, gain = others(shape, factor, slot, incoming)
    on = base + gain
    off = on if n_forced > 0 or largest > 0.0 else base + largest
    write_switch(shape, slot, off, on, out)


@jitable
def value(shape: Any, tables: Any, factor: int, labels: Any) -> float:
    """Return 0 if at least one member is on, else -inf."""
    return 0.0 if n_on(shape, factor, labels) >= 1 else -np.inf

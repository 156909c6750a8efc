"""At most one of the members is on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.inference.graph.factors.switches import SwitchFactor, n_on, others, write_switch

KIND = 2


class AtMostOne(SwitchFactor):
    """0 if at most one of the nodes is on, else -inf.

    Parameters
    ----------
    nodes : sequence of int
    on : label, or list of one label per node, default=1
        The label that counts as on; a node with any other label is off.

    Examples
    --------
    >>> from maxmargin.inference.graph.factors import AtMostOne
    >>> rule = AtMostOne((0, 1), on=(2, 0))
    >>> rule.value((2, 1)), rule.value((2, 0))
    (0.0, -inf)
    """

    def value(self, labels: Sequence[int]) -> float:
        """Return 0 if at most one is on, else -inf."""
        return 0.0 if self.count(labels) <= 1 else -np.inf


@jitable
def message(shape: Any, tables: Any, factor: int, slot: int, incoming: Any, out: Any) -> None:
    """Fill out; see base.py."""
    base, n_forced, largest, _ = others(shape, factor, slot, incoming)
    on = base if n_forced == 0 else -np.inf
    off = -np.inf
    if n_forced == 0:
        off = base + max(0.0, largest)
    elif n_forced == 1:
        off = base
    write_switch(shape, slot, off, on, out)


@jitable
def value(shape: Any, tables: Any, factor: int, labels: Any) -> float:
    """Return 0 if at most one member is on, else -inf."""
    return 0.0 if n_on(shape, factor, labels) <= 1 else -np.inf

"""Zero-one cost: any mistake costs the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.costs.base import Cost, Names
from maxmargin.costs.tables import WholeCost


@dataclass(frozen=True)
class ZeroOne(Cost):
    """1 for an output that is wrong anywhere, 0 for the right one.

    Examples
    --------
    >>> ZeroOne().tabulate("positions", [0, 1], [3, 5]).price
    array([1., 1.])
    """

    def whole(self, names: Names, sizes: np.ndarray) -> WholeCost:
        """Return the loss as compiled code reads it."""
        return WholeCost(np.ones(len(sizes)))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost (there are none)."""
        return {}

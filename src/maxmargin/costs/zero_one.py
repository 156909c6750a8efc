"""Zero-one cost: any mistake costs the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.costs.tables import WholeCost


@dataclass(frozen=True)
class ZeroOne:
    """1 for an output that is wrong anywhere, 0 for the right one.

    Examples
    --------
    >>> import numpy as np
    >>> ZeroOne().tables(np.array([0, 1]), np.array([3, 5])).price
    array([1., 1.])
    """

    def tables(self, classes: np.ndarray, sizes: np.ndarray) -> WholeCost:
        """Return the loss as compiled code reads it."""
        return WholeCost(np.ones(len(sizes)))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost (there are none)."""
        return {}

"""1 - F1 of one label set against the true one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.costs.tables import WholeCost


@dataclass(frozen=True)
class InstanceF1:
    """1 - F1 of each label set: 1 - 2 |y and y_i| / (|y| + |y_i|). For label sets only.

    It is no sum over labels: its oracle is exact for independent labels, and where all label sets
    can be listed. With edges between more labels the surrogate `MicroF1` stands for it.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.costs import label_tables
    >>> label_tables(InstanceF1(), ["a", "b"], np.array([[1, 0], [1, 1]])).price
    array([1., 1.])
    """

    def tables(self, classes: np.ndarray, sizes: np.ndarray) -> WholeCost:
        """Refuse: classes and sequences have no F1 of their own."""
        raise ValueError(
            "InstanceF1 compares sets of labels; it is a cost of label sets, not of classes or "
            "sequences. Costs that fit: hamming, zero_one, class_weighted, matrix."
        )

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost (there are none)."""
        return {}

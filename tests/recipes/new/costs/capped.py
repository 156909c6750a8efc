"""A distance between ordered labels that grows no further than two."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from maxmargin.costs.base import Cost, Names
from maxmargin.costs.tables import PartCost


@dataclass(frozen=True)
class Capped(Cost):
    """Sum over positions of min(most, |place of the predicted label - place of the true label|)."""

    most: float = 2.0

    def positions(self, names: Names, sizes: np.ndarray) -> PartCost:
        """Return the loss as compiled code reads it."""
        place = np.arange(len(names), dtype=np.float64)
        return PartCost(np.minimum(self.most, abs(place[:, None] - place)), np.ones(len(sizes)))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        return asdict(self)

"""What a regulariser must offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np


class Regularizer(Protocol):
    """A norm of the weights, before the examples are known: |w|^2 = sum_f |w_f|^2 / alpha_f."""

    #: Name in the registry.
    name: str

    def of(self, names: Sequence[str] | None, n_features: int) -> np.ndarray | None:
        """Return alpha of every feature, given their names if they have any; None for 1 each."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal regulariser."""
        ...

"""The Euclidean norm: all weights are kept small alike."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from maxmargin.core.contract import Identity


@dataclass(frozen=True)
class Euclidean:
    """The Euclidean norm, |w|^2 = w.w.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.core.contract import inner
    >>> from maxmargin.regularizers import Euclidean
    >>> float(inner(Euclidean().bind(None), np.ones(3), np.ones(3)))
    3.0
    """

    name: ClassVar[str] = "euclidean"
    is_euclidean: ClassVar[bool] = True

    def bind(self, data: Any) -> Identity:
        """Return the metric, which is the identity whatever the examples are."""
        return Identity()

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal regulariser: there are none."""
        return asdict(self)

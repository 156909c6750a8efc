"""The Euclidean norm: all weights are kept small alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Euclidean:
    """The Euclidean norm, |w|^2 = w.w.

    Examples
    --------
    >>> from maxmargin import MulticlassSVM
    >>> from maxmargin.regularizers import Euclidean
    >>> MulticlassSVM(regularizer=Euclidean()).regularizer
    Euclidean()
    """

    name: ClassVar[str] = "euclidean"

    def of(self, names: Sequence[str] | None, n_features: int) -> None:
        """Return None: every feature has the weight 1."""
        return

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal regulariser: there are none."""
        return asdict(self)

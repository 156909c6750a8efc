"""What a regulariser must offer."""

from __future__ import annotations

from typing import Any, Protocol


class Regularizer(Protocol):
    """A norm of the weights, before the examples are known."""

    #: Name in the registry.
    name: str
    #: Whether |w|^2 is w.w, as solvers that need "euclidean" take it to be.
    is_euclidean: bool

    def bind(self, data: Any) -> Any:
        """Return what `Problem` is given: of a type that `times_metric` is implemented for."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal regulariser."""
        ...

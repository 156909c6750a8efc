"""What a regulariser must offer."""

from __future__ import annotations

from typing import Any, Protocol


class Regularizer(Protocol):
    """A norm of the weights, before the examples are known."""

    #: Name in the registry.
    name: str
    #: Whether |w|^2 is w.w, as solvers that need "euclidean" assume.
    is_euclidean: bool

    def bind(self, data: Any) -> Any:
        """Return the object for `Problem`; `times_metric` must be implemented for its type."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal regulariser."""
        ...

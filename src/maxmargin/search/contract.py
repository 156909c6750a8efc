"""What a search must offer, and checks of its parameters."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, Protocol


class Search(Protocol):
    """How the output of largest psi(h, g) is found.

    ``bind`` returns the object that passes read. For its type the generic functions ``find`` and
    ``search_room`` are implemented, and ``memory`` if the search remembers anything. If the object
    is a NamedTuple, the search can run compiled.
    """

    #: What the search is called, as ``search="..."``.
    name: str
    #: The oracles it calls: of "weighted", "k_best", "constrained", "profile" and "forbid".
    needs: frozenset[str]
    #: The surrogates it is for: "any", or "slack" for slack rescaling alone.
    surrogates: str
    #: Whether it looks for an output that violates more than a known slack, which only the n-slack
    #: cutting plane can tell it.
    needs_slack: bool
    #: Whether it finds the maximum, whatever the outputs are.
    is_exact: bool

    def bind(self, data: Any, cost: Any, surrogate: Any) -> Any:
        """Return the search over these examples; it may remember outputs of them."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal search."""
        ...


def check_at_least(search: str, name: str, number: Any, least: int) -> None:
    """Refuse a parameter that is no integer, or too small."""
    if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
        raise ValueError(f"{search}: {name} must be an integer >= {least}, got {number!r}.")


def check_tolerance(search: str, name: str, number: Any, least: float) -> None:
    """Refuse a tolerance that is no finite number, or too small."""
    if not isinstance(number, Real) or not least <= float(number) < math.inf:
        raise ValueError(f"{search}: {name} must be a number >= {least:g}, got {number!r}.")

"""One call of the oracle, and the bound that it gives: (h + 1) g <= ((h + 1 + g) / 2)^2."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    find,
    implements,
    margin_error,
    maximize_bounded,
    output_cost,
    psi,
    search_room,
    shift,
)


@dataclass(frozen=True)
class OneCall:
    """Take the output of largest h + g for that of largest (h + 1) g; the bound tells how wrong."""

    name: ClassVar[str] = "one_call"
    needs: ClassVar[frozenset[str]] = frozenset({"weighted"})
    surrogates: ClassVar[str] = "slack"
    needs_slack: ClassVar[bool] = False
    is_exact: ClassVar[bool] = False

    def bind(self, data: Any, cost: Any, surrogate: Any) -> OneCallSearch:
        """Return the search over these examples."""
        return OneCallSearch(1.0)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal search (there are none)."""
        return asdict(self)


class OneCallSearch(NamedTuple):
    """The search as passes see it."""

    tilt: float


@implements(search_room, OneCallSearch)
def _search_room(search, problem):
    return np.zeros(0)


@implements(find, OneCallSearch)
def _find(search, problem, i, desk, outputs, at):
    data, cost = problem.data, problem.cost
    top = maximize_bounded(data, cost, i, desk.theta, desk.room, 1.0, search.tilt, outputs, at)
    desk.calls[0] += 1
    error = margin_error(data, i, desk.theta, outputs, at)
    h = error + shift(data, cost, i, outputs, at)
    value, slope, _ = psi(problem.surrogate, h, output_cost(data, cost, i, outputs, at))
    return value, slope, error, max(value, 0.25 * (top + 1.0) ** 2)

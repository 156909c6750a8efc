"""The profile search: the best h at every cost, all at once, then the best psi of these."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    find,
    implements,
    margin_error,
    order_value,
    output_cost,
    profile,
    profile_levels,
    profile_output,
    profile_room,
    psi,
    search_room,
    shift,
)


@dataclass(frozen=True)
class Profile:
    """Search over the best h of each cost level; exact for every psi that increases with h.

    The structure lists these h. Where outputs are many (chains, trees of labels), the levels of the
    cost must be equally spaced.

    Examples
    --------
    >>> from maxmargin import MulticlassSVM
    >>> from maxmargin.search import Profile
    >>> MulticlassSVM(surrogate="slack", search=Profile()).search
    Profile()
    """

    name: ClassVar[str] = "profile"
    needs: ClassVar[frozenset[str]] = frozenset({"profile"})
    surrogates: ClassVar[str] = "any"
    needs_slack: ClassVar[bool] = False
    is_exact: ClassVar[bool] = True

    def bind(self, data: Any, cost: Any, surrogate: Any) -> ProfileSearch:
        """Return the search over these examples."""
        return ProfileSearch(profile_levels(data, cost))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal search (there are none)."""
        return asdict(self)


class ProfileSearch(NamedTuple):
    """The profile search as passes see it."""

    n_levels: int


class ProfileSheet(NamedTuple):
    """Room for one profile."""

    h: Any
    g: Any
    own: Any


@implements(search_room, ProfileSearch)
def _search_room(search, problem):
    data, cost = problem.view.data, problem.view.cost
    h, g = np.zeros((2, search.n_levels))
    return ProfileSheet(h, g, profile_room(data, cost))


@implements(find, ProfileSearch)
def _find(search, problem, i, desk, outputs, at):
    data, cost, sheet = problem.data, problem.cost, desk.search_room
    n_levels = profile(data, cost, i, desk.theta, desk.room, sheet.own, sheet.h, sheet.g)
    desk.calls[0] += 1
    best = 0
    top = -np.inf
    for level in range(n_levels):
        if sheet.h[level] > -np.inf:
            value = order_value(problem.surrogate, sheet.h[level], sheet.g[level])
            if value > top:
                top = value
                best = level
    profile_output(data, cost, i, desk.theta, desk.room, sheet.own, best, outputs, at)
    error = margin_error(data, i, desk.theta, outputs, at)
    h = error + shift(data, cost, i, outputs, at)
    value, slope, _ = psi(problem.surrogate, h, output_cost(data, cost, i, outputs, at))
    return value, slope, error, value

"""The direct search: where psi is h + tilt * g, one call of the oracle is the answer."""

from __future__ import annotations

from typing import NamedTuple

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


class Direct(NamedTuple):
    """Search by one call of the oracle; exact for surrogates that are linear in h and in g.

    The oracle maximises score_scale * h + cost_scale * g.
    """

    score_scale: float
    cost_scale: float


@implements(search_room, Direct)
def _search_room(search, problem):
    return np.zeros(0)


@implements(find, Direct)
def _find(search, problem, i, desk, outputs, at):
    data, cost = problem.data, problem.cost
    top = maximize_bounded(
        data, cost, i, desk.theta, desk.room, search.score_scale, search.cost_scale, outputs, at
    )
    desk.calls[0] += 1
    error = margin_error(data, i, desk.theta, outputs, at)
    g = output_cost(data, cost, i, outputs, at)
    h = error + shift(data, cost, i, outputs, at)
    value, slope, _ = psi(problem.surrogate, h, g)
    # An exact oracle returns a `top` that differs from its output's value by rounding alone: that
    # difference must not raise the bound above psi.
    slack = top - (search.score_scale * h + search.cost_scale * g)
    return value, slope, error, value + (slack if slack > 1e-12 * (1.0 + abs(top)) else 0.0)

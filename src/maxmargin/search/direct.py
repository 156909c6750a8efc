"""The direct search: where psi is h + tilt * g, one call of the oracle is the answer."""

from __future__ import annotations

from typing import NamedTuple

from maxmargin.generic import find, implements, margin_error, maximize, output_cost, psi


class Direct(NamedTuple):
    """One call of the oracle: exact for surrogates linear in h and in g."""

    score_scale: float
    cost_scale: float


@implements(find, Direct)
def _find(search, problem, i, theta, outputs, at):
    data, cost = problem.data, problem.cost
    maximize(data, cost, i, theta, search.score_scale, search.cost_scale, outputs, at)
    h = margin_error(data, i, theta, outputs, at)
    g = output_cost(data, cost, i, outputs, at)
    value, slope, _ = psi(problem.surrogate, h, g)
    return value, slope, h

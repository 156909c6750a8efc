"""From costs to scores: what is forbidden by an upper bound becomes -inf."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.graphs.parts import Parts

__all__ = ["add_costs"]


def add_costs(
    parts: Parts,
    functions: Sequence[tuple[tuple[int, ...], NDArray[np.float64]]],
    bound: float = math.inf,
) -> None:
    """Add tables of costs to a model, as negative scores.

    A labelling is a solution if its cost is below the bound. A cost c of function f is forbidden if
    no solution can contain it: if c plus the least that all other functions can take away is not
    below the bound. Where no cost is negative that is c >= bound.

    Parameters
    ----------
    parts : Parts
    functions : sequence of (nodes, costs)
        Costs are finite, or inf where forbidden.
    bound : float, default inf
    """
    least = [min(0.0, float(costs.min())) if costs.size else 0.0 for _, costs in functions]
    total = math.fsum(least)
    for (nodes, costs), own in zip(functions, least, strict=True):
        others = total - own if total < 0.0 else 0.0
        parts.add(nodes, np.where(costs + others >= bound, -np.inf, 0.0 - costs))

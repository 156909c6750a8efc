"""Costs whose values are equally spaced: counted in steps of one size."""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.contract import generic_with_default, implements
from maxmargin.costs.tables import PartCost, SetEdgeCost, SwitchCost, WholeCost

#: The smallest step, as a share of the smallest price: of the prices 2 and 3 the step is 1.
FINEST = 12


def steps_of(prices: np.ndarray) -> tuple[np.ndarray, float]:
    """Return prices as whole numbers of steps, and the size of a step.

    Raises ValueError where there is no such size, or only one smaller than a twelfth of the
    smallest price.

    Examples
    --------
    >>> import numpy as np
    >>> steps_of(np.array([0.0, 0.5, 0.75]))
    (array([0, 2, 3], dtype=int32), 0.25)
    """
    prices = np.asarray(prices, dtype=np.float64)
    positive = np.unique(prices[prices > 0.0])
    if len(positive) == 0:
        return np.zeros(prices.shape, dtype=np.int32), 1.0
    for parts in range(1, FINEST + 1):
        unit = positive[0] / parts
        counts = np.rint(positive / unit)
        if (np.abs(positive / unit - counts) <= 1e-9 * counts).all():
            return np.rint(prices / unit).astype(np.int32), float(unit)
    raise ValueError(
        f"the prices {', '.join(f'{price:g}' for price in positive[:5])} are no multiples of one "
        "step, so that the cost has no equally spaced levels."
    )


@generic_with_default
def step_of(cost):
    """Return the step of each example, as `cost_step` says; None if there is none. (Python only.)

    The default is for costs that have no step.
    """
    return None


@implements(step_of, PartCost)
def _step_of_positions(cost):
    return _common_step(cost.matrix, cost.scale)


@implements(step_of, SwitchCost)
def _step_of_switches(cost):
    if len(cost.shift):
        return None  # searches count steps from a truth of cost 0, but here its cost is `base`
    return _common_step(cost.price, cost.scale)


@implements(step_of, SetEdgeCost)
def _step_of_edges(cost):
    return _common_step(np.concatenate([cost.root, cost.edge]), cost.scale)


@implements(step_of, WholeCost)
def _step_of_whole(cost):
    return cost.price  # costs are 0 or this


def _common_step(prices: Any, scale: Any) -> Any:
    try:
        return scale * steps_of(prices)[1]
    except ValueError:
        return None

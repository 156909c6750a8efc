"""Cost functions of two variables that WCSP and CFN files give by a rule, as tables of costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["ARITHMETIC", "arithmetic_costs"]

_Grid = NDArray[np.float64]


def _soft(excess: _Grid, delta: float) -> _Grid:
    """Return what exceeds 0, as a cost; beyond delta it is forbidden."""
    return np.where(excess > delta, np.inf, np.maximum(excess, 0.0))


def _disjunction(x: _Grid, y: _Grid, cst_x: float, cst_y: float, weight: float) -> _Grid:
    return np.where((x >= y + cst_y) | (y >= x + cst_x), 0.0, weight)


def _special_disjunction(
    x: _Grid,
    y: _Grid,
    cst_x: float,
    cst_y: float,
    max_x: float,
    max_y: float,
    weight_x: float,
    weight_y: float,
) -> _Grid:
    apart = (x >= y + cst_y) | (y >= x + cst_x)
    allowed = (x <= max_x) & (y <= max_y) & ((x >= max_x) | (y >= max_y) | apart)
    costs = np.where(x == max_x, weight_x, 0.0) + np.where(y == max_y, weight_y, 0.0)
    return np.where(allowed, costs, np.inf)


#: How many parameters each rule has, and the costs that it gives to labels x and y.
ARITHMETIC: dict[str, tuple[int, Callable[..., _Grid]]] = {
    ">=": (2, lambda x, y, cst, delta: _soft(y + cst - x, delta)),
    ">": (2, lambda x, y, cst, delta: _soft(y + 1 + cst - x, delta)),
    "<=": (2, lambda x, y, cst, delta: _soft(x - cst - y, delta)),
    "<": (2, lambda x, y, cst, delta: _soft(x - cst + 1 - y, delta)),
    "=": (2, lambda x, y, cst, delta: _soft(np.abs(y + cst - x), delta)),
    "disj": (3, _disjunction),
    "sdisj": (6, _special_disjunction),
}


def arithmetic_costs(
    rule: str, shape: tuple[int, ...], parameters: Sequence[float]
) -> NDArray[np.float64]:
    """Return the table of costs of a rule over two variables; inf where it forbids.

    Examples
    --------
    >>> arithmetic_costs(">=", (3, 2), [0, 1])  # x >= y, or 1 less
    array([[0., 1.],
           [0., 0.],
           [0., 0.]])
    """
    x, y = np.indices(shape).astype(np.float64)
    return ARITHMETIC[rule][1](x, y, *parameters)

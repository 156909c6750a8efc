"""The two criteria of the surrogate `MicroF1`, as a table of prices and shifts."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.contract import TrueParts, true_parts
from maxmargin.costs.tables import F1Cost, SwitchCost


def micro_f1_cost(data: Any) -> SwitchCost:
    """Return the criteria of the surrogate `MicroF1` for label sets.

    g = -(|y| + |y_i|): -2 |y_i| at the truth, 1 more for a label that is missing, 1 less for one
    too many. The shift, which h has besides the margin error, is the number of wrong labels.

    Examples
    --------
    >>> from maxmargin.structures import labels_data
    >>> cost = micro_f1_cost(labels_data(np.eye(2), [[1, 0], [1, 1]]))
    >>> cost.base, cost.price[0]
    (array([-2., -4.]), array([-1.,  1.]))
    """
    return _criteria(true_parts(data))


def _criteria(parts: TrueParts) -> SwitchCost:
    n, m = len(parts.lengths), int(parts.lengths[0])
    price = np.repeat([[-1.0, 1.0]], m, axis=0)
    return SwitchCost(price, np.ones((m, 2)), -2.0 * parts.sizes[:, 1], np.ones(n))


def micro_f1_criteria(surrogate: Any, data: Any, tables: Any) -> SwitchCost:
    """Return the same, in place of tables that it stands for; refuse others.

    The criteria count wrong labels by themselves and do not read the cost. So only costs that they
    can stand for are accepted: 1 for each wrong label, or 1 - F1.
    """
    parts = true_parts(data)
    if parts.kind not in ("switches", "nodes"):
        raise ValueError(
            f"surrogate={surrogate!r} is for label sets (MultilabelSVM) only, not for "
            f"{type(data).__name__}."
        )
    counts = isinstance(tables, SwitchCost) and all(
        (numbers == 1.0).all() for numbers in (tables.price, tables.scale)
    )
    if not (counts or isinstance(tables, F1Cost)):
        raise ValueError(
            f"surrogate={surrogate!r} has a cost of its own, 1 - F1, so that another would be "
            "passed over: leave cost at 'hamming', or choose another surrogate."
        )
    return _criteria(parts)

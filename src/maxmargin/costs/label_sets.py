"""Task losses of label sets, as compiled code sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.costs.f1 import InstanceF1
from maxmargin.costs.hamming import Hamming, position_scale
from maxmargin.costs.tables import F1Cost, LabelCost, MicroF1Cost, WholeCost
from maxmargin.costs.weighted import ClassWeighted
from maxmargin.costs.zero_one import ZeroOne


def label_tables(
    cost: Any, classes: Sequence[Any] | np.ndarray, labels: np.ndarray
) -> LabelCost | WholeCost | F1Cost:
    """Return a task loss of label sets as compiled code reads it.

    Parameters
    ----------
    cost : Hamming, ZeroOne, ClassWeighted or InstanceF1
        The mean of `Hamming` is that over the known labels of an example. `ClassWeighted` has a
        weight a label, paid for it wherever it is wrong, on or off.
    classes : sequence of length m, the labels
    labels : int array of shape (n, m): 1 on, 0 off, -1 unknown

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([[1, 0, 1], [0, 1, -1]])
    >>> label_tables(Hamming("mean"), ["a", "b", "c"], truth).scale
    array([0.33333333, 0.5       ])
    >>> label_tables(ClassWeighted({"b": 3.0}), ["a", "b", "c"], truth).price[1]
    array([3., 3.])
    """
    n, m = labels.shape
    if len(classes) != m:
        raise ValueError(f"classes names {len(classes)} labels but Y has {m} columns.")
    sizes = (labels >= 0).sum(axis=1)
    if isinstance(cost, ZeroOne):
        return WholeCost(np.ones(n))
    if isinstance(cost, InstanceF1):
        _check_not_empty(labels)
        return F1Cost(np.ones(n))
    if isinstance(cost, Hamming):
        return LabelCost(np.ones((m, 2)), position_scale(cost.average, sizes))
    if isinstance(cost, ClassWeighted):
        cost.tables(np.asarray(classes, dtype=object), sizes)  # refuses what is no class
        weight = np.array([float(cost.weights.get(label, 1.0)) for label in classes])
        price = np.repeat(weight[:, None], 2, axis=1)
        return LabelCost(price, position_scale(cost.average, sizes))
    raise ValueError(
        f"{type(cost).__name__} is no cost of label sets. Costs that fit: hamming, zero_one, "
        "class_weighted, f1."
    )


def micro_f1_cost(data: Any, cost: Any = None) -> MicroF1Cost:
    """Return the criteria of the surrogate `MicroF1` for label sets.

    Parameters
    ----------
    data : label sets, as `maxmargin.structures.labels_data` makes them
    cost : None, Hamming or InstanceF1
        `MicroF1` counts wrong labels by itself, so there is nothing for a cost to say. Others
        would be passed over in silence, and are refused.
    """
    if cost is not None and not isinstance(cost, Hamming | InstanceF1):
        raise ValueError(
            f"The surrogate MicroF1 has its own cost, 1 - F1 of the label set, but cost is "
            f"{type(cost).__name__}. Leave cost at 'hamming', or choose another surrogate."
        )
    return MicroF1Cost(np.ones(len(data.labels)))


def _check_not_empty(labels: np.ndarray) -> None:
    empty = np.flatnonzero((labels != 1).all(axis=1))
    if len(empty):
        raise ValueError(
            f"InstanceF1: sample {empty[0]} has an empty truth under F1: it has no label, so every "
            f"output but the empty set costs the same ({len(empty)} such samples). Leave them out, "
            "or choose another cost."
        )

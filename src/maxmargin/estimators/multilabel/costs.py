"""What predicted label sets cost, of all samples at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin import metrics
from maxmargin.costs import InstanceF1, LabelCost, label_tables

#: What label sets can be scored by, by name; larger is better.
SET_METRICS: dict[str, Callable[..., float]] = {
    "example_accuracy": metrics.example_accuracy,
    "example_f1": metrics.example_f1,
    "macro_f1": metrics.macro_f1,
    "micro_f1": metrics.micro_f1,
    "subset_accuracy": metrics.subset_accuracy,
}


def set_costs(
    cost: Any, classes: np.ndarray, truth: np.ndarray, cells: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cost of every label set, and the largest cost that one could have.

    Parameters
    ----------
    cost : a task loss of label sets
    classes : array of shape (m,), the labels
    truth : int array of shape (n, m): 1 on, 0 off, -1 unknown, which counts for nothing
    cells : int array of shape (n, m), of 0 and 1

    Examples
    --------
    >>> from maxmargin.costs import Hamming
    >>> truth, cells = np.array([[1, 0, -1], [1, 1, 0]]), np.array([[1, 1, 1], [1, 1, 0]])
    >>> set_costs(Hamming(), np.arange(3), truth, cells)
    (array([1., 0.]), array([2., 3.]))
    >>> set_costs(InstanceF1(), np.arange(3), truth, cells)[0].round(3)
    array([0.333, 0.   ])
    """
    known = truth >= 0
    wrong = known & (cells != truth)
    if isinstance(cost, InstanceF1):
        # Unlike in training, an empty truth is fine: the empty set costs 0, any other 1.
        on = (truth == 1).sum(axis=1) + (known & (cells == 1)).sum(axis=1)
        return wrong.sum(axis=1) / np.maximum(on, 1), np.ones(len(truth))
    tables = label_tables(cost, classes, truth)
    if not isinstance(tables, LabelCost):
        return tables.price * wrong.any(axis=1), np.asarray(tables.price)
    price = np.where(truth == 1, tables.price[:, 1], tables.price[:, 0])
    return tables.scale * (price * wrong).sum(axis=1), tables.scale * (price * known).sum(axis=1)

"""Label sets: costs with equally spaced levels. A profile has the best output of each level."""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.structures.labels.costs import label_gains


def has_equal_prices(data: Any, cost: Any) -> bool:
    """Tell whether all known labels of an example cost the same, for every example."""
    known = data.labels >= 0
    price = np.where(data.labels == 1, cost.price[:, 1], cost.price[:, 0])
    high = np.where(known, price, -np.inf).max(axis=1)
    low = np.where(known, price, np.inf).min(axis=1)
    return bool((high <= low).all())


def counts_labels(cost: Any) -> bool:
    """Tell whether the cost of an output depends only on how many labels are on."""
    first = cost.price[0, 0]
    on, off = (cost.price[:, 0] == first).all(), (cost.price[:, 1] == -first).all()
    return bool(first != 0.0 and on and off)


def has_levels(data: Any, cost: Any) -> bool:
    """Tell whether the costs of label sets are equally spaced."""
    return counts_labels(cost) or has_equal_prices(data, cost)


def check_has_levels(data: Any, cost: Any) -> None:
    """Refuse costs whose levels are not equally spaced."""
    if not has_levels(data, cost):
        raise ValueError(
            "A profile needs costs with equally spaced levels, but here some labels cost more than "
            "others. Costs that have it: hamming, zero_one; or search='hull'."
        )


@jitable
def write_reference(data, i, from_empty, reference):
    """Write the output of level 0, from which a level counts the labels that differ.

    It is the empty set if `counts_labels` holds for the cost, else the truth. Labels that are not
    known are -1.
    """
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        reference[j] = 0 if from_empty and truth >= 0 else truth


@jitable
def write_level_costs(data, cost, i, from_empty, n_levels, g):
    """Write to g the cost of the outputs of each level."""
    first, step = cost.base[i], 0.0
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        if truth >= 0:
            step = cost.scale[i] * cost.price[j, truth]
            if from_empty:
                step = label_gains(cost, i, j, truth)[1]
                first -= step if truth == 1 else 0.0
    for level in range(n_levels):
        g[level] = first + level * step


def most_counts(data: Any) -> int:
    """Return the largest number of pairs (true labels on, false labels on) of any example."""
    n_true = (data.labels == 1).sum(axis=1)
    n_false = (data.labels == 0).sum(axis=1)
    return int(((n_true + 1) * (n_false + 1)).max(initial=1))

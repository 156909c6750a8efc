"""How good predicted places in a hierarchy are: functions of true and predicted closed sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import metrics

__all__ = ["HIERARCHY_METRICS", "weighted_score"]


def _negative_distance(truth: Any, guess: Any) -> float:
    return -metrics.tree_distance(truth, guess)


#: What places in a hierarchy can be scored by, by name; larger is better.
HIERARCHY_METRICS: dict[str, Callable[[Any, Any], float]] = {
    "exact_sets": metrics.exact_sets,
    "hierarchical_f1": metrics.hierarchical_f1,
    "node_macro_f1": metrics.node_macro_f1,
    "-tree_distance": _negative_distance,
}


def weighted_score(
    has_one: bool, truth: sp.csr_matrix, guess: sp.csr_matrix, weight: np.ndarray
) -> float:
    """Return the accuracy where outputs are one path each, else micro-F1 over nodes.

    Examples
    --------
    >>> truth, guess = sp.csr_matrix([[1, 1], [1, 0]]), sp.csr_matrix([[1, 1], [1, 1]])
    >>> weighted_score(True, truth, guess, np.array([1.0, 3.0]))
    0.25
    >>> weighted_score(False, truth, guess, np.array([1.0, 1.0]))
    0.8571428571428571
    """
    both = np.asarray(truth.multiply(guess).sum(axis=1)).ravel()
    total = np.asarray(truth.sum(axis=1) + guess.sum(axis=1)).ravel()
    if has_one:
        return float(np.average(total == 2 * both, weights=weight))
    mass = float(weight @ total)
    return float(2.0 * (weight @ both) / mass) if mass > 0 else 1.0

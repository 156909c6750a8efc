"""How good rankings by score are, in the measure that a cost stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast

import numpy as np

from maxmargin import metrics
from maxmargin.costs import AUC, NDCG, AveragePrecision, NDCGAtK, NDCGPairs, PrecisionAtK


def measure_of(cost: Any, relevant: float) -> Callable[[np.ndarray, np.ndarray], float]:
    """Return the function (grades, scores) -> measure of one query, nan where there is none.

    The measure is that of `maxmargin.metrics`, which takes tied scores as scikit-learn does. Under
    a cost of one's own it is 1 - cost, with tied documents in the order given.
    """
    if isinstance(cost, AveragePrecision):
        return lambda grades, scores: metrics.average_precision(grades, scores, relevant=relevant)
    if isinstance(cost, AUC):
        return lambda grades, scores: metrics.auc(grades >= relevant, scores)
    if isinstance(cost, PrecisionAtK):
        return lambda grades, scores: metrics.precision_at_k(
            grades, scores, cost.k, relevant=relevant
        )
    if isinstance(cost, (NDCG, NDCGAtK, NDCGPairs)):
        gains = cast(Literal["exponential", "linear"], cost.gain)
        k = cost.k if isinstance(cost, NDCGAtK) else None
        return lambda grades, scores: metrics.ndcg(grades, scores, k, gains=gains)

    def one_less_cost(grades: np.ndarray, scores: np.ndarray) -> float:
        is_relevant = grades >= relevant
        if is_relevant.all() or not is_relevant.any():
            return np.nan
        return 1.0 - cost.value(is_relevant, np.argsort(-scores, kind="stable"))

    return one_less_cost

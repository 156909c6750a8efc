"""How good rankings by score are, in the measure that a cost stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast

import numpy as np

from maxmargin import metrics
from maxmargin.costs import AUC, NDCG, AveragePrecision, NDCGAtK, PrecisionAtK

#: Measures of rankings by name; of those with a k, "@" and the k follow.
_MEASURES: dict[str, type] = {"average_precision": AveragePrecision, "auc": AUC, "ndcg": NDCG}
_MEASURES_AT: dict[str, type] = {"ndcg": NDCGAtK, "precision": PrecisionAtK}
MEASURE_NAMES = (*_MEASURES, *(f"{name}@k" for name in _MEASURES_AT))


def measure_name(cost: Any) -> str:
    """Return the name of the measure that a cost stands for.

    Examples
    --------
    >>> from maxmargin.costs import NDCGPairs
    >>> measure_name(NDCG()), measure_name(NDCGPairs()), measure_name(PrecisionAtK(5))
    ('ndcg', 'ndcg', 'precision@5')
    """
    return cost.measure or "1 - cost"


def cost_called(name: str, cost: Any) -> Any:
    """Return the cost whose measure has a name, with the gains of another; None: there is none.

    Examples
    --------
    >>> cost_called("ndcg@3", NDCG(gain="linear"))
    NDCGAtK(k=3, gain='linear')
    """
    stem, at, k = name.partition("@")
    kind = (_MEASURES_AT if at else _MEASURES).get(stem)
    if kind is None or (at and not (k.isdecimal() and int(k) > 0)):
        return None
    given = {"k": int(k)} if at else {}
    if stem == "ndcg":
        given["gain"] = getattr(cost, "gain", kind().gain)
    return kind(**given)


def measure_of(cost: Any, relevant: float) -> Callable[[np.ndarray, np.ndarray], float]:
    """Return the function (grades, scores) -> measure of one query, nan where there is none.

    The measure is that of `maxmargin.metrics`, which takes tied scores as scikit-learn does. Under
    a cost of one's own it is 1 - cost, with tied documents in the order given.
    """
    stem, _, k = (cost.measure or "").partition("@")
    if stem == "average_precision":
        return lambda grades, scores: metrics.average_precision(grades, scores, relevant=relevant)
    if stem == "auc":
        return lambda grades, scores: metrics.auc(grades >= relevant, scores)
    if stem == "precision":
        return lambda grades, scores: metrics.precision_at_k(
            grades, scores, int(k), relevant=relevant
        )
    if stem == "ndcg":
        gains = cast(Literal["exponential", "linear"], cost.gain)
        first = int(k) if k else None
        return lambda grades, scores: metrics.ndcg(grades, scores, first, gains=gains)

    def one_less_cost(grades: np.ndarray, scores: np.ndarray) -> float:
        is_relevant = grades >= relevant
        if is_relevant.all() or not is_relevant.any():
            return np.nan
        return 1.0 - cost.value(is_relevant, np.argsort(-scores, kind="stable"))

    return one_less_cost

"""How good rankings by score are, in the measure that a cost stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast

import numpy as np

from maxmargin import metrics
from maxmargin.costs import (
    AUC,
    COSTS,
    NDCG,
    AveragePrecision,
    NDCGAtK,
    PrecisionAtK,
)
from maxmargin.inputs.queries import Queries, read_grades, read_weights
from maxmargin.inputs.request import Request

#: Measures of rankings by name; of those with a k, "@" and the k follow.
_MEASURES: dict[str, type] = {"average_precision": AveragePrecision, "auc": AUC, "ndcg": NDCG}
_MEASURES_AT: dict[str, type] = {"ndcg": NDCGAtK, "precision": PrecisionAtK}
#: What others call them.
_OTHER_NAMES = {
    "map": "average_precision",
    "mean_average_precision": "average_precision",
    "roc_auc": "auc",
    "p": "precision",
}
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


def cost_meant(name: str) -> tuple[str, str] | None:
    """Return the cost that the name of a measure may mean, in Python and as options; None: none.

    Examples
    --------
    >>> cost_meant("ndcg@5"), cost_meant("MAP"), cost_meant("hamming")
    (('NDCGAtK(k=5)', '--cost ndcg_at_k --k 5'), ("'ap'", '--cost ap'), None)
    """
    stem, at, k = name.lower().partition("@")
    cost = cost_called(f"{_OTHER_NAMES.get(stem, stem)}{at}{k}", None)
    if cost is None:
        return None
    called = next(own for own, kind in COSTS.items() if kind is type(cost))
    if not at:
        return repr(called), f"--cost {called}"
    return f"{type(cost).__name__}(k={cost.k})", f"--cost {called} --k {cost.k}"


def measure_of(cost: Any, threshold: float) -> Callable[[np.ndarray, np.ndarray], float]:
    """Return the function (grades, scores) -> measure of one query, nan where there is none.

    The measure is that of `maxmargin.metrics`, which takes tied scores as scikit-learn does. Under
    a cost of one's own it is 1 - cost, with tied documents in the order given.
    """
    stem, _, k = (cost.measure or "").partition("@")
    if stem == "average_precision":
        return lambda grades, scores: metrics.average_precision(grades, scores, relevant=threshold)
    if stem == "auc":
        return lambda grades, scores: metrics.auc(grades >= threshold, scores)
    if stem == "precision":
        return lambda grades, scores: metrics.precision_at_k(
            grades, scores, int(k), relevant=threshold
        )
    if stem == "ndcg":
        gains = cast(Literal["exponential", "linear"], cost.gain)
        first = int(k) if k else None
        return lambda grades, scores: metrics.ndcg(grades, scores, first, gains=gains)

    def one_less_cost(grades: np.ndarray, scores: np.ndarray) -> float:
        is_relevant = grades >= threshold
        if is_relevant.all() or not is_relevant.any():
            return np.nan
        return 1.0 - cost.value(is_relevant, np.argsort(-scores, kind="stable"))

    return one_less_cost


def query_judge(
    cost: Any, threshold: float, queries: Queries, request: Request
) -> Callable[[np.ndarray], float]:
    """Return the function from the scores of all rows to the mean measure of the queries."""
    grades = read_grades(request.y, queries)
    weight = read_weights(request.sample_weight, queries)
    measure = measure_of(cost, threshold)
    everyone = [queries.members(q) for q in range(len(queries))]

    def judge(scores: np.ndarray) -> float:
        values = np.array([measure(grades[own], scores[own]) for own in everyone])
        known = np.isfinite(values) & (weight > 0.0)
        if not known.any():
            raise ValueError(
                f"Nothing to score in {count_queries(len(queries))}: none has both relevant "
                "documents and others."
            )
        return float(np.average(values[known], weights=weight[known]))

    return judge


def count_queries(n: int) -> str:
    """Return a number of queries in words."""
    return "1 query" if n == 1 else f"{n} queries"

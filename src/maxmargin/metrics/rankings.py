"""Scores for rankings: average precision, NDCG, AUC and precision in the first k documents.

A query has documents with grades, 0 or more, and they are ranked by falling score. Documents with
equal scores have no order of their own: the scores here never depend on the order in which they
were given (but for `ndcg` with ``ignore_ties=True``). Where scikit-learn has a score, ties are
treated as there. A score that is 0/0 for a query, such as the AUC of a single grade, is nan.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin.metrics import _ranked

__all__ = [
    "RankingReport",
    "auc",
    "average_precision",
    "ndcg",
    "precision_at_k",
    "ranking_report",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Gains: TypeAlias = Literal["exponential", "linear"]


def average_precision(grades: Any, scores: Any, *, relevant: float = 1) -> float:
    """Mean over the relevant documents of the precision down to each, for one query.

    Documents with equal scores are taken together, as ``average_precision_score`` of scikit-learn
    does: the precision of each is that down to the last of them.

    Parameters
    ----------
    grades : array of shape (n_documents,), 0 or more
    scores : array of shape (n_documents,)
        A higher score comes first.
    relevant : float, default 1
        The grade from which a document is relevant.

    Returns
    -------
    float
        Between 0 and 1; nan without a relevant document (scikit-learn: 0).

    Examples
    --------
    >>> average_precision([2, 0, 1, 0], [0.9, 0.8, 0.7, 0.6])
    0.8333333333333333
    >>> average_precision([2, 0, 1, 0], [0.9, 0.8, 0.7, 0.6], relevant=2)
    1.0
    >>> average_precision([1, 0, 0, 0], [0.9, 0.9, 0.7, 0.6])
    0.5
    """
    grades, scores, query = _one_query(grades, scores)
    is_relevant = grades >= _check_relevant(relevant)
    return float(_ranked.average_precision(_ranked.rank(scores, query), is_relevant)[0])


def ndcg(
    grades: Any,
    scores: Any,
    k: int | None = None,
    *,
    gains: Gains = "exponential",
    ignore_ties: bool = False,
) -> float:
    """Discounted gains of the ranking over those of the best ranking, for one query.

    The sum over the first k documents of ``gain / log2(1 + place)``, places from 1, divided by the
    same sum for the documents in the order of their grades.

    Parameters
    ----------
    grades, scores
        As in :func:`average_precision`.
    k : int or None, default None
        How many documents count; None: all.
    gains : {"exponential", "linear"}, default "exponential"
        "exponential": ``2**grade - 1``. "linear": the grade, as ``ndcg_score`` of scikit-learn
        takes what it is given.
    ignore_ties : bool, default False
        False: the mean over all orders of documents with equal scores, as in scikit-learn. True:
        they stand in the order given; scikit-learn then leaves their order open.

    Returns
    -------
    float
        Between 0 and 1; nan without a grade above 0 (scikit-learn: 0).

    Examples
    --------
    >>> ndcg([2, 0, 1], [3.0, 2.0, 1.0])
    0.9639404333166532
    >>> ndcg([2, 0, 1], [3.0, 2.0, 1.0], k=1)
    1.0
    >>> ndcg([0, 1], [5.0, 5.0], k=1), ndcg([0, 1], [5.0, 5.0], k=1, ignore_ties=True)
    (0.5, 0.0)
    """
    grades, scores, query = _one_query(grades, scores)
    cut = len(grades) if k is None else _check_k(k)
    ranked = _ranked.rank(scores, query, ignore_ties)
    return float(_ranked.ndcg(ranked, _gains(grades, gains), query, [cut])[0][0])


def auc(grades: Any, scores: Any) -> float:
    """Share of the pairs of documents with different grades that stand in their order.

    A pair with equal scores counts half. For two grades this is the area under the curve of
    ``roc_auc_score`` of scikit-learn.

    Parameters
    ----------
    grades, scores
        As in :func:`average_precision`.

    Returns
    -------
    float
        Between 0 and 1; nan where all grades are equal.

    Examples
    --------
    >>> auc([2, 0, 1], [3.0, 2.0, 1.0])
    0.6666666666666666
    >>> auc([1, 0, 0], [3.0, 3.0, 1.0])
    0.75
    """
    grades, scores, query = _one_query(grades, scores)
    return float(_ranked.auc(grades, scores, query, 1)[0])


def precision_at_k(grades: Any, scores: Any, k: int, *, relevant: float = 1) -> float:
    """Share of relevant documents among the first k, for one query.

    Where documents with equal scores stand on both sides of the cut, the mean over all their
    orders. A query of fewer than k documents is still divided by k.

    Parameters
    ----------
    grades, scores, relevant
        As in :func:`average_precision`.
    k : int

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> precision_at_k([2, 0, 1], [3.0, 2.0, 1.0], k=2)
    0.5
    >>> precision_at_k([2, 0, 1], [3.0, 1.0, 1.0], k=2)
    0.75
    """
    grades, scores, query = _one_query(grades, scores)
    is_relevant = grades >= _check_relevant(relevant)
    return float(_ranked.precision(_ranked.rank(scores, query), is_relevant, [_check_k(k)])[0][0])


@dataclass(frozen=True)
class RankingReport:
    """Scores of every query, and their means over the queries.

    Attributes
    ----------
    qid : ndarray of shape (n_queries,)
        In the order in which the queries first occur.
    n_documents, n_relevant : ndarray of int64, shape (n_queries,)
    scores : dict of str to ndarray of shape (n_queries,)
        "average_precision", "auc", "ndcg", and "ndcg@k" and "precision@k" for every k; nan where a
        query has no such score.
    means : dict of str to float
        Of each score. A query that has none is left out, or counts `zero_division`; nan where all
        are left out.
    n_undefined : dict of str to int
        How many queries do not have the score.
    """

    qid: NDArray[Any]
    n_documents: Ints = field(repr=False)
    n_relevant: Ints = field(repr=False)
    scores: dict[str, Floats] = field(repr=False)
    means: dict[str, float]
    n_undefined: dict[str, int]

    def undefined(self, name: str) -> NDArray[Any]:
        """The queries that do not have a score."""
        if name not in self.scores:
            raise ValueError(f"name={name!r} is unknown. There are: {', '.join(self.scores)}.")
        return self.qid[np.isnan(self.scores[name])]


def ranking_report(
    grades: Any,
    scores: Any,
    qid: Any,
    k: int | Iterable[int] = (1, 3, 5, 10),
    *,
    relevant: float = 1,
    gains: Gains = "exponential",
    zero_division: float = np.nan,
) -> RankingReport:
    """All scores of this module for many queries, and their means.

    Parameters
    ----------
    grades, scores : arrays of shape (n_documents,)
        As in :func:`average_precision`.
    qid : array of shape (n_documents,)
        The query of each document, numbers or strings, in any order.
    k : int or several, default (1, 3, 5, 10)
        For precision@k and NDCG@k.
    relevant : float, default 1
        The grade from which a document is relevant, for average precision and precision@k.
    gains : {"exponential", "linear"}, default "exponential"
        As in :func:`ndcg`.
    zero_division : {0, 1, nan}, default nan
        What a query counts in the mean of a score that it does not have: average precision without
        a relevant document, NDCG without a grade above 0, AUC with a single grade. nan: it is left
        out.

    Returns
    -------
    RankingReport

    Examples
    --------
    >>> report = ranking_report([2, 0, 1, 0, 0], [3, 2, 1, 2, 1], [7, 7, 7, 9, 9], k=1)
    >>> report.qid, report.scores["auc"]
    (array([7, 9]), array([0.66666667,        nan]))
    >>> {name: round(mean, 3) for name, mean in report.means.items()}
    {'average_precision': 0.833, 'auc': 0.667, 'ndcg': 0.964, 'ndcg@1': 1.0, 'precision@1': 0.5}
    >>> report.n_undefined["auc"], report.undefined("auc")
    (1, array([9]))
    """
    if not (zero_division in (0, 1) or np.isnan(zero_division)):
        raise ValueError(f"zero_division must be 0, 1 or nan, got {zero_division}.")
    cuts = [_check_k(each) for each in (k if isinstance(k, Iterable) else [k])]
    grades, scores = _check_pair(grades, scores)
    names, query = _check_queries(qid, len(grades))
    is_relevant = grades >= _check_relevant(relevant)
    ranked = _ranked.rank(scores, query)
    largest = len(grades)
    whole, *cut_ndcg = _ranked.ndcg(ranked, _gains(grades, gains), query, [largest, *cuts])
    table = {
        "average_precision": _ranked.average_precision(ranked, is_relevant),
        "auc": _ranked.auc(grades, scores, query, len(names)),
        "ndcg": whole,
    }
    table |= {f"ndcg@{cut}": values for cut, values in zip(cuts, cut_ndcg, strict=True)}
    precisions = _ranked.precision(ranked, is_relevant, cuts)
    table |= {f"precision@{cut}": values for cut, values in zip(cuts, precisions, strict=True)}
    return RankingReport(
        names,
        np.bincount(query),
        np.bincount(query[is_relevant], minlength=len(names)),
        table,
        {name: _mean(values, zero_division) for name, values in table.items()},
        {name: int(np.isnan(values).sum()) for name, values in table.items()},
    )


def _mean(values: Floats, zero_division: float) -> float:
    values = np.where(np.isnan(values), zero_division, values)
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")


# Checks ------------------------------------------------------------------------------------------


def _one_query(grades: Any, scores: Any) -> tuple[Floats, Floats, Ints]:
    grades, scores = _check_pair(grades, scores)
    return grades, scores, np.zeros(len(grades), dtype=np.int64)


def _check_pair(grades: Any, scores: Any) -> tuple[Floats, Floats]:
    checked = []
    for name, values in (("grades", grades), ("scores", scores)):
        array = np.asarray(values)
        if array.ndim != 1 or array.dtype.kind not in "biuf":
            raise ValueError(
                f"{name} must be numbers of shape (n_documents,), got {array.dtype} of shape "
                f"{array.shape}."
            )
        array = array.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(array))
        if len(bad):
            raise ValueError(f"{name}[{bad[0]}] is {array[bad[0]]}; expected a finite number.")
        checked.append(array)
    grades, scores = checked
    if len(grades) != len(scores):
        raise ValueError(f"grades has {len(grades)} documents but scores has {len(scores)}.")
    if len(grades) == 0:
        raise ValueError("grades holds no document.")
    bad = np.flatnonzero(grades < 0)
    if len(bad):
        raise ValueError(f"grades[{bad[0]}] is {grades[bad[0]]}; a grade is 0 or more.")
    return grades, scores


def _check_queries(qid: Any, n_documents: int) -> tuple[NDArray[Any], Ints]:
    qid = np.asarray(qid)
    if qid.shape != (n_documents,):
        raise ValueError(f"qid must have the shape of grades, ({n_documents},), got {qid.shape}.")
    return _ranked.number_queries(qid)


def _check_k(k: Any) -> int:
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1, got {k!r}.")
    return int(k)


def _check_relevant(relevant: float) -> float:
    if not relevant > 0:
        raise ValueError(f"relevant must be above 0, got {relevant}.")
    return relevant


def _gains(grades: Floats, gains: Gains) -> Floats:
    if gains not in ("exponential", "linear"):
        raise ValueError(f"gains={gains!r} is unknown. There are: 'exponential', 'linear'.")
    if gains == "linear":
        return grades
    if grades.max() > 1000:
        raise ValueError(
            f"the gain 2**{grades.max():g} - 1 is too large; gains='linear' takes any grade."
        )
    return np.exp2(grades) - 1.0

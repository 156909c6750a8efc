"""Rankings drawn from a linear truth with noise."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.datasets.dataset import Dataset

__all__ = ["make_rankings"]


def make_rankings(
    n_queries: int = 60,
    n_documents: int | tuple[int, int] = 20,
    n_features: int = 10,
    grades: int = 3,
    *,
    noise: float = 0.5,
    query_spread: float = 1.0,
    test_size: float = 0.25,
    random_state: int | np.random.Generator | None = 0,
) -> Dataset:
    """Documents of queries whose grades follow a linear score and noise.

    A document is ``x = z + o``, where z is standard normal and o, the same for all documents of its
    query, normal with standard deviation `query_spread`. Its utility is ``w @ z`` and normal noise,
    with w of length 1: scores compare documents of one query, not of different ones. The grade is 0
    up to a threshold on the utility, then 1, and so on; each grade is half as frequent as the one
    below it. A small query may have one grade only.

    Parameters
    ----------
    n_queries : int, default 60
        Queries in both parts together.
    n_documents : int or (int, int), default 20
        Documents of a query. Two numbers: between these, all numbers equally likely.
    n_features : int, default 10
    grades : int, default 3
        How many grades there are, from 0.
    noise : float, default 0.5
        Standard deviation of the noise, where that of ``w @ z`` is 1. At 0 the weights w rank
        every query perfectly.
    query_spread : float, default 1.0
        How far queries are apart. 0: their documents are all of one kind.
    test_size : float, default 0.25
        Share of the queries that are for the test; 0: none.
    random_state : int, Generator or None, default 0
        The same number gives the same documents.

    Returns
    -------
    Dataset
        X : float64 arrays of shape (n, n_features), one row per document; y : int64 arrays, the
        grades.
        ``extra["qid_train"]``, ``extra["qid_test"]`` : the query of each row, counted from 0 over
        both parts; documents of one query follow one another. ``extra["weights"]`` : w.

    Examples
    --------
    >>> data = make_rankings(8, n_documents=5, n_features=3, random_state=0)
    >>> data.X_train.shape, data.y_train.shape, data.X_test.shape
    ((30, 3), (30,), (10, 3))
    >>> data.extra["qid_test"], data.classes
    (array([6, 6, 6, 6, 6, 7, 7, 7, 7, 7]), [0, 1, 2])
    """
    for name, count in (("n_queries", n_queries), ("n_features", n_features)):
        if count < 1:
            raise ValueError(f"{name} must be at least 1, got {count}.")
    fewest, most = np.broadcast_to(n_documents, 2)
    if not 1 <= fewest <= most:
        raise ValueError(
            f"n_documents must be a number of at least 1, or two that do not fall, got "
            f"{n_documents}."
        )
    if grades < 2:
        raise ValueError(f"grades must be at least 2, got {grades}.")
    for name, value in (("noise", noise), ("query_spread", query_spread)):
        if not (value >= 0 and np.isfinite(value)):
            raise ValueError(f"{name} must be at least 0 and finite, got {value}.")
    n_test = round(test_size * n_queries) if 0 <= test_size < 1 else n_queries
    if n_test == n_queries:
        raise ValueError(
            f"test_size={test_size} leaves no query of {n_queries} for training; it must be in "
            "[0, 1)."
        )
    rng = np.random.default_rng(random_state)
    weights = rng.normal(size=n_features)
    weights /= np.linalg.norm(weights)
    sizes = rng.integers(fewest, most, size=n_queries, endpoint=True)
    qid = np.repeat(np.arange(n_queries), sizes)
    z = rng.normal(size=(len(qid), n_features))
    utilities = z @ weights + noise * rng.normal(size=len(qid))
    X = z + rng.normal(scale=query_spread, size=(n_queries, n_features))[qid]
    y = np.searchsorted(_thresholds(grades, noise), utilities)
    n = int(sizes[: n_queries - n_test].sum())
    extra: dict[str, Any] = {"qid_train": qid[:n], "qid_test": qid[n:], "weights": weights}
    return Dataset(
        "rankings",
        X[:n],
        y[:n],
        X[n:],
        y[n:],
        classes=list(range(grades)),
        description="Documents graded by a linear score of normal features with normal noise.",
        extra=extra,
    )


def _thresholds(grades: int, noise: float) -> NDArray[np.float64]:
    """Where the grades part: each has half the mass of the one below it."""
    shares = 0.5 ** np.arange(grades)
    below = np.cumsum(shares / shares.sum())[:-1]
    utility = NormalDist(0.0, float(np.sqrt(1.0 + noise**2)))
    return np.array([utility.inv_cdf(share) for share in below])

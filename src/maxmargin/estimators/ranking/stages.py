"""Two stages for average precision: an SVM tells the easy samples, the rest are ranked.

A binary SVM w0 with a bias is trained on all samples. Those with y_i (w0.x_i + b0) >= 1 are easy;
of these the share `keep` with the highest margins stays easy, and the others count as difficult.
Then w and b minimise

    lam/2 (|w|^2 + b^2) + 1/n sum_q s_q max_y [ cost(y) + w.phi(x_q, y) - w.phi(x_q, y_q) ]
    subject to  y_i (w.x_i + b) >= 1  for the easy samples,

the maximum over rankings y of the difficult samples of query q alone (Mohapatra 2021, (3.15)).

What the source leaves open is settled so. The bias is a constant feature, regularised with the
others, and no ranking sees it. Fixed at b0 it would tie w to the scale of w0; free of charge it
would let the rows go where all easy samples are of one kind. And (w0, b0) meets all rows, so there
is a solution. In the SVM both kinds weigh the same in each query, as they do in phi: else, with few
relevant samples, all others would be easy. Its C is that of the ranking. It stops at a gap of 5%,
so that samples with a margin near 1 are easy or not by the order in which the rows come: two orders
may have somewhat different second stages, each with a certificate of its own.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from maxmargin.costs import AveragePrecision
from maxmargin.estimators.multiclass import MulticlassSVM
from maxmargin.features.rows import Csr, as_features
from maxmargin.solvers import OneSlack
from maxmargin.structures.ranking.data import RankingData, ranking_data
from maxmargin.structures.ranking.hard_rows import HardRows, row_scores
from maxmargin.surrogates import MarginRescaling
from maxmargin.training.task import Training

#: How far the SVM is trained. It only tells which samples are easy, and meets their rows however
#: far it came: whether it reached the gap is no news.
SVM_TOL, SVM_PASSES = 0.05, 30


def check_two_stages(cost: Any, surrogate: Any, solver: Any) -> None:
    """Refuse what the two stages are not made for."""
    if not isinstance(cost, AveragePrecision):
        raise ValueError(
            f"approximate=True is for cost='ap', got {cost!r}: the other costs are learnt exactly, "
            "with approximate=False."
        )
    if surrogate != "margin" and not isinstance(surrogate, MarginRescaling):
        raise ValueError(f"approximate=True is for surrogate='margin', got {surrogate!r}.")
    is_named = isinstance(solver, str) and solver in ("auto", "one_slack")
    if not (is_named or solver in (OneSlack(), OneSlack(inwards=True))):
        raise ValueError(
            "approximate=True adds rows to the master of a cutting plane: solver must be 'auto' or "
            f"'one_slack', got {solver!r}."
        )


def reduce_training(training: Training, C: float, keep: float, n_jobs: int) -> tuple[Training, int]:
    """Return the problem of the second stage, and how many samples are easy.

    No easy sample: the training given, which is then the exact one.
    """
    data: RankingData = training.data
    samples = _Samples.of(data)
    w0 = _classify(data, samples, training.weight, C, n_jobs)
    matrix = _matrix(data)
    scores = row_scores(data.features, matrix.shape[0], w0)[samples.row]
    margins = samples.sign * (scores + w0[-1])
    easy = np.flatnonzero(margins >= 1.0)
    easy = easy[np.argsort(-margins[easy], kind="stable")][: int(keep * len(easy))]
    if len(easy) == 0:
        return training, 0
    is_left = np.ones(len(samples.row), dtype=bool)
    is_left[easy] = False
    n_left = np.bincount(samples.query[is_left], minlength=training.n_examples)
    # A query is made of some sample: of one that is all easy the first stays, which costs nothing
    # where there is no other to rank it against.
    starts = np.flatnonzero(np.diff(samples.query, prepend=-1))
    is_left[starts[n_left == 0]] = True
    left = np.flatnonzero(is_left)
    sizes = np.bincount(samples.query[left], minlength=training.n_examples)
    n_relevant = np.bincount(
        samples.query[left], weights=samples.sign[left] > 0.0, minlength=training.n_examples
    )
    reduced = ranking_data(
        matrix[samples.row[left]], np.cumsum(sizes) - sizes, sizes, n_relevant, bias=True
    )
    easy = np.sort(easy)
    rows = HardRows(as_features(matrix[samples.row[easy]]), samples.sign[easy], w0)
    return replace(training, data=reduced, rows=rows), len(easy)


class _Samples(NamedTuple):
    """The samples of all examples, one after the other: row of X, example, and +1 or -1."""

    row: np.ndarray
    query: np.ndarray
    sign: np.ndarray

    @classmethod
    def of(cls, data: RankingData) -> _Samples:
        query = np.repeat(np.arange(len(data.sizes)), data.sizes)
        place = np.arange(len(query)) - np.repeat(np.cumsum(data.sizes) - data.sizes, data.sizes)
        sign = np.where(place < data.n_relevant[query], 1.0, -1.0)
        return cls(data.first[query] + place, query, sign)


def _classify(
    data: RankingData, samples: _Samples, weight: np.ndarray, C: float, n_jobs: int
) -> np.ndarray:
    """Return weights and bias of the SVM that minimises, with a hinge loss of every sample,

    (|w|^2 + b^2)/2 + C sum_q s_q (mean loss of relevant samples + mean loss of others)/2.
    """
    is_relevant = samples.sign > 0.0
    n_others = data.sizes - data.n_relevant
    counts = np.where(is_relevant, data.n_relevant[samples.query], n_others[samples.query])
    # Two classes have a vector each, opposite at the optimum: half the norm, so half the C.
    machine = MulticlassSVM(
        C=0.5 * C, tol=SVM_TOL, max_iter=SVM_PASSES, n_jobs=n_jobs, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(
            _take(_matrix(data), samples.row),
            is_relevant.astype(np.int64),
            sample_weight=0.5 * weight[samples.query] / counts,
        )
    first, second = np.column_stack([machine.coef_, machine.intercept_])
    return np.asarray(second - first)


def _matrix(data: RankingData) -> Any:
    """Return the rows as numpy or scipy know them."""
    features = data.features
    if isinstance(features, Csr):
        parts = (features.values, features.indices, features.indptr)
        return sp.csr_matrix(parts, shape=(len(features.indptr) - 1, data.n_columns))
    return features.values


def _take(matrix: Any, rows: np.ndarray) -> Any:
    """Return some rows; the matrix itself, not a copy, where these are all of them."""
    n_rows = matrix.shape[0]
    return matrix if np.array_equal(rows, np.arange(n_rows)) else matrix[rows]

"""Two stages for average precision: an SVM tells the easy samples, the rest are ranked.

A binary SVM w0 with a bias is trained on all samples. Those with y_i (w0.x_i + b0) >= 1 are easy;
of these the share `easy_fraction` with the highest margins stays easy, and the others count as
difficult. Then w and b minimise

    lam/2 (|w|^2 + b^2) + 1/n sum_q s_q max_y [ cost(y) + w.phi(x_q, y) - w.phi(x_q, y_q) ]
    subject to  y_i (w.x_i + b) >= 1  for the easy samples,

the maximum over rankings y of the difficult samples of query q alone (Mohapatra 2021, (3.15)).

The source leaves some points open. Here they are decided as follows.

- The bias b is the weight of a constant feature. It is regularised as the other weights are, and
  rankings do not depend on it. If b were fixed at b0, w would be tied to the scale of w0. If b were
  not regularised, b alone could meet all constraints where all easy samples are of one kind.
- (w0, b0) meets all constraints, so there is a solution.
- In the SVM both kinds of samples weigh the same in each query, as they do in phi. Otherwise, with
  few relevant samples, all other samples would be easy.
- The C of the SVM is that of the ranking. The SVM stops at a gap of 5%, so whether a sample with a
  margin near 1 is easy depends on the order of the rows. Two orders may have somewhat different
  second stages, each with a certificate of its own.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin.core.contract import as_matrix
from maxmargin.core.problem import lam_from_C
from maxmargin.costs import AveragePrecision, ZeroOne, tabulate
from maxmargin.features.rows import as_features
from maxmargin.inputs.checks import check_number
from maxmargin.solvers import SDCA, OneSlack, run
from maxmargin.solvers.cutting.one_slack_rows import OneSlackRows
from maxmargin.structures.classes.data import multiclass_data
from maxmargin.structures.ranking.data import RankingData, ranking_data
from maxmargin.structures.ranking.hard_rows import HardRows, row_scores
from maxmargin.surrogates import MarginRescaling
from maxmargin.training.settings import Settings
from maxmargin.training.task import Task

#: How far the SVM is trained. It only tells which samples are easy, and it meets their constraints
#: wherever it stops. So there is no warning if it does not reach the gap.
SVM_TOL, SVM_PASSES = 0.05, 30


def check_stages(two_stage: Any, easy_fraction: Any) -> None:
    """Refuse what the parameters of the two stages cannot be."""
    if not isinstance(two_stage, (bool, np.bool_)):
        raise TypeError(f"two_stage must be True or False, got {two_stage!r}.")
    if not check_number("easy_fraction", easy_fraction) <= 1.0:
        raise ValueError(
            f"easy_fraction must be a number > 0 and at most 1, got {easy_fraction!r}."
        )


def check_two_stages(cost: Any, surrogate: Any, solver: Any) -> None:
    """Refuse what the two stages are not made for."""
    if not isinstance(cost, AveragePrecision):
        raise ValueError(
            f"two_stage=True is for cost='ap', got {cost!r}: the other costs are learnt exactly, "
            "with two_stage=False."
        )
    if surrogate != "margin" and not isinstance(surrogate, MarginRescaling):
        raise ValueError(f"two_stage=True is for surrogate='margin', got {surrogate!r}.")
    is_named = isinstance(solver, str) and solver in ("auto", "one_slack")
    if not (is_named or solver in (OneSlack(), OneSlack(inwards=True))):
        raise ValueError(
            "two_stage=True adds rows to the master of a cutting plane: solver must be 'auto' or "
            f"'one_slack', got {solver!r}."
        )


def in_two_stages(
    settings: Settings, task: Task, C: float, easy_fraction: float
) -> tuple[Settings, Task, int]:
    """Return settings and task of the second stage, and how many samples are easy.

    Without an easy sample these are the settings and the task given: the exact problem.
    """
    reduced, hard_rows = reduce_task(task, C, easy_fraction, settings.n_jobs)
    if hard_rows is None:
        return settings, task, 0
    solver = OneSlackRows(inwards=True, rows=hard_rows)
    return replace(settings, solver=solver), reduced, len(hard_rows.sign)


def reduce_task(
    task: Task, C: float, easy_fraction: float, n_jobs: int
) -> tuple[Task, HardRows | None]:
    """Return the task of the second stage, and the easy samples, which are held on their side.

    Without an easy sample these are the task given, and None.
    """
    data: RankingData = task.data
    samples = _Samples.of(data)
    w0 = _classify(data, samples, task.weight, C, n_jobs)
    matrix = as_matrix(data.features, data.n_columns)
    scores = row_scores(data.features, matrix.shape[0], w0)[samples.row]
    margins = samples.sign * (scores + w0[-1])
    easy = np.flatnonzero(margins >= 1.0)
    easy = easy[np.argsort(-margins[easy], kind="stable")][: int(easy_fraction * len(easy))]
    if len(easy) == 0:
        return task, None
    is_left = np.ones(len(samples.row), dtype=bool)
    is_left[easy] = False
    n_left = np.bincount(samples.query[is_left], minlength=task.n_examples)
    # A query needs at least one sample. If all samples of a query are easy, the first one stays: it
    # costs nothing, since there is no other to rank it against.
    starts = np.flatnonzero(np.diff(samples.query, prepend=-1))
    is_left[starts[n_left == 0]] = True
    left = np.flatnonzero(is_left)
    sizes = np.bincount(samples.query[left], minlength=task.n_examples)
    n_relevant = np.bincount(
        samples.query[left], weights=samples.sign[left] > 0.0, minlength=task.n_examples
    )
    reduced = ranking_data(
        matrix[samples.row[left]], np.cumsum(sizes) - sizes, sizes, n_relevant, bias=True
    )
    easy = np.sort(easy)
    hard_rows = HardRows(as_features(matrix[samples.row[easy]]), samples.sign[easy], w0)
    return replace(task, data=reduced), hard_rows


class _Samples(NamedTuple):
    """The samples of all examples, one after the other: row of X, example, and +1 or -1."""

    row: np.ndarray
    query: np.ndarray
    sign: np.ndarray

    @classmethod
    def of(cls, data: RankingData) -> _Samples:
        """Return the samples of the examples of rankings."""
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
    rows = _take(as_matrix(data.features, data.n_columns), samples.row)
    n_samples = len(samples.row)
    classes = multiclass_data(rows, is_relevant.astype(np.int32), 2, bias=True)
    cost = tabulate(ZeroOne(), classes, (0, 1))
    task = Task(classes, cost, n_samples, 0.5 * weight[samples.query] / counts)
    # The multiclass SVM has one vector per class, w/2 and -w/2 at the optimum. Their squared norms
    # add up to half of |w|^2, so C is halved too.
    problem = task.problem(MarginRescaling(), lam_from_C(0.5 * C, n_samples), n_jobs)
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result, _ = run(problem, SDCA(), rng=rng, tol=SVM_TOL, max_iter=SVM_PASSES)
    first, second = result.w.reshape(-1, 2).T
    return np.ascontiguousarray(second - first)


def _take(matrix: Any, chosen: np.ndarray) -> Any:
    """Return the rows with these numbers; if that is all rows, the matrix itself and no copy."""
    n_rows = matrix.shape[0]
    return matrix if np.array_equal(chosen, np.arange(n_rows)) else matrix[chosen]

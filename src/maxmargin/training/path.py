"""The regularisation path: one fit per C, each from the dual of the one before."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from maxmargin.core.problem import lam_from_C
from maxmargin.inputs.queries import check_ids
from maxmargin.inputs.request import Request
from maxmargin.metrics._ranked import number_queries
from maxmargin.solvers import Result, State, run
from maxmargin.training.automatic import settle
from maxmargin.training.checkpoint import NOBODY
from maxmargin.training.fit import bound
from maxmargin.training.scoring import check_scoring_known, measure_for
from maxmargin.training.settings import check_C, check_callbacks, check_settings, generator
from maxmargin.training.weighing import weigh


@dataclass
class PathResult:
    """Fits along C, in increasing order of C.

    If a fit of the path is interrupted (Ctrl-C, or a callback that returned True), the path ends
    with that fit and is not scored. If a fit in a fold is interrupted, `scores` has the folds
    before it.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
    results : list of Result, one per C
    estimators : list of fitted estimators, one per C
    scores : ndarray of shape (n_Cs, n_folds), or None without `cv`
    """

    Cs: np.ndarray
    results: list[Result]
    estimators: list[Any]
    scores: np.ndarray | None = None

    @property
    def mean_scores(self) -> np.ndarray | None:
        """Mean score over the folds, one per C."""
        return None if self.scores is None else self.scores.mean(axis=1)

    @property
    def best_index(self) -> int | None:
        """Index of the best mean score; of equal scores that of the smallest C."""
        return None if self.scores is None else int(np.argmax(self.scores.mean(axis=1)))

    @property
    def best_C(self) -> float | None:
        """C of the best mean score."""
        return None if self.best_index is None else float(self.Cs[self.best_index])

    @property
    def best_estimator(self) -> Any:
        """The estimator of the best C, fitted on all examples."""
        return None if self.best_index is None else self.estimators[self.best_index]


def regularization_path(
    estimator: Any, request: Request, Cs: Iterable[float], cv: Any, scoring: Any, callbacks: Any
) -> PathResult:
    """Fit clones of an estimator along C, and score them on held-out folds if asked."""
    values = np.array(sorted({check_C(C, f"Cs[{i}]") for i, C in enumerate(Cs)}))
    if len(values) == 0:
        raise ValueError("Cs is empty; give at least one C.")
    check_callbacks(callbacks)
    fitted = fit_along(estimator, request, values, callbacks)
    path = PathResult(values[: len(fitted)], [each.result_ for each in fitted], fitted)
    if cv is None or _is_interrupted(fitted):
        return path
    learner = _knowing_all_labels(estimator, fitted[0])
    columns = []
    for train, test in folds(estimator, request, cv):
        fold = fit_along(learner, estimator._take(request, train, train), values, callbacks)
        if _is_interrupted(fold):
            break
        held_out = replace(estimator._take(request, test, train), sample_weight=None)
        columns.append([held_out_score(each, held_out, scoring) for each in fold])
    path.scores = np.array(columns).T if columns else None
    return path


def folds(estimator: Any, request: Request, cv: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield which examples are learnt from and which are held out, fold by fold."""
    if request.qid is not None:
        yield from folds_of_queries(request, cv)
        return
    from sklearn.model_selection import check_cv

    target = estimator._stratification(request.y)
    splitter = check_cv(cv, target, classifier=target is not None)
    yield from splitter.split(np.zeros(_num_samples(request.y)), target)


def folds_of_queries(request: Request, cv: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield which rows are learnt from and which are held out: folds of whole queries."""
    from sklearn.model_selection import check_cv

    ids = check_ids(request.qid, _num_samples(request.y))
    named, query = number_queries(ids)
    splitter = check_cv(cv)
    if isinstance(cv, Integral):
        for train, test in splitter.split(np.zeros(len(named))):
            yield np.flatnonzero(np.isin(query, train)), np.flatnonzero(np.isin(query, test))
        return
    for train, test in splitter.split(np.zeros(len(ids)), np.asarray(request.y), groups=ids):
        parted = np.intersect1d(query[train], query[test])
        if len(parted):
            raise ValueError(
                f"cv={cv!r} has rows of query {named[parted[0]]} on both sides of a fold; take a "
                "number of folds, or a splitter by groups such as GroupKFold."
            )
        yield train, test


def held_out_score(fitted: Any, request: Request, scoring: Any) -> float:
    """Return the score of a fitted estimator on held-out examples."""
    if scoring is None and fitted.scoring is None:
        return fitted._score(request)
    judge = copy.copy(fitted)
    judge.scoring = fitted.scoring if scoring is None else scoring
    check_scoring_known(judge)
    score = measure_for(judge, request).score
    return math.nan if score is None else score(fitted.result_.w)


def _is_interrupted(fitted: list[Any]) -> bool:
    return bool(fitted[-1].result_.status == "interrupted")


def _knowing_all_labels(estimator: Any, fitted: Any) -> Any:
    """Return the estimator for folds; it names all classes, since a fold may lack some."""
    if getattr(estimator, "classes", fitted) is not None:  # named already, or no such parameter
        return estimator
    return clone(estimator).set_params(classes=fitted.classes_)


def fit_along(estimator: Any, request: Request, Cs: np.ndarray, callbacks: Any) -> list[Any]:
    """Return one fitted estimator per C, each started from the dual of the one before.

    The list ends with the first fit that was interrupted.
    """
    worker = clone(estimator)
    settings = check_settings(worker)
    task, units = weigh(worker, worker._encode(request, reset=True))
    settings, task = settle(worker, settings, task)
    rng = generator(worker.random_state)
    fitted = []
    problem, state = None, cast(State, None)
    for C in Cs:
        lam = lam_from_C(C, task.n_examples)
        if problem is None:
            problem = task.problem(settings.surrogate, lam, settings.n_jobs, settings.search)
        else:
            before, problem = problem.lam, problem.with_lam(lam)
            settings.solver.engine(problem).adapt(problem, state, before)
        worker.C = float(C)
        result, state = run(
            problem,
            settings.solver,
            rng=rng,
            tol=worker.tol,
            max_iter=worker.max_iter,
            time_budget=worker.time_budget,
            state=state,
            callbacks=units.callbacks(bound(callbacks, worker, problem, NOBODY)),
        )
        result = units.result(result)
        model = copy.copy(worker)
        fitted.append(model._adopt(model._kept(result, problem)))
        if _is_interrupted(fitted):
            break
    return fitted

"""RankingSVM: scores by which the documents of a query are ranked."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.costs import PrecisionAtK
from maxmargin.estimators.base import BaseSVM, Training
from maxmargin.estimators.ranking.encoding import ranking_training
from maxmargin.estimators.ranking.scores import (
    MEASURE_NAMES,
    cost_called,
    measure_name,
    measure_of,
)
from maxmargin.estimators.ranking.stages import check_two_stages, reduce_training
from maxmargin.inputs.checks import check_number
from maxmargin.inputs.columns import check_columns
from maxmargin.inputs.queries import (
    SMALLEST_SCALE,
    Queried,
    Queries,
    check_normalization,
    largest_values,
    normalize_queries,
    read_grades,
    read_queries,
    read_weights,
    scale_columns,
)
from maxmargin.inputs.rows import RowInputs
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.inputs.vocabulary import FeatureTable
from maxmargin.persistence import register
from maxmargin.solvers.cutting.one_slack_rows import OneSlackRows
from maxmargin.training.partial import online_only
from maxmargin.training.path import PathResult
from maxmargin.training.scoring import single_eval_set
from maxmargin.training.settings import Settings, n_threads, resolve_cost


@register
class RankingSVM(RowInputs, BaseSVM):
    """Linear ranker, learnt for average precision, NDCG or AUC itself, to a certified gap.

    Minimises, with lam = 1/(C n) and the interleavings y of the relevant and the other documents of
    query i,

        lam/2 |w|^2 + 1/n sum_i s_i max_y [ cost(y) + w.phi(x_i, y) - w.phi(x_i, y_i) ]

    where phi(x, y) is the mean of +-(x_relevant - x_other) over all pairs of a query. The loss is
    above the cost of the ranking by score. There is no intercept: it would change no ranking.

    Parameters
    ----------
    C : float > 0
        Weight of the training losses against |w|^2/2. Under all costs but "ndcg_pairs" a query's
        loss is a mean over its pairs, so that good values are larger: try 1 to 100.
    cost : {"ndcg_pairs", "ap", "ndcg", "ndcg_at_k", "auc", "precision_at_k"} or object
        Task loss; `NDCGAtK` and `PrecisionAtK` have a k, `RankingCost` is one of your own.
        "ndcg_pairs" is a bound of 1 - NDCG by pairs, see `NDCGPairs`. With more grades than 0 and
        1, NDCG is learnt as the mean of NDCGs for each grade from which documents may count as
        relevant, which is what it is.
    relevant : float
        The grade from which a document is relevant; NDCG looks at grades themselves.
    solver : str or Solver
        "auto" is ``OneSlack(inwards=True)``.
    normalize : {"maxabs", "standard", "minmax", None}
        Features made comparable: "maxabs" divides each by its largest absolute value in the
        training rows; query by query "standard" gives them mean 0 and deviation 1, and "minmax"
        the range from 0 to 1, for which `predict` must be told the queries.
    missing : {"indicator", "mean", "zero", "error"}
        What is done about values that are missing, NaN: "mean" puts the feature's mean over the
        training rows in their place, "indicator" also adds a column, for each feature that had
        some at fit, which is 1 where it is missing; "zero" puts zeros, "error" refuses them.
    zeros : {"indicator", "value"}
        "indicator" adds a column, 1 where a feature is not zero, for each feature that is zero in
        at least a tenth of the training rows, not zero in at least a tenth, and has several
        values besides.
    approximate : bool
        True learns average precision in two stages: a binary SVM first tells which samples are
        easy, with a margin of at least 1; these are held there, and the loss is of the rankings of
        the others alone. Certificate, primal and dual are those of this smaller problem, and
        ``result_.objective`` is then "reduced"; they say nothing of the exact one. See
        ranking_stages.py for what exactly is solved. For ``cost="ap"`` and the one-slack solver.
    keep : float in (0, 1]
        With `approximate`, the share of the easy samples, those with the largest margins, that are
        treated so. Less is nearer to the exact problem, and slower.
    surrogate, search, tol, max_iter, time_budget, patience, scoring, n_jobs, random_state, \
warm_start, callbacks, verbose
        As in `BaseSVM`. With `approximate` they are those of the second stage.
    min_count, hashing : int, int or None
        For rows that are dictionaries or lists of names; see `FeatureTable`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,)
        Weights of the features, in the units that they came in, and behind them of the columns that
        `missing` and `zeros` added; `get_feature_names_out` names them all. Of data without gaps
        and zeros the features alone.
    columns_ : Columns
        How many values were missing, in which features, what was done, and which columns there are.
    n_skipped_ : int
        Queries that taught nothing, because all their documents are relevant, or none; under
        precision at k also those of at most k documents.
    n_easy_ : int
        With `approximate`, samples that were held on their side; 0: the exact problem was solved.
    result_ : Result

    Notes
    -----
    Queries come in one of three ways, to every method: X a list of arrays, one a query, and Y a
    list of their grades; X a matrix, y the grades of its rows, and ``qid`` the query of each, in
    any order; X a matrix alone, which is one query. What is returned has the same form.

    Examples
    --------
    >>> from maxmargin import RankingSVM
    >>> from maxmargin.datasets import make_rankings
    >>> data = make_rankings(n_queries=40, random_state=0)
    >>> model = RankingSVM(C=10.0, cost="ndcg", tol=0.01, random_state=0)
    >>> model = model.fit(data.X_train, data.y_train, qid=data.extra["qid_train"])
    >>> model.result_.status, bool(model.result_.relative_gap <= 0.01)
    ('converged', True)
    >>> model.score(data.X_test, data.y_test, qid=data.extra["qid_test"]) > 0.8
    True
    """

    has_classes: ClassVar[bool] = False
    has_long_examples: ClassVar[bool] = True
    coef_: np.ndarray
    n_skipped_: int
    n_easy_: int = 0

    def __init__(
        self,
        *,
        C: float = 0.1,
        cost: Any = "ndcg_pairs",
        relevant: float = 1,
        surrogate: Any = "margin",
        search: Any = "auto",
        solver: Any = "auto",
        tol: float = 1e-2,
        max_iter: int = 1000,
        time_budget: float | None = None,
        patience: int | None = None,
        scoring: Any = None,
        normalize: str | None = "maxabs",
        missing: str = "indicator",
        zeros: str = "indicator",
        approximate: bool = False,
        keep: float = 0.5,
        min_count: int = 1,
        hashing: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        callbacks: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            C=C,
            cost=cost,
            surrogate=surrogate,
            search=search,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            time_budget=time_budget,
            patience=patience,
            scoring=scoring,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            callbacks=callbacks,
            verbose=verbose,
        )
        self.relevant = relevant
        self.normalize = normalize
        self.missing = missing
        self.zeros = zeros
        self.approximate = approximate
        self.keep = keep
        self.min_count = min_count
        self.hashing = hashing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        tags.target_tags.required = True
        return tags

    # -- what the user calls -----------------------------------------------------------------

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        eval_set: Any = None,
        resume: str | os.PathLike[str] | None = None,
        *,
        qid: Any = None,
    ) -> Self:
        """Learn from graded queries.

        Parameters
        ----------
        X, y : list of arrays and list of their grades, or rows and the grades of each
        sample_weight : array or None
            One weight a query where X is a list; one a row, the same for all rows of a query,
            where it is a matrix.
        eval_set : (X, y) or (X, y, qid), such a tuple in a list, or None
            Held-out queries, scored after each pass; see `scoring` and `patience`.
        resume : path or None
            A file that a `Checkpoint` wrote during this very fit: go on there.
        qid : array of shape (n_rows,) or None
            The query of each row of a matrix. None: all rows are one query.
        """
        eval_set = single_eval_set(eval_set)
        if isinstance(eval_set, tuple) and len(eval_set) == 3:
            eval_set = (Queried(eval_set[0], eval_set[2]), eval_set[1])
        return super().fit(Queried.of(X, qid), y, sample_weight, eval_set, resume)

    @online_only
    def partial_fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        lam: float | None = None,
        n_total: int | None = None,
    ) -> Self:
        """Make one pass over a batch of queries; see `BaseSVM.partial_fit`."""
        return self._partial_fit(
            Queried.of(X, qid), y, None, sample_weight, lam=lam, n_total=n_total
        )

    def predict(self, X: Any, *, qid: Any = None) -> Any:
        """Return the score of every document, higher ones first in a ranking.

        Parameters
        ----------
        X : list of arrays, or rows
        qid : array of shape (n_rows,) or None
            Looked at where `normalize` goes by query.

        Returns
        -------
        list of arrays where X is a list, else an array of shape (n_rows,), in the order of X
        """
        check_is_fitted(self, "result_")
        queries, rows = self._documents(Queried.of(X, qid), reset=False)
        return queries.give_back(np.asarray(rows @ self.coef_))

    decision_function = predict

    def rank(self, X: Any, *, qid: Any = None) -> Any:
        """Return the place of every document in the ranking of its query, 1 on top.

        Documents of equal scores stand in the order given. Form and parameters are those of
        `predict`.

        Examples
        --------
        >>> from maxmargin import RankingSVM
        >>> X, y = [[0.0], [1.0], [2.0]], [0, 0, 1]
        >>> RankingSVM(cost="auc").fit(X, y).rank([[5.0], [7.0], [6.0]])
        array([3, 1, 2])
        """
        check_is_fitted(self, "result_")
        queries, rows = self._documents(Queried.of(X, qid), reset=False)
        scores = np.asarray(rows @ self.coef_)
        places = np.empty(len(scores), dtype=np.int64)
        for q in range(len(queries)):
            own = queries.rows(q)
            places[own[np.argsort(-scores[own], kind="stable")]] = np.arange(1, len(own) + 1)
        return queries.give_back(places)

    def score(  # type: ignore[override]
        self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None
    ) -> float:
        """Return the mean over queries of the measure that the cost stands for.

        That is average precision, NDCG, AUC or precision at k, as in `maxmargin.metrics`; queries
        where it is 0/0 are left out. Of a query without relevant documents that is so of all but
        precision at k, which is 0.
        """
        return super().score(Queried.of(X, qid), y, sample_weight)

    def path(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        Cs: Iterable[float],
        cv: Any = None,
        scoring: Any = None,
        sample_weight: Any = None,
        *,
        qid: Any = None,
    ) -> PathResult:
        """Fit clones along increasing C; see `BaseSVM.path`. Not with `approximate`.

        Folds are of whole queries. Where X is a matrix with `qid`, a number `cv` cuts the queries
        as it would cut a list of them; a splitter is given the rows, with the queries as groups
        (`GroupKFold`), and must not part a query. A `scoring` of your own is then called with
        (estimator, X, y, qid=qid).
        """
        if self.approximate:
            raise ValueError(
                "path needs one problem for all C, and with approximate=True the easy samples go "
                "by C: fit each C on its own, as GridSearchCV does."
            )
        return super().path(Queried.of(X, qid), y, Cs, cv, scoring, sample_weight)

    # -- hooks -------------------------------------------------------------------------------

    def _documents(self, X: Any, reset: bool) -> tuple[Queries, Any]:
        """Return validated queries, and their rows as `coef_` sees them."""
        n_features = None if reset else self.n_features_in_
        check_normalization(self.normalize)
        queries = read_queries(
            X, lambda rows: self._rows(rows, reset), n_features, allow_nan=self._allows_nan()
        )
        if reset and queries.is_list:
            self.features_ = None
            self.n_features_in_ = queries.matrix.shape[1]
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        rows = normalize_queries(queries, self._columned(queries.matrix, reset), self.normalize)
        if not reset and self.normalize in ("standard", "minmax"):
            self._warn_of_one_query(queries)
        if reset:
            self._has_qid = queries.has_qid
            n_columns = rows.shape[1]
            self._scale = largest_values(rows) if self.normalize == "maxabs" else np.ones(n_columns)
        return queries, rows

    def _warn_of_one_query(self, queries: Queries) -> None:
        """Say that rows are taken as one query where training rows had a qid, and these have none.

        That may be meant, but far more often qid was forgotten.
        """
        is_one = not queries.has_qid and not queries.is_list
        if self._has_qid and is_one:
            warnings.warn(
                f"X has no qid, so its {queries.matrix.shape[0]} rows are taken as one query; the "
                "training rows had one. Pass qid=, and to eval_set (X, y, qid).",
                UserWarning,
                stacklevel=4,
            )

    def _cost(self) -> Any:
        return resolve_cost(self.cost, "places")

    def _encode(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        *,
        reset: bool,
        classes: Iterable[Any] | None = None,
        weighted: bool = True,
    ) -> Training:
        cost = self._cost()
        relevant = check_number("relevant", self.relevant)
        self._check_stages(cost)
        queries, rows = self._documents(X, reset)
        rows = scale_columns(rows, self._scale)
        grades = read_grades(Y, queries)
        weight = read_weights(sample_weight, queries)
        training, n_skipped = ranking_training(queries, rows, grades, cost, relevant, weight)
        if training is None:
            raise ValueError(
                f"There is nothing to learn from {_queries(len(queries))}: each has documents of "
                f"one kind only, all relevant or none{_too_few(cost)}, or no weight "
                f"(relevant={self.relevant:g})."
            )
        if n_skipped:
            warnings.warn(
                f"{n_skipped} of {_queries(len(queries))} teach nothing and are skipped: all their "
                f"documents are relevant, or none{_too_few(cost)}.",
                UserWarning,
                stacklevel=4,
            )
        if not weighted:
            # A query for a fitted model to look at, which stays as it is, a bias in w or not.
            data = training.data._replace(n_columns=len(self.result_.w))
            return replace(training, data=data)
        self.n_skipped_ = n_skipped
        self.n_easy_ = 0
        if self.approximate:
            n_jobs = n_threads(self.n_jobs)
            training, self.n_easy_ = reduce_training(training, float(self.C), self.keep, n_jobs)
        return training

    def _check_stages(self, cost: Any) -> None:
        if not isinstance(self.approximate, (bool, np.bool_)):
            raise TypeError(f"approximate must be True or False, got {self.approximate!r}.")
        if not check_number("keep", self.keep) <= 1.0:
            raise ValueError(f"keep must be a number > 0 and at most 1, got {self.keep!r}.")
        if self.approximate:
            check_two_stages(cost, self.surrogate, self.solver)

    def _encode_inputs(self, X: Any) -> Any:
        queries, rows = self._documents(X, reset=False)
        return rows, queries.order, queries.offsets

    def _unpack(self, w: np.ndarray) -> None:
        # Where samples are held on their side there is a bias behind, which no ranking looks at.
        n_columns = self.columns_.n_columns
        self.coef_ = w[:n_columns] / self._scale

    def _layout(self) -> Any:
        columns = [*self.columns_.layout(), self.normalize]
        return [self.n_features_in_, self._feature_names(), columns, self.n_easy_ > 0]

    def _suit(self, settings: Settings, training: Training) -> Settings:
        if training.rows is not None:
            return replace(settings, solver=OneSlackRows(inwards=True))
        return settings

    def _score_name(self) -> str:
        return measure_name(self._cost())

    def _measure_names(self) -> tuple[str, ...]:
        return MEASURE_NAMES

    def _measure(self, name: str) -> Callable[[Any, Any], Callable[[np.ndarray], float]] | None:
        cost = cost_called(name, self._cost())
        return None if cost is None else lambda X, Y: self._cost_scorer(cost, X, Y)

    def _predictor(self, X: Any) -> Callable[[np.ndarray], Any]:
        queries, rows = self._documents(X, reset=False)
        return lambda w: queries.give_back(np.asarray(rows @ (w[: rows.shape[1]] / self._scale)))

    def _apply_scorer(self, scorer: Any, estimator: Any, X: Any, Y: Any) -> Any:
        given = X if isinstance(X, Queried) else Queried(X)
        if getattr(scorer, "_response_method", None) == "predict":
            # scikit-learn's own, which pass no qid on, look at grades and predictions alone.
            guess = estimator.predict(given.X, qid=given.qid)
            return scorer._sign * scorer._score_func(Y, guess, **scorer._kwargs)
        return scorer(estimator, given.X, Y, **({} if given.qid is None else {"qid": given.qid}))

    def _scorer(self, X: Any, Y: Any, sample_weight: Any = None) -> Callable[[np.ndarray], float]:
        return self._cost_scorer(self._cost(), X, Y, sample_weight)

    def _cost_scorer(
        self, cost: Any, X: Any, Y: Any, sample_weight: Any = None
    ) -> Callable[[np.ndarray], float]:
        queries, rows = self._documents(X, reset=False)
        if self.normalize not in ("standard", "minmax"):  # these were told so by their rows
            self._warn_of_one_query(queries)
        grades = read_grades(Y, queries)
        weight = read_weights(sample_weight, queries)
        measure = measure_of(cost, check_number("relevant", self.relevant))
        everyone = [queries.rows(q) for q in range(len(queries))]

        def score(w: np.ndarray) -> float:
            scores = np.asarray(rows @ (w[: rows.shape[1]] / self._scale), dtype=np.float64)
            values = np.array([measure(grades[own], scores[own]) for own in everyone])
            known = np.isfinite(values) & (weight > 0.0)
            if not known.any():
                raise ValueError(
                    f"Nothing to score in {_queries(len(queries))}: none has both relevant "
                    "documents and others."
                )
            return float(np.average(values[known], weights=weight[known]))

        return score

    def _fitted_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        meta, arrays = super()._fitted_state()
        meta["features"] = self._rows_state()
        meta["n_skipped"], meta["n_easy"] = self.n_skipped_, self.n_easy_
        meta["has_qid"] = self._has_qid
        meta["columns"], of_columns = self.columns_.to_state()
        return meta, {**arrays, **of_columns, "scale": self._scale}

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        super()._restore_fitted(fields, arrays)
        self._restore_rows(fields)
        self._restore_columns(fields, arrays)
        self._scale = arrays.take("scale", (self.columns_.n_columns,), low=SMALLEST_SCALE)
        self.n_skipped_ = fields.count("n_skipped")
        self._has_qid = fields.flag("has_qid")
        self.n_easy_ = fields.count("n_easy", default=0)

    def _n_weights(self) -> int:
        # Where samples are held on their side there is a bias behind.
        return self.columns_.n_columns + (self.n_easy_ > 0)

    def _check_parameters(self) -> None:
        FeatureTable(self.min_count, self.hashing)
        check_number("relevant", self.relevant)
        check_normalization(self.normalize)
        check_columns(self.missing, self.zeros)
        self._check_stages(self._cost())


def _too_few(cost: Any) -> str:
    """Say what else makes all rankings of a query cost the same."""
    return f", or there are at most k={cost.k}" if isinstance(cost, PrecisionAtK) else ""


def _queries(n: int) -> str:
    return "1 query" if n == 1 else f"{n} queries"

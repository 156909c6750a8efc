"""RankingSVM: scores by which the documents of a query are ranked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Unpack

import numpy as np

from maxmargin.costs import PrecisionAtK
from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.face import Common
from maxmargin.estimators.ranking.encoding import ranking_task
from maxmargin.estimators.ranking.scores import (
    MEASURE_NAMES,
    cost_called,
    cost_meant,
    count_queries,
    measure_name,
    query_judge,
)
from maxmargin.inputs.checks import check_number
from maxmargin.inputs.columns import check_columns
from maxmargin.inputs.queries import (
    Queries,
    check_normalization,
    read_grades,
    read_weights,
    scale_columns,
)
from maxmargin.inputs.query_rows import QueryInputs
from maxmargin.inputs.request import Request
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.inputs.vocabulary import FeatureTable
from maxmargin.persistence import register
from maxmargin.training.path import PathResult
from maxmargin.training.scoring import Score
from maxmargin.training.settings import Settings, resolve_cost
from maxmargin.training.stages import check_stages, check_two_stages, in_two_stages
from maxmargin.training.task import Task

#: The height of a step in the problem that is solved, where the largest value of a feature is 1.
#: There are several times as many steps as features; steps of height 1 would need a much smaller C.
STEP_HEIGHT = 0.1


@register
class RankingSVM(QueryInputs, BaseSVM):
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
        1, NDCG is learnt as a weighted mean of NDCGs, one per grade from which documents may
        count as relevant. The two are equal.
    relevance_threshold : float
        The grade from which a document is relevant; NDCG looks at grades themselves.
    solver : str or Solver
        "auto" is ``OneSlack(inwards=True)``.
    normalize_queries : {"maxabs", "standard", "minmax", None}
        Features made comparable: "maxabs" divides each by its largest absolute value in the
        training rows; query by query "standard" gives them mean 0 and deviation 1, and "minmax"
        the range from 0 to 1, for which `predict` must be told the queries.
    missing : {"indicator", "mean", "zero", "error"}
        What is done about values that are missing, NaN: "mean" puts the feature's mean over the
        training rows in their place, "indicator" also adds a column, for each feature that had
        some at fit, which is 1 where it is missing; "zero" puts zeros, "error" refuses them.
    zeros : {"indicator", "value"}
        "indicator" adds a column, 1 where a feature is not zero, for each feature that is zero in
        at least a twentieth of the training rows, not zero in at least as many, and has several
        values besides.
    steps : int from 0 to 20
        How many steps a feature may have: columns that are 1 where its value is beyond a quantile
        of its values, zeros left aside, wherever at least a twentieth of the training rows lies on
        either side. The score is then a line with steps in each feature, where trees have steps
        alone. Beside a feature a step counts as a tenth, and so does a column of `zeros`, so that
        C need not be smaller. There are none where `normalize_queries` goes by query.
    two_stage : bool
        True learns average precision in two stages: a binary SVM first tells which samples are
        easy: those with a margin of at least 1. They are constrained to keep that margin, and
        only the others are ranked. Certificate, primal and dual are those of this smaller problem,
        and ``result_.objective`` is then "reduced"; they say nothing of the exact one. `tol` and
        the other stopping parameters are for the second stage. See training/stages.py for what
        exactly is solved. For ``cost="ap"`` and the one-slack solver.
    easy_fraction : float in (0, 1]
        With `two_stage`, the share of the easy samples, those with the largest margins, that are
        treated so. Less is nearer to the exact problem, and slower.
    min_count, n_hashed_features : int, int or None
        For rows that are dictionaries or lists of names; see `FeatureTable`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,)
        Weights of the features, in the units that they came in, and behind them of the columns that
        `missing`, `zeros` and `steps` added; `get_feature_names_out` names them all.
    columns_ : Columns
        How many values were missing, in which features, what was done, and which columns there are.
    n_skipped_ : int
        Queries that taught nothing, because all their documents are relevant, or none; under
        precision at k also those of at most k documents.
    n_easy_ : int
        With `two_stage`, samples that were held on their side; 0: the exact problem was solved.
    result_ : Result

    Notes
    -----
    Queries come in one of three ways, to every method: X a list of arrays, one per query, and y a
    list of their grades; X a matrix, y the grades of its rows, and ``qid`` the query of each, in
    any order; X a matrix alone, which is one query. What is returned has the same form. A list has
    one `sample_weight` per query; a matrix has one per row, the same for all rows of a query.

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

    beside: ClassVar[tuple[str, ...]] = ("qid",)
    defaults: ClassVar[Common] = {"C": 0.1, "cost": "ndcg_pairs"}
    has_classes: ClassVar[bool] = False
    has_long_examples: ClassVar[bool] = True
    coef_: np.ndarray
    n_skipped_: int
    n_easy_: int = 0

    def __init__(
        self,
        *,
        relevance_threshold: float = 1,
        normalize_queries: str | None = "maxabs",
        missing: str = "indicator",
        zeros: str = "indicator",
        steps: int = 5,
        two_stage: bool = False,
        easy_fraction: float = 0.5,
        min_count: int = 1,
        n_hashed_features: int | None = None,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(**common)
        self.relevance_threshold = relevance_threshold
        self.normalize_queries = normalize_queries
        self.missing = missing
        self.zeros = zeros
        self.steps = steps
        self.two_stage = two_stage
        self.easy_fraction = easy_fraction
        self.min_count = min_count
        self.n_hashed_features = n_hashed_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        tags.target_tags.required = True
        return tags

    # -- using -----------------------------------------------------------------------------------

    def predict(self, X: Any, **beside: Any) -> Any:
        """Return the score of every document, higher ones first in a ranking.

        Parameters
        ----------
        X : list of arrays, or rows
        qid : array of shape (n_rows,) or None
            The query of each row; looked at where `normalize_queries` goes by query.

        Returns
        -------
        list of arrays where X is a list, else an array of shape (n_rows,), in the order of X
        """
        queries, scores = self._scored(self._question(X, **beside))
        return queries.give_back(scores)

    decision_function = predict

    def rank(self, X: Any, **beside: Any) -> Any:
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
        queries, scores = self._scored(self._question(X, **beside))
        places = np.empty(len(scores), dtype=np.int64)
        for q in range(len(queries)):
            own = queries.members(q)
            places[own[np.argsort(-scores[own], kind="stable")]] = np.arange(1, len(own) + 1)
        return queries.give_back(places)

    def _scored(self, request: Request) -> tuple[Queries, np.ndarray]:
        queries, rows = self._documents(request, reset=False)
        return queries, np.asarray(rows @ self.coef_)

    def score(self, X: Any, y: Any, *, sample_weight: Any = None, **beside: Any) -> float:
        """Return the mean over queries of the measure that the cost stands for.

        That is average precision, NDCG, AUC or precision at k, as in `maxmargin.metrics`; queries
        where it is 0/0 are left out. Of a query without relevant documents that is so of all but
        precision at k, which is 0.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        """
        return super().score(X, y, sample_weight=sample_weight, **beside)

    def path(
        self,
        X: Any,
        y: Any,
        Cs: Iterable[float],
        *,
        cv: Any = None,
        scoring: Any = None,
        sample_weight: Any = None,
        callbacks: Sequence[Any] | None = None,
        **beside: Any,
    ) -> PathResult:
        """Fit clones along increasing C; see `BaseSVM.path`. Not with `two_stage`.

        Folds are of whole queries. Where X is a matrix with `qid`, a number `cv` cuts the queries
        as it would cut a list of them; a splitter is given the rows, with the queries as groups
        (`GroupKFold`), and must not part a query. A `scoring` of your own is then called with
        (estimator, X, y, qid=qid).
        """
        if self.two_stage:
            raise ValueError(
                "path needs one problem for all C, and with two_stage=True the easy samples go "
                "by C: fit each C on its own, as GridSearchCV does."
            )
        return super().path(
            X, y, Cs, cv=cv, scoring=scoring, sample_weight=sample_weight, callbacks=callbacks,
            **beside,
        )  # fmt: skip

    # -- what X and y are ------------------------------------------------------------------------

    def _encode(
        self,
        request: Request,
        *,
        reset: bool,
        classes: Iterable[Any] | None = None,
        weighted: bool = True,
    ) -> Task:
        cost = self._cost()
        queries, rows = self._documents(request, reset)
        task, n_skipped = ranking_task(
            queries,
            scale_columns(rows, self._scale),
            read_grades(request.y, queries),
            cost,
            float(self.relevance_threshold),
            read_weights(request.sample_weight, queries),
        )
        if task is None:
            raise ValueError(
                f"There is nothing to learn from {count_queries(len(queries))}: each has documents "
                f"of one kind only, all relevant or none{_too_few(cost)}, or no weight "
                f"(relevance_threshold={self.relevance_threshold:g})."
            )
        if n_skipped:
            warnings.warn(
                f"{n_skipped} of {count_queries(len(queries))} teach nothing and are skipped: all "
                f"their documents are relevant, or none{_too_few(cost)}.",
                UserWarning,
                stacklevel=4,
            )
        if not weighted:
            # For `score`: the fitted model stays as it is, and w may have a bias or not.
            return replace(task, data=task.data._replace(n_columns=len(self.result_.w)))
        self.n_skipped_ = n_skipped
        self.n_easy_ = 0
        return task

    def _stage(self, settings: Settings, task: Task) -> tuple[Settings, Task]:
        if self.two_stage:
            settings, task, self.n_easy_ = in_two_stages(
                settings, task, float(self.C), self.easy_fraction
            )
        return settings, task

    def _encode_inputs(self, request: Request) -> Any:
        queries, rows = self._documents(request, reset=False)
        return rows, queries.order, queries.offsets

    def _cost(self) -> Any:
        hint = cost_meant(self.cost) if isinstance(self.cost, str) else None
        return resolve_cost(self.cost, "places", hint and f" Pass cost={hint[0]}.")

    def _check_parameters(self) -> None:
        FeatureTable(self.min_count, self.n_hashed_features)
        check_number("relevance_threshold", self.relevance_threshold)
        check_normalization(self.normalize_queries)
        check_columns(self.missing, self.zeros, self.steps)
        check_stages(self.two_stage, self.easy_fraction)
        if self.two_stage:
            check_two_stages(self._cost(), self.surrogate, self.solver)

    # -- what the weights are --------------------------------------------------------------------

    def _unpack(self, w: np.ndarray) -> None:
        self.coef_ = self._weights_of(w)

    def _weights_of(self, w: np.ndarray) -> np.ndarray:
        # With hard rows the last cell of w is a bias, which rankings do not use.
        return w[: self.columns_.n_columns] / self._scale

    def _layout(self) -> Any:
        columns = [*self.columns_.layout(), self.normalize_queries]
        return [self.n_features_in_, self._feature_names(), columns, self.n_easy_ > 0]

    def _units(self) -> np.ndarray:
        # The bias at the end, if there is one, belongs to no feature.
        return 1.0 / (np.append(self._scale, 1.0) if self.n_easy_ > 0 else self._scale)

    def _n_weights(self) -> int:
        return self.columns_.n_columns + (self.n_easy_ > 0)

    # -- what rankings are worth -----------------------------------------------------------------

    def _score_name(self) -> str:
        return measure_name(self._cost())

    def _measure_names(self) -> tuple[str, ...]:
        return MEASURE_NAMES

    def _measure(self, name: str) -> Callable[[Request], Score] | None:
        cost = cost_called(name, self._cost())
        return None if cost is None else lambda request: self._cost_scorer(cost, request)

    def _predictor(self, request: Request) -> Callable[[np.ndarray], Any]:
        queries, rows = self._documents(request, reset=False)
        return lambda w: queries.give_back(np.asarray(rows @ self._weights_of(w)))

    def _scorer(self, request: Request) -> Score:
        return self._cost_scorer(self._cost(), request)

    def _cost_scorer(self, cost: Any, request: Request) -> Score:
        queries, rows = self._documents(request, reset=False)
        if not self._goes_by_query():  # otherwise `_documents` has warned already
            self._warn_of_one_query(queries)
        judge = query_judge(cost, float(self.relevance_threshold), queries, request)
        return lambda w: judge(np.asarray(rows @ self._weights_of(w), dtype=np.float64))

    # -- files -----------------------------------------------------------------------------------

    def _fitted_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        meta, arrays = super()._fitted_state()
        own, more = self._queries_state()
        meta["n_skipped"], meta["n_easy"] = self.n_skipped_, self.n_easy_
        return {**meta, **own}, {**arrays, **more}

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        super()._restore_fitted(fields, arrays)
        self._restore_queries(fields, arrays)
        self.n_skipped_ = fields.count("n_skipped")
        self.n_easy_ = fields.count("n_easy", default=0)


def _too_few(cost: Any) -> str:
    """Say what else makes all rankings of a query cost the same."""
    return f", or there are at most k={cost.k}" if isinstance(cost, PrecisionAtK) else ""

"""RankingSVM: scores by which the documents of a query are ranked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Unpack

import numpy as np

from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.face import Common
from maxmargin.estimators.ranking.hooks import RankingHooks
from maxmargin.inputs.queries import (
    Queries,
)
from maxmargin.inputs.request import Request
from maxmargin.persistence import register
from maxmargin.training.path import PathResult


@register
class RankingSVM(RankingHooks, BaseSVM):
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

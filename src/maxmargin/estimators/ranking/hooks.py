"""Rankings: what X, y and w mean, for all that estimators share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.costs import PrecisionAtK
from maxmargin.estimators.hooks import Hooks
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
    check_normalization,
    read_grades,
    read_weights,
    scale_columns,
)
from maxmargin.inputs.query_rows import QueryInputs
from maxmargin.inputs.request import Request
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.inputs.vocabulary import FeatureTable
from maxmargin.solvers.result import Result
from maxmargin.training.scoring import Score
from maxmargin.training.settings import Settings, resolve_cost
from maxmargin.training.stages import check_stages, check_two_stages, in_two_stages
from maxmargin.training.task import Task


class RankingHooks(QueryInputs, Hooks):
    """The part of `RankingSVM` that knows what X, y and w mean."""

    C: float
    cost: Any
    surrogate: Any
    relevance_threshold: float
    two_stage: bool
    easy_fraction: float
    result_: Result

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

"""Label sets: what X, y and w mean, for all that estimators share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from maxmargin.core import predict
from maxmargin.costs import Hamming, SwitchCost
from maxmargin.costs.tables import switch_cost
from maxmargin.estimators.hooks import Hooks
from maxmargin.estimators.multilabel.edges import (
    check_inference,
    check_pairwise,
    choose_inference,
)
from maxmargin.estimators.multilabel.encoding import SetOptions, SetReader
from maxmargin.estimators.multilabel.judges import (
    Judge,
    cost_judge,
    metric_judge,
)
from maxmargin.estimators.multilabel.measures import SET_METRICS
from maxmargin.estimators.multilabel.outputs import PairwiseScores
from maxmargin.inference import LabelConstraints
from maxmargin.inputs.checks import check_number
from maxmargin.inputs.kernel_rows import KernelInputs
from maxmargin.inputs.labels import check_classes
from maxmargin.inputs.request import Request
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.inputs.vocabulary import FeatureTable
from maxmargin.training.scoring import Score
from maxmargin.training.settings import check_flags, n_threads, resolve_cost
from maxmargin.training.task import Task


class SetHooks(KernelInputs, Hooks):
    """The part of `MultilabelSVM` that knows what X, y and w mean."""

    cost: Any
    classes: Iterable[Any] | None
    pairwise: Any
    inference: str
    oracle_time_limit: float | None
    predict_time_limit: float | None
    fit_intercept: bool
    thresholds_: np.ndarray | None
    _reader: SetReader
    _best_cells: Callable[[Any], np.ndarray]  # of `BaseSVM`

    def _encode(
        self,
        request: Request,
        *,
        reset: bool,
        classes: Iterable[Any] | None = None,
        weighted: bool = True,
    ) -> Task:
        options = SetOptions(
            self.classes if classes is None else classes,
            self.pairwise,
            self.inference,
            self.oracle_time_limit,
            self.fit_intercept,
            resolve_cost(self.cost, "switches"),
        )
        rows = self._inputs(request.X, reset)
        if reset:
            reader, task = SetReader.learn(request, rows, options)
        else:
            reader, task = self._reader.task(request, rows, options)
        self._read_by(reader)
        self.thresholds_ = None
        return task

    def _plain_rows(self, X: Any, reset: bool) -> Any:
        return self._rows(X, reset)

    def _n_columns(self) -> int:
        return self.n_features_in_ if self.kernel_ is None else len(self.kernel_)

    def _read_by(self, reader: SetReader) -> None:
        self._reader = reader
        self.classes_ = reader.labels.classes
        self.inference_ = reader.inference
        self.missing_labels_, self.universal_labels_ = reader.missing, reader.universal

    def _encode_inputs(self, request: Request) -> Any:
        return self._reader.inputs(self._inputs(request.X, reset=False))

    def _decode(self, cells: np.ndarray, data: Any) -> Any:
        return self._reader.form.write(cells.reshape(-1, len(self.classes_)), self.classes_)

    def _unpack(self, w: np.ndarray) -> None:
        weights = self._reader.split(w, self._n_columns())
        self.coef_, self.intercept_, self.pairwise_ = weights
        self.edges_ = self.classes_[self._reader.edges]

    def _prediction_cost(self, data: Any) -> SwitchCost:
        return switch_cost(np.zeros((data.n_labels, 2)), np.zeros(len(data.labels)))

    def _scorer(self, request: Request) -> Score:
        # Do not use `_encode`: it keeps only known labels; here all labels are predicted.
        data = self._encode_inputs(request)
        return self._judged(data, self._judge(request, len(data.labels)))

    def _judge(self, request: Request, n_examples: int) -> Judge:
        cost = resolve_cost(self.cost, "switches")
        return cost_judge(cost, self._reader.labels, self._reader.form, request, n_examples)

    def _judged(self, data: Any, judge: Judge) -> Score:
        """Return the function w -> what a judge says of the best label sets."""
        free = self._prediction_cost(data)
        jobs = n_threads(self.n_jobs)

        def score(w: np.ndarray) -> float:
            cells, _ = predict.best_outputs(data, w, free, n_jobs=jobs)
            return judge(cells.reshape(-1, len(self.classes_)))

        return score

    def _score_name(self) -> str:
        is_plain = isinstance(resolve_cost(self.cost, "switches"), Hamming)
        return "1 - hamming_loss" if is_plain else "1 - cost"

    def _measure_names(self) -> tuple[str, ...]:
        return tuple(SET_METRICS)

    def _measure(self, name: str) -> Callable[[Request], Score] | None:
        if name not in SET_METRICS:
            return None
        return partial(self._by_metric, SET_METRICS[name])

    def _by_metric(self, metric: Callable[[Any, Any], float], request: Request) -> Score:
        data = self._encode_inputs(request)
        reader = self._reader
        judge = metric_judge(metric, reader.labels, reader.form, request, len(data.labels))
        return self._judged(data, judge)

    def _layout(self) -> Any:
        reader, names = self._reader, self._feature_names()
        edges, kernel = reader.edges.tolist(), self._kernel_layout()
        columns = [self.n_features_in_, reader.has_bias, names, kernel]
        return [self.classes_.tolist(), *columns, edges]

    def _n_weights(self) -> int:
        return self._reader.n_weights(self._n_columns())

    def _fitted_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        meta, arrays = super()._fitted_state()
        own, more = self._reader.to_state()
        if self.thresholds_ is not None:
            more["thresholds"] = self.thresholds_
        of_kernel, rows = self._kernel_state()
        meta = {**meta, **own, **of_kernel, "features": self._rows_state()}
        return meta, {**arrays, **more, **rows}

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        super()._restore_fitted(fields, arrays)
        self._restore_rows(fields)
        self._restore_kernel(fields, arrays, self.n_features_in_)
        self._read_by(SetReader.from_state(fields, arrays))
        self.thresholds_ = None
        if "thresholds" in arrays:
            self.thresholds_ = arrays.take("thresholds", (len(self.classes_),))

    def _check_restored(self) -> None:
        choose_inference(self.inference_, self._reader.edges, self._reader.labels, cost=None)

    def _check_parameters(self) -> None:
        check_flags(self, "fit_intercept")
        self._check_kernel()
        FeatureTable(self.min_count, self.n_hashed_features)
        resolve_cost(self.cost, "switches")
        check_pairwise(self.pairwise)
        check_inference(self.inference)
        for name in ("oracle_time_limit", "predict_time_limit"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name))
        check_classes(self.classes)

    # -- what is predicted -----------------------------------------------------------------------

    def _output_cells(self, rows: Any, constraints: LabelConstraints | None = None) -> np.ndarray:
        """Return what `predict` returns, as a matrix of 0 and 1."""
        is_free = constraints is None or constraints.is_empty
        if self.thresholds_ is not None:
            excess = self._differences(rows) - self.thresholds_
            if is_free:
                return (excess > 0.0).astype(np.int32)
            scores = PairwiseScores(excess)
        else:
            scores = self._pairwise_scores(rows)
            if is_free and not (scores.is_hard and self.predict_time_limit is not None):
                return self._best_cells(self._reader.inputs(rows)).reshape(scores.unary.shape)
        return scores.best(constraints, self.predict_time_limit, n_threads(self.n_jobs))

    def _score(self, request: Request) -> float:
        # The score is that of what `predict` returns, with thresholds.
        rows = self._inputs(request.X, reset=False)
        return self._judge(request, rows.shape[0])(self._output_cells(rows))

    def _pairwise_scores(self, rows: Any) -> PairwiseScores:
        unary = np.asarray(rows @ self.coef_.T + self.intercept_)
        return PairwiseScores(unary, self._reader.edges, self.pairwise_)

    def _differences(self, rows: Any) -> np.ndarray:
        scores, cells = self._pairwise_scores(rows), None
        if scores.is_hard:
            cells = self._best_cells(self._reader.inputs(rows)).reshape(scores.unary.shape)
        return scores.differences(cells)

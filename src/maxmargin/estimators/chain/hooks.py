"""Chains: what X, y and w mean, for all that estimators share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from maxmargin.core import predict
from maxmargin.costs import Hamming, ZeroOne
from maxmargin.estimators.chain.encoding import ChainOptions, ChainReader
from maxmargin.estimators.chain.outputs import split_weights
from maxmargin.estimators.chain.scores import (
    SEQUENCE_METRICS,
    chunk_f1_of,
    cost_judge,
    default_measure,
    sequence_metric,
)
from maxmargin.estimators.hooks import Hooks
from maxmargin.inputs.constraints import Constraints, resolve_constraints
from maxmargin.inputs.labels import check_class_weight, check_classes
from maxmargin.inputs.request import Request
from maxmargin.inputs.sequence_labels import flatten_labels
from maxmargin.inputs.stored import Arrays, Fields, check_options
from maxmargin.inputs.vocabulary import FeatureTable
from maxmargin.structures import ChainData
from maxmargin.training.scoring import Score, by_prediction
from maxmargin.training.settings import check_flags, n_threads, resolve_cost
from maxmargin.training.task import Task


class ChainHooks(Hooks):
    """The part of `ChainSVM` that knows what X, y and w mean."""

    cost: Any
    constraints: Any
    classes: Iterable[Any] | None
    class_weight: Any
    fit_intercept: bool
    fit_transitions: bool
    fit_start: bool
    fit_end: bool
    min_count: int
    n_hashed_features: int | None
    features_: FeatureTable | None
    _reader: ChainReader
    _weights: Any

    # -- what X and y are ------------------------------------------------------------------------

    def _encode(
        self,
        request: Request,
        *,
        reset: bool,
        classes: Iterable[Any] | None = None,
        weighted: bool = True,
    ) -> Task:
        options = ChainOptions(
            (self.fit_intercept, self.fit_transitions, self.fit_start, self.fit_end),
            FeatureTable(self.min_count, self.n_hashed_features),
            self.classes if classes is None else classes,
            self.constraints,
            resolve_cost(self.cost, "positions"),
            self.class_weight if weighted else None,
        )
        if reset:
            reader, task = ChainReader.learn(request, options)
        else:
            reader, task = self._reader.task(request, options)
        self._read_by(reader)
        return task

    def _read_by(self, reader: ChainReader) -> None:
        self._reader = reader
        self.classes_ = reader.labels.classes
        self.n_features_in_ = reader.layout.n_columns
        self.features_ = reader.table

    def _encode_inputs(self, request: Request) -> ChainData:
        return self._reader.inputs(request, self.constraints)

    def _decode(self, cells: np.ndarray, data: ChainData) -> list[np.ndarray]:
        self._reader.check_possible(cells, data)
        labels = self.classes_[cells]
        return [labels[a:b] for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)]

    def _check_parameters(self) -> None:
        check_flags(self, "fit_intercept", "fit_transitions", "fit_start", "fit_end")
        FeatureTable(self.min_count, self.n_hashed_features)
        check_class_weight(self.class_weight)
        resolve_cost(self.cost, "positions")
        resolve_constraints(self.constraints)
        check_classes(self.classes)

    # -- what the weights are --------------------------------------------------------------------

    def _unpack(self, w: np.ndarray) -> None:
        weights = split_weights(w, self._reader.layout)
        self.coef_ = weights.coef
        self.intercept_ = weights.intercept
        self.transitions_ = weights.transitions
        self.start_ = weights.start
        self.end_ = weights.end
        self._weights = weights

    def _layout(self) -> Any:
        names = None if self.features_ is None else self.features_.names
        return [self.classes_.tolist(), *self._reader.layout, names]

    def _n_weights(self) -> int:
        return self._reader.layout.n_rows * self._reader.layout.n_labels

    # -- what predictions are worth --------------------------------------------------------------

    def _score_name(self) -> str:
        cost = resolve_cost(self.cost, "positions")
        if isinstance(cost, ZeroOne):
            return "sequence_accuracy"
        return "mean_token_accuracy" if isinstance(cost, Hamming) else "1 - cost"

    def _default_measure(self, request: Request) -> str | None:
        return default_measure(request)

    def _measure_names(self) -> tuple[str, ...]:
        return tuple(SEQUENCE_METRICS)

    def _measure(self, name: str) -> Callable[[Request], Score] | None:
        if name not in SEQUENCE_METRICS:
            return None
        if name == "chunk_f1":
            return self._chunk_f1
        constraints = resolve_constraints(self.constraints)
        scheme = None if constraints is None else constraints.scheme
        return lambda request: by_prediction(
            self, sequence_metric(name, request.y, scheme), request
        )

    def _chunk_f1(self, request: Request) -> Score:
        data = self._encode_inputs(request)
        truth = flatten_labels(request.y, data.offsets)
        return self._judged(data, chunk_f1_of(self.classes_, truth, data.offsets))

    def _scorer(self, request: Request) -> Score:
        # Do not use `_encode`: it cuts sequences at unknown labels; here they are predicted whole.
        data = self._encode_inputs(request)
        cost, labels = resolve_cost(self.cost, "positions"), self._reader.labels
        return self._judged(data, cost_judge(cost, labels, request, data.offsets))

    def _judged(self, data: ChainData, judge: Callable[[np.ndarray], float]) -> Score:
        """Return the function w -> score, by a judge of the best labellings at w."""
        free = self._prediction_cost(data)
        jobs = n_threads(self.n_jobs)

        def score(w: np.ndarray) -> float:
            cells, _ = predict.best_outputs(data, w, free, n_jobs=jobs)
            self._reader.check_possible(cells, data)
            return judge(cells)

        return score

    # -- files -----------------------------------------------------------------------------------

    def _fitted_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        meta, arrays = super()._fitted_state()
        own, more = self._reader.to_state()
        return {**meta, **own}, {**arrays, **more}

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        super()._restore_fitted(fields, arrays)
        self._read_by(ChainReader.from_state(fields, arrays, self.n_features_in_))

    def _check_restored(self) -> None:
        self._reader.edges(self.constraints)

    def _param_to_state(self, name: str, value: Any) -> Any:
        if name == "constraints" and isinstance(value, Constraints):
            return value.parameters()
        return super()._param_to_state(name, value)

    def _param_from_state(self, name: str, value: Any) -> Any:
        if name == "constraints" and isinstance(value, dict):
            return Constraints(**check_options(Constraints, value, "constraints"))
        return super()._param_from_state(name, value)

"""What an estimator of one structure must say, and what may be left at its default.

A subclass writes these hooks; everything public here is built on them.

=====================  ============================================================================
`_encode`              `Request` -> `Task`: validated, labels as integers, cost tables, weights
`_encode_inputs`       `Request` -> data to predict on: as in `_encode`, true labels all 0
`_decode`              cells of all outputs -> what `predict` returns
`_unpack`              w -> coef_, intercept_, ...: views of w, so that w is the only truth
`_prediction_cost`     data -> a cost that weighs nothing (default: a table of zeros)
`_check_parameters`    refuse parameters that no data could make right, at `fit` and from a file
`_fitted_state`        extra things a model file must hold; `_restore_fitted` takes them back
`_n_weights`           the length that w must have, by classes, features and flags
`_check_restored`      what of parameters and fitted things must go together to predict
`_param_to_state`      one parameter as a model file holds it; `_param_from_state` takes it back
`_scorer`              `Request` -> the function w -> score, for `score` and `eval_set`
`_score_name`          what `score` measures, by name
`_default_measure`     `Request` -> name of the measure of an `eval_set`; None: `score`
`_measure`             name -> function `Request` -> function w -> score; None: none is called so
`_measure_names`       the names that `_measure` knows
`_predictor`           `Request` -> the function w -> predictions
`_take`                `Request` -> that of some examples, where others are learnt from
`_stratification`      y -> one class per example, for stratified folds (default: plain folds)
`_layout`              what the cells of w mean (classes, features): equal layouts can share w
`_units`               what w's cells are multiplied with to hold for X as it came (default: 1)
`_n_weighed`           how many features a regulariser may weigh (default: `n_features_in_`)
`_weighed_names`       their names, if they have any
`_column_features`     the feature that each column of weights belongs to (default: its own)
`_stage`               settings, `Task` -> both, as they are solved: see training/stages.py
`_kept`                result of a fit -> as the estimator keeps it (default: all of it)
`_structure`           what errors name as the structure (default: self)
=====================  ============================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from maxmargin.core import predict
from maxmargin.core.contract import output_sizes
from maxmargin.costs.tables import free_cost
from maxmargin.inputs.request import Request
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.training import storage
from maxmargin.training.automatic import automatic_solver, is_automatic
from maxmargin.training.scoring import Score
from maxmargin.training.settings import Settings, n_threads
from maxmargin.training.task import Task


class Hooks:
    """The part of an estimator that knows what X, y and w mean."""

    n_jobs: int | None
    solver: Any
    classes_: np.ndarray
    n_features_in_: int
    #: Whether outputs are made of classes; if so, `partial_fit` needs all of them at first.
    has_classes: ClassVar[bool] = True
    #: Whether examples are few and long, as queries are: solver="auto" depends on it.
    has_long_examples: ClassVar[bool] = False

    # -- hooks: what a subclass must write -------------------------------------------------------

    def _encode(
        self,
        request: Request,
        *,
        reset: bool,
        classes: Iterable[Any] | None = None,
        weighted: bool = True,
    ) -> Task:
        """Validate X and y and return them encoded, changing nothing that was passed in.

        reset : learn classes_, n_features_in_ and any vocabulary anew (True: `fit`), or use those
            at hand and refuse what does not fit them (False: `score`, `eval_set`, `partial_fit`)
        classes : labels given by `partial_fit`, in place of the parameter of that name
        weighted : False leaves class_weight out (for `score`)
        """
        raise TypeError(f"{type(self).__name__} does not say how to encode X and y.")

    def _encode_inputs(self, request: Request) -> Any:
        """Validate X against the fitted model and return data to predict on."""
        raise TypeError(f"{type(self).__name__} does not say how to encode X.")

    def _decode(self, cells: np.ndarray, data: Any) -> Any:
        """Return outputs as the user knows them, from the cells of all of them."""
        raise TypeError(f"{type(self).__name__} does not say how to decode outputs.")

    def _unpack(self, w: np.ndarray) -> None:
        """Set coef_ and its like as views of w."""
        raise TypeError(f"{type(self).__name__} does not say what its weights mean.")

    # -- hooks with a default --------------------------------------------------------------------

    def _prediction_cost(self, data: Any) -> Any:
        """Return a cost that is 0 for all outputs; its type chooses the oracle."""
        return free_cost(len(output_sizes(data)), len(self.classes_))

    def _scorer(self, request: Request) -> Score:
        """Return the function w -> 1 - mean normalised cost of the request."""
        task = self._encode(request, reset=False, weighted=False)
        largest = predict.largest_costs_of(task.data, task.cost)
        free = self._prediction_cost(task.data)
        n_jobs = n_threads(self.n_jobs)

        def score(w: np.ndarray) -> float:
            _, costs = predict.best_outputs(task.data, w, free, task.cost, n_jobs)
            return predict.mean_score(costs, largest, task.weight)

        return score

    def _score_name(self) -> str:
        """Return what `score` measures, by name."""
        return "1 - cost"

    def _default_measure(self, request: Request) -> str | None:
        """Return the name of the measure that an `eval_set` is scored by; None: `score`."""
        return None

    def _measure(self, name: str) -> Callable[[Request], Score] | None:
        """Return the measure of this name, as a function request -> (w -> score)."""
        return None

    def _measure_names(self) -> tuple[str, ...]:
        """Return the names that `_measure` knows, for errors."""
        return ()

    def _predictor(self, request: Request) -> Callable[[np.ndarray], Any]:
        """Return the function w -> what `predict` returns; X is encoded once."""
        data = self._encode_inputs(request)
        free = self._prediction_cost(data)
        jobs = n_threads(self.n_jobs)
        return lambda w: self._decode(predict.best_outputs(data, w, free, n_jobs=jobs)[0], data)

    def _take(self, request: Request, which: np.ndarray, train: np.ndarray) -> Request:
        """Return the request of the examples `which`, for a model that learns from `train`."""
        return request.take(which)

    def _stratification(self, y: Any) -> np.ndarray | None:
        """Return one class per example for `path` to stratify folds by; None for plain folds."""
        return None

    def _layout(self) -> Any:
        """Return what the cells of w mean, as a value that can be compared."""
        return [list(self.classes_), self.n_features_in_]

    def _units(self) -> np.ndarray | None:
        """Return the factor of each cell of w that makes it fit X as the user gave it; None: 1.

        Other data may have other units; a warm start converts w to them.
        """
        return None

    def _weights_to_arrays(self, w: Any) -> dict[str, np.ndarray]:
        """Return the weights as arrays for a model file."""
        return {"w": w}

    def _weights_from_arrays(self, arrays: Arrays) -> Any:
        """Return the weights that `_weights_to_arrays` wrote; refuse others."""
        return arrays.take("w", (self._n_weights(),))

    def _n_weighed(self) -> int:
        """Return how many features a regulariser may give weights of their own."""
        return int(self.n_features_in_)

    def _weighed_names(self) -> Sequence[str] | None:
        """Return the names of these features; None if they have none."""
        table = getattr(self, "features_", None)
        names = getattr(self, "feature_names_in_", None) if table is None else table.names
        return None if names is None else list(names)

    def _column_features(self) -> np.ndarray | None:
        """Return the feature that each column of weights belongs to; None: each is one."""
        columns = getattr(self, "columns_", None)
        return None if columns is None else columns.features()

    def _named_solver(self) -> Any:
        """Return the parameter `solver`, or the solver that "auto" stands for here."""
        return automatic_solver(self) if is_automatic(self.solver) else self.solver

    def _stage(self, settings: Settings, task: Task) -> tuple[Settings, Task]:
        """Return settings and task as they are to be solved."""
        return settings, task

    def _kept(self, result: Any, problem: Any) -> Any:
        """Return the result of a fit as the estimator keeps it."""
        return result

    def _structure(self) -> Any:
        """Return the object that errors name as the structure."""
        return self

    def _fitted_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (meta, arrays) of what was fitted besides result_; extend it in a subclass."""
        return storage.common_state(self)

    def _check_parameters(self) -> None:
        """Refuse parameters of this estimator that are wrong whatever the data are."""

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        """Take back what `_fitted_state` gave, each of it checked; called before `_unpack`."""
        storage.restore_features(self, fields)

    def _n_weights(self) -> int | None:
        """Return the length of w that follows from what was fitted; None if nothing tells it."""
        return None

    def _check_restored(self) -> None:
        """Refuse parameters that do not go with what was fitted; called before `_unpack`."""

    def _param_to_state(self, name: str, value: Any) -> Any:
        """Return a parameter as a model file can hold it (names, numbers, text, containers)."""
        return storage.param_to_state(name, value)

    def _param_from_state(self, name: str, value: Any) -> Any:
        """Return the parameter that `_param_to_state` was given."""
        return storage.param_from_state(name, value)

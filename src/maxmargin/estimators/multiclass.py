"""MulticlassSVM: one class of several for each row of X."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.contract import provided_by
from maxmargin.costs import Hamming, WholeCost, ZeroOne, tabulate
from maxmargin.estimators.base import BaseSVM, Training
from maxmargin.inputs.checks import check_number, check_weights
from maxmargin.inputs.columns import check_columns
from maxmargin.inputs.labels import (
    Labels,
    check_class_weight,
    check_classes,
    class_weights,
    label_vector,
)
from maxmargin.inputs.rows import RowInputs
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.inputs.vocabulary import FeatureTable
from maxmargin.persistence import register
from maxmargin.structures.classes.data import MulticlassData, multiclass_data
from maxmargin.training.partial import online_only
from maxmargin.training.settings import check_flags, resolve_cost


@register
class MulticlassSVM(RowInputs, ClassifierMixin, BaseSVM):
    """Linear classifier of several classes, learnt to a certified gap.

    Minimises, with lam = 1/(C n) and w_k the weights of class k,

        lam/2 sum_k |w_k|^2 + 1/n sum_i s_i max_k [ cost(k, y_i) + w_k.x_i - w_{y_i}.x_i ]

    (Crammer and Singer's machine where the cost is zero-one). The intercept is a constant feature
    and is regularised as the others are.

    Parameters
    ----------
    C : float > 0
        Weight of the training losses against |w|^2/2, as in scikit-learn's LinearSVC.
    cost : {"zero_one", "hamming"} or object
        Task loss; `CostMatrix` says what mistaking one class for another costs.
    solver : str or Solver
        "auto" is "sdca", which goes over the classes of every example, and is the fastest. It keeps
        a number for each example and class: with very many classes "bcfw" keeps fewer.
    surrogate, search, tol, max_iter, time_budget, patience, scoring, n_jobs, random_state, \
warm_start, callbacks, verbose
        As in `BaseSVM`.
    fit_intercept : bool
    classes : list or None
        All labels, in the order of `classes_`; may name more than occur. None: those that occur,
        sorted.
    class_weight : dict, "balanced" or None
        Factor of s_i by class; "balanced" gives every class the same total.
    missing : {"indicator", "mean", "zero", "error"}
        What is done about values that are missing, NaN: "mean" puts the feature's mean over the
        training rows in their place, "indicator" also adds a column, for each feature that had
        some at fit, which is 1 where it is missing; "zero" puts zeros, "error" refuses them.
    min_count, hashing : int, int or None
        For rows that are dictionaries or lists of names; see `FeatureTable`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_columns)
        The columns are the features, and those that `missing` added behind them, as
        `get_feature_names_out` names them; of data without gaps the features alone.
    columns_ : Columns
        How many values were missing, in which features, and what was done; print it.
    intercept_ : ndarray of shape (n_labels,)
    classes_ : ndarray of shape (n_labels,)
    result_ : Result
    features_ : FeatureTable or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVM(C=0.1, tol=0.01, random_state=0).fit(X, y)
    >>> model.result_.status, bool(model.result_.relative_gap <= 0.01)
    ('converged', True)
    >>> model.score(X, y) > 0.9
    True
    """

    provides: ClassVar[frozenset[str]] = provided_by(MulticlassData)
    coef_: np.ndarray
    intercept_: np.ndarray

    def __init__(
        self,
        *,
        C: float = 1.0,
        cost: Any = "zero_one",
        surrogate: Any = "margin",
        search: Any = "auto",
        solver: Any = "auto",
        tol: float = 1e-2,
        max_iter: int = 1000,
        time_budget: float | None = None,
        patience: int | None = None,
        scoring: Any = None,
        fit_intercept: bool = True,
        classes: Iterable[Any] | None = None,
        class_weight: Any = None,
        missing: str = "indicator",
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
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.class_weight = class_weight
        self.missing = missing
        self.min_count = min_count
        self.hashing = hashing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags

    # -- scikit-learn calls the labels of classes y, and at times passes them by name -------------

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        eval_set: tuple[Any, Any] | None = None,
        resume: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from rows X and their labels y; the rest is as in `BaseSVM.fit`."""
        return super().fit(X, y, sample_weight, eval_set, resume)

    @online_only
    def partial_fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        classes: Iterable[Any] | None = None,
        sample_weight: Any = None,
        *,
        lam: float | None = None,
        n_total: int | None = None,
    ) -> Self:
        """Make one pass over a batch of rows; see `BaseSVM.partial_fit`."""
        return self._partial_fit(X, y, classes, sample_weight, lam=lam, n_total=n_total)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return 1 - the mean of the cost as a share of the largest: accuracy, for zero-one."""
        return BaseSVM.score(self, X, y, sample_weight)

    # -- hooks -----------------------------------------------------------------------------------

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
        rows = self._columned(self._rows(X, reset), reset)
        n_examples = rows.shape[0]
        values = label_vector(Y, n_examples)
        weight = check_weights(sample_weight, n_examples)
        if reset:
            named = classes if classes is not None else self.classes
            self._has_bias = bool(self.fit_intercept)
            self._labels = Labels.learn(values, named)
            self.classes_ = self._labels.classes
            self._check_classes()
        codes = self._labels.encode(values)
        if weighted:
            factors = class_weights(self.class_weight, self._labels, codes, weight)
            weight = weight * factors[codes]
            if not weight.any():
                raise ValueError(
                    "class_weight times sample_weight is zero for every sample: there is nothing "
                    "to learn from."
                )
        data = multiclass_data(rows, codes, len(self.classes_), self._has_bias)
        cost = tabulate(resolve_cost(self.cost, "positions"), data, self.classes_)
        return Training(data, cost, n_examples, weight)

    def _encode_inputs(self, X: Any) -> MulticlassData:
        rows = self._columned(self._rows(X, reset=False), reset=False)
        codes = np.zeros(rows.shape[0], dtype=np.int32)
        return multiclass_data(rows, codes, len(self.classes_), self._has_bias)

    def _decode(self, cells: np.ndarray, data: MulticlassData) -> np.ndarray:
        return self.classes_[cells]

    def _unpack(self, w: np.ndarray) -> None:
        n_labels = len(self.classes_)
        blocks = w.reshape(-1, n_labels)
        self.coef_ = blocks[: self.columns_.n_columns].T
        self.intercept_ = blocks[-1] if self._has_bias else np.zeros(n_labels)

    def _prediction_cost(self, data: MulticlassData) -> WholeCost:
        return WholeCost(np.zeros(len(data.labels)))

    def _score_name(self) -> str:
        is_plain = isinstance(resolve_cost(self.cost, "positions"), (ZeroOne, Hamming))
        return "accuracy" if is_plain else "1 - cost"

    def _stratification(self, Y: Any) -> np.ndarray:
        values = label_vector(Y, len(Y))
        return Labels.learn(values, self.classes).encode(values)

    def _layout(self) -> Any:
        names = self._feature_names()
        columns = self.columns_.layout()
        return [self.classes_.tolist(), self.n_features_in_, self._has_bias, names, columns]

    def _fitted_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        meta, arrays = super()._fitted_state()
        meta["has_bias"] = self._has_bias
        meta["features"] = self._rows_state()
        meta["columns"], of_columns = self.columns_.to_state()
        return meta, {**arrays, **of_columns}

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        super()._restore_fitted(fields, arrays)
        self._restore_rows(fields)
        self._restore_columns(fields, arrays)
        self._has_bias = fields.flag("has_bias")
        self._labels = fields.labels("classes_", least=2)
        self.classes_ = self._labels.classes

    def _n_weights(self) -> int:
        return (self.columns_.n_columns + self._has_bias) * len(self.classes_)

    def _check_parameters(self) -> None:
        check_flags(self, "fit_intercept")
        check_columns(self.missing)
        FeatureTable(self.min_count, self.hashing)
        check_class_weight(self.class_weight)
        resolve_cost(self.cost, "positions")
        check_classes(self.classes)

    def _check_classes(self) -> None:
        if len(self.classes_) < 2:
            raise ValueError(
                f"There is only one class, {self.classes_.tolist()[0]!r}; at least 2 are needed "
                "(the parameter classes may name more than occur in Y)."
            )

    # -- using -----------------------------------------------------------------------------------

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "result_")
        rows = self._columned(self._rows(X, reset=False), reset=False)
        return np.asarray(rows @ self.coef_.T + self.intercept_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of the classes.

        Returns
        -------
        ndarray of shape (n_samples, n_labels); for two classes of shape (n_samples,), the score of
        the second less that of the first, as scikit-learn has it
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_topk(self, X: Any, k: int = 2) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best classes of every row, best first, and their scores.

        Returns
        -------
        labels : ndarray of shape (n_samples, min(k, n_labels))
        scores : float64 ndarray of the same shape
        """
        check_number("k", k, 1, closed=True, integer=True)
        scores = self._scores(X)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return self.classes_[order], np.take_along_axis(scores, order, axis=1)

    def predict_marginals(self, X: Any, temperature: float = 1.0) -> np.ndarray:
        """Return p(k) ~ exp(score_k / temperature), of shape (n_samples, n_labels).

        A max-margin machine is not trained for probabilities: calibrate before trusting them.
        """
        check_number("temperature", temperature)
        return np.asarray(softmax(self._scores(X) / temperature, axis=1))

"""MulticlassSVM: one class of several for each row of X."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Unpack

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from maxmargin.costs import Hamming, WholeCost, ZeroOne, tabulate
from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.face import Common
from maxmargin.estimators.topk import TopK
from maxmargin.inputs.checks import check_number, check_weights
from maxmargin.inputs.columns import check_columns
from maxmargin.inputs.kernel_rows import KernelInputs
from maxmargin.inputs.labels import (
    Labels,
    check_class_weight,
    check_classes,
    class_weights,
    label_vector,
)
from maxmargin.inputs.request import Request
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.inputs.vocabulary import FeatureTable
from maxmargin.persistence import register
from maxmargin.structures.classes.data import MulticlassData, multiclass_data
from maxmargin.training.settings import check_flags, resolve_cost
from maxmargin.training.task import Task


@register
class MulticlassSVM(KernelInputs, ClassifierMixin, BaseSVM):
    """Linear classifier of several classes, learnt to a certified gap.

    Minimises, with lam = 1/(C n) and w_k the weights of class k,

        lam/2 sum_k |w_k|^2 + 1/n sum_i s_i max_k [ cost(k, y_i) + w_k.x_i - w_{y_i}.x_i ]

    (Crammer and Singer's machine where the cost is zero-one). The intercept is a constant feature
    and is regularised as the others are.

    Parameters
    ----------
    cost : {"zero_one", "hamming"} or object
        Task loss; `CostMatrix` says what mistaking one class for another costs.
    solver : str or Solver
        "auto" is "sdca", which goes over the classes of every example, and is the fastest. It keeps
        a number for each example and class: with very many classes "bcfw" keeps fewer.
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
    min_count, n_hashed_features : int, int or None
        For rows that are dictionaries or lists of names; see `FeatureTable`.
    kernel : None, str, kernel or callable
        None learns weights of features. "linear", "rbf", "poly", "precomputed" or an object of
        `maxmargin.features.kernels` compares rows in their place, and weights are coefficients
        of training rows; "subsequence" compares strings, a callable (X, Y) -> products any rows.
    cache_size : float
        MB that columns of the Gram matrix of the training rows may take.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_columns)
        The columns are the features, and those that `missing` added behind them, as
        `get_feature_names_out` names them; of data without gaps the features alone.
    columns_ : Columns
        How many values were missing, in which features, and what was done; print it.
    support_ : ndarray
        With a kernel: the training rows that have coefficients; `coef_` has a column for each.
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

    coef_: np.ndarray
    intercept_: np.ndarray

    defaults: ClassVar[Common] = {"cost": "zero_one"}
    score = BaseSVM.score  # not that of ClassifierMixin, which knows no cost

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        classes: Iterable[Any] | None = None,
        class_weight: Any = None,
        missing: str = "indicator",
        min_count: int = 1,
        n_hashed_features: int | None = None,
        kernel: Any = None,
        cache_size: float = 1000.0,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(**common)
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.class_weight = class_weight
        self.missing = missing
        self.min_count = min_count
        self.n_hashed_features = n_hashed_features
        self.kernel = kernel
        self.cache_size = cache_size

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags

    # -- hooks -----------------------------------------------------------------------------------

    def _encode(
        self,
        request: Request,
        *,
        reset: bool,
        classes: Iterable[Any] | None = None,
        weighted: bool = True,
    ) -> Task:
        rows = self._inputs(request.X, reset)
        n_examples = rows.shape[0]
        values = label_vector(request.y, n_examples)
        weight = check_weights(request.sample_weight, n_examples)
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
        return Task(data, cost, n_examples, weight)

    def _encode_inputs(self, request: Request) -> MulticlassData:
        rows = self._inputs(request.X, reset=False)
        codes = np.zeros(rows.shape[0], dtype=np.int32)
        return multiclass_data(rows, codes, len(self.classes_), self._has_bias)

    def _decode(self, cells: np.ndarray, data: MulticlassData) -> np.ndarray:
        return self.classes_[cells]

    def _unpack(self, w: np.ndarray) -> None:
        n_labels = len(self.classes_)
        blocks = w.reshape(-1, n_labels)
        self.coef_ = blocks[: self._n_columns()].T
        self.intercept_ = blocks[-1] if self._has_bias else np.zeros(n_labels)

    def _prediction_cost(self, data: MulticlassData) -> WholeCost:
        return WholeCost(np.zeros(len(data.labels)))

    def _score_name(self) -> str:
        is_plain = isinstance(resolve_cost(self.cost, "positions"), (ZeroOne, Hamming))
        return "accuracy" if is_plain else "1 - cost"

    def _stratification(self, y: Any) -> np.ndarray:
        values = label_vector(y, len(y))
        return Labels.learn(values, self.classes).encode(values)

    def _layout(self) -> Any:
        names = self._feature_names()
        columns = self.columns_.layout(), self._kernel_layout()
        return [self.classes_.tolist(), self.n_features_in_, self._has_bias, names, columns]

    def _fitted_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        meta, arrays = super()._fitted_state()
        meta["has_bias"] = self._has_bias
        meta["features"] = self._rows_state()
        meta["columns"], of_columns = self.columns_.to_state()
        of_kernel, rows = self._kernel_state()
        return {**meta, **of_kernel}, {**arrays, **of_columns, **rows}

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        super()._restore_fitted(fields, arrays)
        self._restore_rows(fields)
        self._restore_columns(fields, arrays)
        self._restore_kernel(fields, arrays, self.columns_.n_columns)
        self._has_bias = fields.flag("has_bias")
        self._labels = fields.labels("classes_", least=2)
        self.classes_ = self._labels.classes

    def _n_weights(self) -> int:
        return (self._n_columns() + self._has_bias) * len(self.classes_)

    def _check_parameters(self) -> None:
        check_flags(self, "fit_intercept")
        self._check_kernel()
        check_columns(self.missing)
        FeatureTable(self.min_count, self.n_hashed_features)
        check_class_weight(self.class_weight)
        resolve_cost(self.cost, "positions")
        check_classes(self.classes)

    def _check_classes(self) -> None:
        if len(self.classes_) < 2:
            raise ValueError(
                f"There is only one class, {self.classes_.tolist()[0]!r}; at least 2 are needed "
                "(the parameter classes may name more than occur in y)."
            )

    # -- using -----------------------------------------------------------------------------------

    def _scores(self, request: Request) -> np.ndarray:
        rows = self._inputs(request.X, reset=False)
        return np.asarray(rows @ self.coef_.T + self.intercept_)

    def decision_function(self, X: Any, **beside: Any) -> np.ndarray:
        """Return the scores of the classes.

        Returns
        -------
        ndarray of shape (n_samples, n_labels); for two classes of shape (n_samples,), the score of
        the second less that of the first, as scikit-learn has it
        """
        scores = self._scores(self._question(X, **beside))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_topk(self, X: Any, k: int = 2, **beside: Any) -> TopK:
        """Return the k best classes of every row, best first, and their scores.

        Returns
        -------
        TopK : outputs, an ndarray of shape (n_samples, min(k, n_labels)), and their scores, of the
            same shape
        """
        check_number("k", k, 1, closed=True, integer=True)
        scores = self._scores(self._question(X, **beside))
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return TopK(self.classes_[order], np.take_along_axis(scores, order, axis=1))

    def predict_marginals(self, X: Any, *, temperature: float = 1.0, **beside: Any) -> np.ndarray:
        """Return p(k) ~ exp(score_k / temperature), of shape (n_samples, n_labels).

        A max-margin machine is not trained for probabilities: calibrate before trusting them.
        """
        check_number("temperature", temperature)
        return np.asarray(softmax(self._scores(self._question(X, **beside)) / temperature, axis=1))

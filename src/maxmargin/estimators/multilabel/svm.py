"""MultilabelSVM: any number of labels for each row of X."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core import predict
from maxmargin.core.contract import switches
from maxmargin.costs import Hamming, SwitchCost, tabulate
from maxmargin.costs.tables import switch_cost
from maxmargin.estimators.base import BaseSVM, Training
from maxmargin.estimators.multilabel.edges import (
    best_inference,
    check_cost_fits,
    check_edges,
    check_inference,
    check_pairwise,
    choose_inference,
    label_edges,
    label_groups,
)
from maxmargin.estimators.multilabel.measures import SET_METRICS
from maxmargin.estimators.multilabel.outputs import PairwiseScores
from maxmargin.estimators.multilabel.thresholds import best_thresholds
from maxmargin.inference import LabelConstraints
from maxmargin.inputs.checks import check_number, check_weights
from maxmargin.inputs.label_sets import LabelMatrix, SetForm, label_matrix
from maxmargin.inputs.labels import Labels, check_classes
from maxmargin.inputs.rows import RowInputs
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.inputs.vocabulary import FeatureTable
from maxmargin.persistence import register
from maxmargin.structures import labels_data
from maxmargin.structures.labels.build import PROGRAMS
from maxmargin.structures.labels.data import INFERENCES
from maxmargin.training.settings import check_flags, n_threads, resolve_cost


@register
class MultilabelSVM(RowInputs, BaseSVM):
    """Label sets: any number of labels for each row, scored one by one and in pairs.

    The score of a label set y of a row x is sum_j y_j (w_j.x + b_j) + sum_e v_e y_a y_b, where
    e = (a, b) runs over the pairs of labels that `pairwise` says. Minimises, with lam = 1/(C n) and
    h_i(y) = score(x_i, y) - score(x_i, y_i),

        lam/2 |(w, b, v)|^2 + 1/n sum_i s_i max_y psi( h_i(y), cost(y, y_i) )

    Without pairs, with the cost "hamming" and the surrogate "margin" that is one linear machine a
    label, all of the same C.

    Parameters
    ----------
    C : float > 0
        Weight of the training losses against |w|^2/2, as in scikit-learn's LinearSVC.
    cost : {"hamming", "zero_one", "f1"} or object
        Task loss: how many labels are wrong (their share: ``Hamming("mean")``), whether any is, or
        1 - F1 of the set. `ClassWeighted` has a weight a label.
    surrogate, search, solver, tol, max_iter, time_budget, patience, scoring, n_jobs, \
random_state, warm_start, callbacks, verbose
        As in `BaseSVM`. The surrogate "micro_f1" has a cost of its own.
    pairwise : {"none", "full", "tree"} or list of pairs of labels
        The pairs that have a weight: none; all; a spanning tree of the labels that say most about
        each other, learnt from Y (with `partial_fit`, from the first batch); or those given.
    inference : str
        How label sets are searched in training. "auto": without pairs label by label; by dynamic
        programming where the pairs form a forest; by listing all sets of at most 16 labels; else
        "relaxed", whose label sets may have halves: `result_.objective` says so. "pairwise" is a
        search over label sets proper, with a bound for what it may miss. "program" and
        "relaxed_program" ask HiGHS, exact but slow. Each can also be named: "independent", "tree",
        "listed". Predictions are always label sets proper.
    oracle_time_limit : float or None
        Seconds for each programme in training; where it strikes, its bound is used.
    predict_time_limit : float or None
        Where the pairs form no forest and there are more than 16 labels: None predicts by roof
        duality and a local search. A number asks HiGHS for the best set, with at most so many
        seconds a row. With constraints HiGHS is asked in any case, and None sets it no limit.
    fit_intercept : bool
    classes : list or None
        All labels, in the order of `classes_`: the columns of Y, or more labels than its sets have.
        None: the labels that occur, sorted; of a matrix 0, 1, ...
    min_count, hashing : int, int or None
        For rows that are dictionaries or lists of names; see `FeatureTable`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    pairwise_ : ndarray of shape (n_pairs,)
        What it adds to the score to have both labels of a pair.
    edges_ : ndarray of shape (n_pairs, 2)
        The pairs, as labels.
    classes_ : ndarray of shape (n_labels,)
    missing_labels_, universal_labels_ : list
        Labels that are nowhere on in Y, and nowhere off.
    inference_ : str
        How label sets were searched in training.
    thresholds_ : ndarray of shape (n_labels,) or None
        See `tune_thresholds`.
    result_ : Result
    features_ : FeatureTable or None

    Examples
    --------
    >>> X = [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
    >>> Y = [["b"], ["a", "b"], ["a"], []]
    >>> model = MultilabelSVM(C=10, random_state=0).fit(X, Y)
    >>> model.predict(X)
    [('b',), ('a', 'b'), ('a',), ()]
    >>> model.predict(X, at_most=1)[1] in [("a",), ("b",)]
    True
    >>> import numpy as np
    >>> model = MultilabelSVM(C=10, pairwise="full", random_state=0).fit(X, np.eye(4, 3, dtype=int))
    >>> model.predict(X).shape, model.edges_.tolist(), model.inference_
    ((4, 3), [[0, 1], [0, 2], [1, 2]], 'listed')
    """

    coef_: np.ndarray
    intercept_: np.ndarray
    pairwise_: np.ndarray
    edges_: np.ndarray
    inference_: str
    missing_labels_: list[Any]
    universal_labels_: list[Any]
    thresholds_: np.ndarray | None

    def __init__(
        self,
        *,
        C: float = 1.0,
        cost: Any = "hamming",
        surrogate: Any = "margin",
        search: Any = "auto",
        solver: Any = "auto",
        pairwise: Any = "none",
        inference: str = "auto",
        oracle_time_limit: float | None = None,
        predict_time_limit: float | None = None,
        tol: float = 1e-2,
        max_iter: int = 1000,
        time_budget: float | None = None,
        patience: int | None = None,
        scoring: Any = None,
        fit_intercept: bool = True,
        classes: Iterable[Any] | None = None,
        min_count: int = 1,
        hashing: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        callbacks: Sequence[Any] | None = None,
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
        self.pairwise = pairwise
        self.inference = inference
        self.oracle_time_limit = oracle_time_limit
        self.predict_time_limit = predict_time_limit
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.min_count = min_count
        self.hashing = hashing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    def fit(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        eval_set: tuple[Any, Any] | None = None,
        resume: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from rows and their label sets.

        Parameters
        ----------
        X : matrix, dense or sparse, feature dictionaries or lists of feature names
        Y : indicator matrix, dense or sparse, or one collection of labels for each row
            1 is on, 0 off, -1 unknown: such a label counts for nothing in its row. A list of lists
            is taken for what it can only be, and refused where it can be both: pass an array, or
            sets. `predict` returns the form that was given here.
        sample_weight, eval_set, resume : as in `BaseSVM.fit`
        """
        super().fit(X, Y, sample_weight, eval_set, resume)
        for names, where, fate in (
            (self.missing_labels_, "on", "off"),
            (self.universal_labels_, "off", "on"),
        ):
            if names:
                warnings.warn(
                    f"{len(names)} label(s) are nowhere {where} in Y, so that nothing is known of "
                    f"when they are; they are learnt to be {fate}: {Labels(names).some()}.",
                    UserWarning,
                    stacklevel=2,
                )
        return self

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
        cost = resolve_cost(self.cost, "switches")
        rows = self._rows(X, reset)
        n_examples = rows.shape[0]
        if reset:
            named = classes if classes is not None else self.classes
            matrix = label_matrix(Y, n_examples, classes=named)
        else:
            matrix = label_matrix(Y, n_examples, self._labels, form=self._form)
        weight = check_weights(sample_weight, n_examples)
        if reset:
            self._learn_layout(matrix, cost)
        else:
            self._see(matrix)
        self.thresholds_ = None
        data = labels_data(
            rows,
            matrix.cells,
            self._edges,
            bias=self._has_bias,
            inference=self.inference_,
            time_limit=self.oracle_time_limit if self.inference_ in PROGRAMS else None,
        )
        tables = tabulate(cost, data, self.classes_)
        check_cost_fits(self.inference_, cost, tables)
        return Training(data, tables, n_examples, weight)

    def _learn_layout(self, matrix: LabelMatrix, cost: Any) -> None:
        self._has_bias = bool(self.fit_intercept)
        self._labels, self._form = matrix.labels, matrix.form
        self.classes_ = matrix.labels.classes
        self.missing_labels_ = matrix.never(1)
        self.universal_labels_ = [x for x in matrix.never(0) if x not in self.missing_labels_]
        self._edges = label_edges(self.pairwise, matrix)
        self.inference_ = choose_inference(self.inference, self._edges, self._labels, cost)
        if self.oracle_time_limit is not None and self.inference_ not in PROGRAMS:
            raise ValueError(
                f"oracle_time_limit is for programmes ({', '.join(PROGRAMS)}), but inference is "
                f"{self.inference_!r}, which needs none."
            )

    def _see(self, matrix: LabelMatrix) -> None:
        """Take note of the labels that occur in a further batch."""
        on, off = matrix.never(1), matrix.never(0)
        self.missing_labels_ = [label for label in self.missing_labels_ if label in on]
        self.universal_labels_ = [label for label in self.universal_labels_ if label in off]

    def _encode_inputs(self, X: Any) -> Any:
        return self._inputs(self._rows(X, reset=False))

    def _inputs(self, rows: Any) -> Any:
        """Return data to predict on, by the best inference that there is."""
        cells = np.zeros((rows.shape[0], len(self.classes_)), dtype=np.int32)
        inference = best_inference(self._edges, len(self.classes_))
        return labels_data(rows, cells, self._edges, bias=self._has_bias, inference=inference)

    def _decode(self, cells: np.ndarray, data: Any) -> Any:
        return self._form.write(cells.reshape(-1, len(self.classes_)), self.classes_)

    def _unpack(self, w: np.ndarray) -> None:
        m = len(self.classes_)
        n_single = (self.n_features_in_ + self._has_bias) * m
        blocks = w[:n_single].reshape(-1, m)
        self.coef_ = blocks[: self.n_features_in_].T
        self.intercept_ = blocks[-1] if self._has_bias else np.zeros(m)
        self.pairwise_ = w[n_single:]
        self.edges_ = self.classes_[self._edges]

    def _prediction_cost(self, data: Any) -> SwitchCost:
        return switch_cost(np.zeros((data.n_labels, 2)), np.zeros(len(data.labels)))

    def _scorer(self, X: Any, Y: Any, sample_weight: Any = None) -> Callable[[np.ndarray], float]:
        # Not by `_encode`: there an example is its known labels, here it is predicted whole.
        data = self._encode_inputs(X)
        judge = self._judge(Y, len(data.labels), sample_weight)
        free = self._prediction_cost(data)
        jobs = n_threads(self.n_jobs)
        return lambda w: judge(predict.best_outputs(data, w, free, n_jobs=jobs)[0])

    def _score_name(self) -> str:
        is_plain = isinstance(resolve_cost(self.cost, "switches"), Hamming)
        return "1 - hamming_loss" if is_plain else "1 - cost"

    def _measure_names(self) -> tuple[str, ...]:
        return tuple(SET_METRICS)

    def _measure(self, name: str) -> Callable[[Any, Any], Callable[[np.ndarray], float]] | None:
        return partial(self._by_metric, SET_METRICS[name]) if name in SET_METRICS else None

    def _by_metric(
        self, metric: Callable[[Any, Any], float], X: Any, Y: Any
    ) -> Callable[[np.ndarray], float]:
        """Return the function w -> metric, on indicator matrices whatever form Y has."""
        data = self._encode_inputs(X)
        truth = label_matrix(Y, len(data.labels), self._labels, form=self._form).cells
        free = self._prediction_cost(data)
        jobs = n_threads(self.n_jobs)

        def score(w: np.ndarray) -> float:
            cells, _ = predict.best_outputs(data, w, free, n_jobs=jobs)
            return metric(truth, cells.reshape(truth.shape))

        return score

    def _judge(self, Y: Any, n_examples: int, sample_weight: Any) -> Callable[[np.ndarray], float]:
        """Return the function from the cells of all outputs to their score."""
        truth = label_matrix(Y, n_examples, self._labels, form=self._form).cells
        weight = check_weights(sample_weight, n_examples) * (truth >= 0).any(axis=1)
        if not weight.any():
            raise ValueError("Y has no known label in a sample of positive weight.")
        cost, parts = resolve_cost(self.cost, "switches"), switches(truth)

        def judge(cells: np.ndarray) -> float:
            found, largest = cost.costs_of(parts, self.classes_, cells)
            return predict.mean_score(found, largest, weight)

        return judge

    def _layout(self) -> Any:
        names = self._feature_names()
        edges = self._edges.tolist()
        return [self.classes_.tolist(), self.n_features_in_, self._has_bias, names, edges]

    def _fitted_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        meta, arrays = super()._fitted_state()
        meta["has_bias"] = self._has_bias
        meta["features"] = self._rows_state()
        meta["form"] = [self._form.kind, self._form.dtype]
        for name in ("inference_", "missing_labels_", "universal_labels_"):
            meta[name] = getattr(self, name)
        arrays["edges"] = self._edges
        if self.thresholds_ is not None:
            arrays["thresholds"] = self.thresholds_
        return meta, arrays

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        super()._restore_fitted(fields, arrays)
        self._restore_rows(fields)
        self._has_bias = fields.flag("has_bias")
        self._labels = fields.labels("classes_", least=1)
        self.classes_ = self._labels.classes
        self._form = SetForm.from_state(fields.take("form"))
        self.inference_ = fields.text("inference_", (*INFERENCES, *PROGRAMS))
        self.missing_labels_ = fields.some_labels("missing_labels_", self._labels)
        self.universal_labels_ = fields.some_labels("universal_labels_", self._labels)
        m = len(self.classes_)
        self._edges = arrays.take("edges", (None, 2), np.int32, 0, m)
        check_edges(self._edges, self._labels)
        self.thresholds_ = None
        if "thresholds" in arrays:
            self.thresholds_ = arrays.take("thresholds", (m,))

    def _check_restored(self) -> None:
        choose_inference(self.inference_, self._edges, self._labels, cost=None)

    def _n_weights(self) -> int:
        return (self.n_features_in_ + self._has_bias) * len(self.classes_) + len(self._edges)

    def _check_parameters(self) -> None:
        check_flags(self, "fit_intercept")
        FeatureTable(self.min_count, self.hashing)
        resolve_cost(self.cost, "switches")
        check_pairwise(self.pairwise)
        check_inference(self.inference)
        for name in ("oracle_time_limit", "predict_time_limit"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name))
        check_classes(self.classes)

    # -- using -----------------------------------------------------------------------------------

    def predict(
        self,
        X: Any,
        *,
        at_least: int = 0,
        at_most: int | None = None,
        exclusive: Sequence[Sequence[Any]] = (),
        implies: Sequence[tuple[Any, Any]] = (),
    ) -> Any:
        """Return the best label set of every row that satisfies the constraints.

        Parameters
        ----------
        X : as in `fit`
        at_least, at_most : int, and int or None for no limit
            Bounds on the number of labels that are on.
        exclusive : groups of labels
            At most one label of each group is on.
        implies : pairs (a, b) of labels
            b is on wherever a is.

        Returns
        -------
        What Y was at fit: an indicator matrix, dense or CSR, or a list of tuples of labels.

        Notes
        -----
        With thresholds tuned, the labels are those whose `decision_function` is above them; with
        constraints too, the set of largest total excess over them.
        """
        check_is_fitted(self, "result_")
        constraints = LabelConstraints(
            at_least,
            at_most,
            label_groups("exclusive", exclusive, self._labels),
            label_groups("implies", implies, self._labels, size=2),
        )
        constraints.check(len(self.classes_))
        cells = self._output_cells(self._rows(X, reset=False), constraints)
        return self._form.write(cells, self.classes_)

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
                return self._best_cells(self._inputs(rows)).reshape(scores.unary.shape)
        return scores.best(constraints, self.predict_time_limit, n_threads(self.n_jobs))

    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Return 1 - the mean of the cost of predictions, as a share of the largest possible.

        `maxmargin.metrics` has F1, Jaccard's accuracy and others. Unknown labels of Y count for
        nothing.
        """
        check_is_fitted(self, "result_")
        rows = self._rows(X, reset=False)
        return self._judge(Y, rows.shape[0], sample_weight)(self._output_cells(rows))

    def _pairwise_scores(self, rows: Any) -> PairwiseScores:
        unary = np.asarray(rows @ self.coef_.T + self.intercept_)
        return PairwiseScores(unary, self._edges, self.pairwise_)

    def _differences(self, rows: Any) -> np.ndarray:
        scores, cells = self._pairwise_scores(rows), None
        if scores.is_hard:
            cells = self._best_cells(self._inputs(rows)).reshape(scores.unary.shape)
        return scores.differences(cells)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of single labels.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The best score of a label set with the label on, less the best with it off: without
            pairs the score of the label itself. Where the pairs form no forest and there are more
            than 16 labels: less the score with it off, all other labels as in `predict`.
        """
        check_is_fitted(self, "result_")
        return self._differences(self._rows(X, reset=False))

    def predict_topk(self, X: Any, k: int = 2) -> tuple[Any, np.ndarray]:
        """Return the k best label sets of every row, best first, and their scores.

        Thresholds are not looked at. Refused where there are more than 16 labels and the pairs form
        no forest.

        Returns
        -------
        sets : ndarray of shape (n_samples, k, n_labels), or a list of what `predict` would return
            for k rows; fewer than k where there are fewer label sets
        scores : float64 ndarray of shape (n_samples, k)
        """
        check_is_fitted(self, "result_")
        check_number("k", k, 1, closed=True, integer=True)
        scores = self._pairwise_scores(self._rows(X, reset=False))
        scores.refuse_hard("predict_topk", forest_only=False)
        cells, values = scores.k_best(int(k), n_threads(self.n_jobs))
        if self._form.kind == "dense":
            return cells.astype(self._form.dtype), values
        return [self._form.write(each, self.classes_) for each in cells], values

    def predict_marginals(self, X: Any, temperature: float = 1.0) -> np.ndarray:
        """Return p(label is on) under p(y) ~ exp(score(y) / temperature).

        For labels without pairs, or with pairs that form a forest. A max-margin machine is not
        trained for probabilities: calibrate before trusting them.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
        """
        check_is_fitted(self, "result_")
        check_number("temperature", temperature)
        scores = self._pairwise_scores(self._rows(X, reset=False))
        scores.refuse_hard("predict_marginals", forest_only=True)
        return scores.marginals(float(temperature), n_threads(self.n_jobs))

    # -- thresholds ------------------------------------------------------------------------------

    def tune_thresholds(self, X: Any, Y: Any, metric: str = "micro_f1") -> Self:
        """Choose thresholds on `decision_function` that maximise an F1 on (X, Y), exactly.

        `predict` uses them from then on, until the next fit or `reset_thresholds`. Choose them on
        rows that were not trained on.

        Parameters
        ----------
        X, Y : as in `fit`; unknown labels count for nothing
        metric : {"micro_f1", "macro_f1"}
            Micro-F1 has one threshold for all labels, macro-F1 one for each. Of equally good ones
            that nearest to 0, which is where labels are cut without thresholds.
        """
        check_is_fitted(self, "result_")
        scores = self.decision_function(X)
        truth = label_matrix(Y, len(scores), self._labels, form=self._form).cells
        self.thresholds_ = best_thresholds(scores, truth, metric)
        return self

    def reset_thresholds(self) -> Self:
        """Forget tuned thresholds: `predict` returns the best label sets again."""
        check_is_fitted(self, "result_")
        self.thresholds_ = None
        return self

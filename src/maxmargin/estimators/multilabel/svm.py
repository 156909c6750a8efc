"""MultilabelSVM: any number of labels for each row of X."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Self, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.face import Common
from maxmargin.estimators.multilabel.edges import (
    label_groups,
)
from maxmargin.estimators.multilabel.hooks import SetHooks
from maxmargin.estimators.multilabel.judges import (
    warn_of_constant,
)
from maxmargin.estimators.multilabel.thresholds import best_thresholds
from maxmargin.estimators.topk import TopK
from maxmargin.inference import LabelConstraints
from maxmargin.inputs.checks import check_number
from maxmargin.inputs.label_sets import label_matrix
from maxmargin.persistence import register
from maxmargin.training.settings import n_threads


@register
class MultilabelSVM(SetHooks, BaseSVM):
    """Label sets: any number of labels for each row, scored one by one and in pairs.

    The score of a label set y of a row x is sum_j y_j (w_j.x + b_j) + sum_e v_e y_a y_b, where
    e = (a, b) runs over the pairs of labels that `pairwise` says. Minimises, with lam = 1/(C n) and
    h_i(y) = score(x_i, y) - score(x_i, y_i),

        lam/2 |(w, b, v)|^2 + 1/n sum_i s_i max_y psi( h_i(y), cost(y, y_i) )

    Without pairs, with the cost "hamming" and the surrogate "margin", this is one linear SVM per
    label, all with the same C.

    Parameters
    ----------
    cost : {"hamming", "zero_one", "f1"} or object
        Task loss: how many labels are wrong (their share: ``Hamming("mean")``), whether any is, or
        1 - F1 of the set. `ClassWeighted` has one weight per label.
    surrogate : str or object
        What is minimised in place of the cost: a name in `maxmargin.surrogates.SURROGATES`, or such
        an object. "micro_f1" has a cost of its own.
    pairwise : {"none", "full", "tree"} or list of pairs of labels
        The pairs that have a weight: none; all; a spanning tree of the labels that say most about
        each other, learnt from y (with `partial_fit`, from the first batch); or those given.
    inference : str
        How label sets are searched in training. "auto": without pairs label by label; by dynamic
        programming where the pairs form a forest; by listing all sets of at most 16 labels; else
        "relaxed", whose label sets may have halves: `result_.objective` says so. "pairwise" is a
        search over label sets proper, with a bound for what it may miss. "program" and
        "relaxed_program" ask HiGHS, exact but slow. Each can also be named: "independent", "tree",
        "listed". Predictions are always label sets proper.
    oracle_time_limit : float or None
        Seconds for each programme in training. If they are not enough, its bound is used.
    predict_time_limit : float or None
        Where the pairs form no forest and there are more than 16 labels: None predicts by roof
        duality and a local search. A number asks HiGHS for the best set, with at most so many
        seconds per row. With constraints HiGHS is asked in any case, and None sets it no limit.
    fit_intercept : bool
    classes : list or None
        All labels, in the order of `classes_`: the columns of y, or more labels than its sets have.
        None: the labels that occur, sorted; of a matrix 0, 1, ...
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
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    pairwise_ : ndarray of shape (n_pairs,)
        What it adds to the score to have both labels of a pair.
    edges_ : ndarray of shape (n_pairs, 2)
        The pairs, as labels.
    classes_ : ndarray of shape (n_labels,)
    missing_labels_, universal_labels_ : list
        Labels that are nowhere on in y, and nowhere off.
    inference_ : str
        How label sets were searched in training.
    thresholds_ : ndarray of shape (n_labels,) or None
        See `tune_thresholds`.
    result_ : Result
    features_ : FeatureTable or None

    Examples
    --------
    >>> X = [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
    >>> y = [["b"], ["a", "b"], ["a"], []]
    >>> model = MultilabelSVM(C=10, random_state=0).fit(X, y)
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

    def __init__(
        self,
        *,
        pairwise: Any = "none",
        inference: str = "auto",
        oracle_time_limit: float | None = None,
        predict_time_limit: float | None = None,
        fit_intercept: bool = True,
        classes: Iterable[Any] | None = None,
        min_count: int = 1,
        n_hashed_features: int | None = None,
        kernel: Any = None,
        cache_size: float = 1000.0,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(**common)
        self.pairwise = pairwise
        self.inference = inference
        self.oracle_time_limit = oracle_time_limit
        self.predict_time_limit = predict_time_limit
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.min_count = min_count
        self.n_hashed_features = n_hashed_features
        self.kernel = kernel
        self.cache_size = cache_size

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
        y: Any,
        *,
        sample_weight: Any = None,
        eval_set: Any = None,
        patience: int | None = None,
        callbacks: Sequence[Any] | None = None,
        resume: str | os.PathLike[str] | None = None,
        **beside: Any,
    ) -> Self:
        """Learn from rows and their label sets.

        Parameters
        ----------
        X : matrix, dense or sparse, feature dictionaries or lists of feature names
        y : indicator matrix, dense or sparse, or one collection of labels for each row
            1 is on, 0 off, -1 unknown: such a label counts for nothing in its row. A list of lists
            that can be both, a matrix and label sets, is refused: pass an array, or sets. `predict`
            returns the form that was given here.
        sample_weight, eval_set, patience, callbacks, resume : as in `BaseSVM.fit`
        """
        super().fit(
            X, y, sample_weight=sample_weight, eval_set=eval_set, patience=patience,
            callbacks=callbacks, resume=resume, **beside,
        )  # fmt: skip
        warn_of_constant(self.missing_labels_, "on", "off")
        warn_of_constant(self.universal_labels_, "off", "on")
        return self

    # -- using -----------------------------------------------------------------------------------

    def predict(
        self,
        X: Any,
        *,
        at_least: int = 0,
        at_most: int | None = None,
        exclusive: Sequence[Sequence[Any]] = (),
        implies: Sequence[tuple[Any, Any]] = (),
        **beside: Any,
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
        What y was at fit: an indicator matrix, dense or CSR, or a list of tuples of labels.

        Notes
        -----
        With thresholds tuned, the labels are those whose `decision_function` is above them; with
        constraints too, the set of largest total excess over them.
        """
        request = self._question(X, **beside)
        constraints = LabelConstraints(
            at_least,
            at_most,
            label_groups("exclusive", exclusive, self._reader.labels),
            label_groups("implies", implies, self._reader.labels, size=2),
        )
        constraints.check(len(self.classes_))
        cells = self._output_cells(self._inputs(request.X, reset=False), constraints)
        return self._reader.form.write(cells, self.classes_)

    def decision_function(self, X: Any, **beside: Any) -> np.ndarray:
        """Return the scores of single labels.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The best score of a label set with the label on, less the best with it off: without
            pairs the score of the label itself. Where the pairs form no forest and there are more
            than 16 labels: less the score with it off, all other labels as in `predict`.
        """
        return self._differences(self._inputs(self._question(X, **beside).X, reset=False))

    def predict_topk(self, X: Any, k: int = 2, **beside: Any) -> TopK:
        """Return the k best label sets of every row, best first, and their scores.

        Thresholds are not used. Refused where there are more than 16 labels and the pairs form
        no forest.

        Returns
        -------
        TopK : outputs, an ndarray of shape (n_samples, k, n_labels), or a list of what `predict`
            would return for k rows, fewer than k where there are fewer label sets; and scores, a
            float64 ndarray of shape (n_samples, k)
        """
        request = self._question(X, **beside)
        check_number("k", k, 1, closed=True, integer=True)
        scores = self._pairwise_scores(self._inputs(request.X, reset=False))
        scores.refuse_hard("predict_topk", forest_only=False)
        cells, values = scores.k_best(int(k), n_threads(self.n_jobs))
        if self._reader.form.kind == "dense":
            return TopK(cells.astype(self._reader.form.dtype), values)
        return TopK([self._reader.form.write(each, self.classes_) for each in cells], values)

    def predict_marginals(self, X: Any, *, temperature: float = 1.0, **beside: Any) -> np.ndarray:
        """Return p(label is on) under p(y) ~ exp(score(y) / temperature).

        For labels without pairs, or with pairs that form a forest. A max-margin machine is not
        trained for probabilities: calibrate before trusting them.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
        """
        request = self._question(X, **beside)
        check_number("temperature", temperature)
        scores = self._pairwise_scores(self._inputs(request.X, reset=False))
        scores.refuse_hard("predict_marginals", forest_only=True)
        return scores.marginals(float(temperature), n_threads(self.n_jobs))

    # -- thresholds ------------------------------------------------------------------------------

    def tune_thresholds(self, X: Any, y: Any, metric: str = "micro_f1") -> Self:
        """Choose thresholds on `decision_function` that maximise an F1 on (X, y), exactly.

        `predict` uses them from then on, until the next fit or `reset_thresholds`. Choose them on
        rows that were not trained on.

        Parameters
        ----------
        X, y : as in `fit`; unknown labels count for nothing
        metric : {"micro_f1", "macro_f1"}
            Micro-F1 has one threshold for all labels, macro-F1 one per label. Of equally good
            thresholds the one nearest to 0 is taken, which is the cut without thresholds.
        """
        scores = self.decision_function(X)
        truth = label_matrix(y, len(scores), self._reader.labels, form=self._reader.form).cells
        self.thresholds_ = best_thresholds(scores, truth, metric)
        return self

    def reset_thresholds(self) -> Self:
        """Forget tuned thresholds: `predict` returns the best label sets again."""
        check_is_fitted(self, "result_")
        self.thresholds_ = None
        return self

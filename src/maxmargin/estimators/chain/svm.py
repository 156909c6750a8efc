"""Sequence labelling: one label per position, learnt together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core import predict
from maxmargin.costs import Hamming, ZeroOne
from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.chain.encoding import ChainOptions, ChainReader
from maxmargin.estimators.chain.outputs import for_each_sequence, split_weights
from maxmargin.estimators.chain.scores import (
    SEQUENCE_METRICS,
    chunk_f1_of,
    cost_judge,
    default_measure,
    sequence_metric,
)
from maxmargin.estimators.face import Common
from maxmargin.estimators.topk import TopK
from maxmargin.inference import chain as inference
from maxmargin.inputs.constraints import Constraints, resolve_constraints
from maxmargin.inputs.labels import check_class_weight, check_classes
from maxmargin.inputs.request import Request
from maxmargin.inputs.sequence_labels import flatten_labels
from maxmargin.inputs.stored import Arrays, Fields, check_options
from maxmargin.inputs.vocabulary import FeatureTable
from maxmargin.inputs.widening import named_steps
from maxmargin.persistence import register
from maxmargin.structures import ChainData
from maxmargin.training.scoring import Score, by_prediction
from maxmargin.training.settings import check_flags, n_threads, resolve_cost
from maxmargin.training.task import Task

__all__ = ["ChainSVM"]


@register
class ChainSVM(BaseSVM):
    """Max-margin labelling of sequences.

    The score of labels y for a sequence x of length L is linear in the weights,

        sum_t (coef_[y_t] . x_t + intercept_[y_t]) + sum_{t>0} transitions_[y_{t-1}, y_t]
            + start_[y_0] + end_[y_{L-1}]

    and the weights minimise lam/2 |w|^2 + 1/n sum_i s_i max_y psi(h_i(y), g_i(y)), lam = 1/(C n).

    One element of X is one sequence: a dense (L, n_features) array of float64 or float32, a CSR
    matrix of that shape, or a list of L feature dictionaries or lists of strings. One element of y
    holds its L labels, of any type; None or -1 means unknown (but -1 is a label if `classes` names
    it). Unknown labels cost nothing: in training a sequence is cut there, and its pieces count as
    examples.

    Parameters
    ----------
    cost : {"hamming", "zero_one"} or cost object
        Task loss: the number of wrong positions, 1 for any mistake, or an object such as
        ``CostMatrix(...)``.
    classes : iterable of labels or None
        All labels there are, in the order of `classes_`, also ones that do not occur in y. None:
        those of y, sorted.
    class_weight : dict of label to weight, "balanced" or None
        Multiplies the cost of each position by the weight of its true label.
    constraints : {"io", "iob1", "iob2", "bioes"}, Constraints or None
        Which labellings are allowed, at fit and at prediction. If true labels break a constraint,
        what they do is allowed, and a warning says so; see `widened_`, and
        ``Constraints(..., strict=True)``.
    fit_intercept, fit_transitions, fit_start, fit_end : bool
        Which of the weights besides `coef_` there are; the others are zero.
    min_count : int
        For feature dictionaries: features seen in fewer positions are ignored.
    n_hashed_features : int or None
        For feature dictionaries: hash features into so many columns instead of keeping a
        vocabulary.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_, start_, end_ : ndarray of shape (n_labels,)
    transitions_ : ndarray of shape (n_labels, n_labels)
        [a, b] scores going from a to b.
    classes_ : ndarray of shape (n_labels,)
    features_ : FeatureTable or None
        The vocabulary, where positions are feature dictionaries or lists of strings.
    widened_ : list of (label before, label, count)
        Steps that `constraints` forbid but that are allowed, because true labels take them. None
        stands for the start and for the end of a sequence.
    result_ : Result
        Weights, primal, dual, gap, status, history.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import ChainSVM
    >>> X = [np.eye(2)[[0, 1, 1]], np.eye(2)[[1, 0]]]
    >>> y = [["a", "b", "b"], ["b", "a"]]
    >>> tagger = ChainSVM(random_state=0).fit(X, y)
    >>> [labels.tolist() for labels in tagger.predict(X)]
    [['a', 'b', 'b'], ['b', 'a']]
    >>> tagger.result_.status
    'converged'
    """

    beside: ClassVar[tuple[str, ...]] = ("fixed", "allowed")
    features_: FeatureTable | None
    _reader: ChainReader

    def __init__(
        self,
        *,
        classes: Iterable[Any] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        constraints: Constraints | str | None = None,
        fit_intercept: bool = True,
        fit_transitions: bool = True,
        fit_start: bool = True,
        fit_end: bool = True,
        min_count: int = 1,
        n_hashed_features: int | None = None,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(**common)
        self.classes = classes
        self.class_weight = class_weight
        self.constraints = constraints
        self.fit_intercept = fit_intercept
        self.fit_transitions = fit_transitions
        self.fit_start = fit_start
        self.fit_end = fit_end
        self.min_count = min_count
        self.n_hashed_features = n_hashed_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.sparse = True
        tags.input_tags.dict = True
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        return tags

    # -- using -----------------------------------------------------------------------------------

    def predict_topk(self, X: Any, k: int = 2, **beside: Any) -> TopK:
        """Return the k best labellings of every sequence, best first, and their scores.

        Parameters
        ----------
        X : list of sequences
        k : int >= 1

        Returns
        -------
        TopK : outputs, a list with a list of label arrays per sequence, as many as there are if
            fewer than k; and scores, a list with a float64 array per sequence
        """

        def best(*potentials: np.ndarray) -> TopK:
            answers = inference.k_best(*potentials, k=k)
            outputs = [self.classes_[answer.output] for answer in answers]
            return TopK(outputs, np.array([answer.score for answer in answers]))

        found = self._for_each(best, X, beside)
        return TopK([each.outputs for each in found], [each.scores for each in found])

    def predict_marginals(
        self, X: Any, *, temperature: float = 1.0, **beside: Any
    ) -> list[np.ndarray]:
        """Return the marginals of p(y) ~ exp(score(y) / temperature) for every sequence.

        A max-margin machine is not trained for probabilities: calibrate before trusting them.

        Parameters
        ----------
        X : list of sequences
        temperature : float > 0

        Returns
        -------
        list of arrays of shape (L, n_labels), p(y_t = k) at [t, k]
        """

        def node(*potentials: np.ndarray) -> np.ndarray:
            unary, transitions, start, end = potentials
            return inference.marginals(unary, transitions, start, end, temperature).node

        return self._for_each(node, X, beside)

    def decision_function(self, X: Any, **beside: Any) -> list[np.ndarray]:
        """Return the max-marginals of every sequence.

        Parameters
        ----------
        X : list of sequences

        Returns
        -------
        list of arrays of shape (L, n_labels): at [t, k] the best score of a labelling that has
        label k at position t
        """
        return self._for_each(inference.max_marginals, X, beside)

    def _for_each(self, answer: Callable[..., Any], X: Any, beside: dict[str, Any]) -> list[Any]:
        data = self._encode_inputs(self._question(X, **beside))
        return for_each_sequence(data, self._weights, answer, n_threads(self.n_jobs))

    @property
    def widened_(self) -> list[tuple[Any, Any, int]]:
        """Forbidden steps that are allowed because true labels take them, and how often."""
        check_is_fitted(self, "result_")
        return named_steps(self._reader.widened, self.classes_)

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

"""Sequence labelling: one label per position, learnt together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.chain.hooks import ChainHooks
from maxmargin.estimators.chain.outputs import for_each_sequence
from maxmargin.estimators.face import Common
from maxmargin.estimators.topk import TopK
from maxmargin.inference import chain as inference
from maxmargin.inputs.constraints import Constraints
from maxmargin.inputs.widening import named_steps
from maxmargin.persistence import register
from maxmargin.training.settings import n_threads

__all__ = ["ChainSVM"]


@register
class ChainSVM(ChainHooks, BaseSVM):
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

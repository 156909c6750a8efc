"""Sequence labelling: a label a position, learnt together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core import predict
from maxmargin.core.contract import TrueParts
from maxmargin.costs import Hamming, ZeroOne
from maxmargin.estimators.base import BaseSVM, Training
from maxmargin.estimators.chain.encoding import (
    Barriers,
    Limited,
    chain_training,
    read_sequences,
    reread_sequences,
)
from maxmargin.estimators.chain.outputs import for_each_sequence, split_weights
from maxmargin.estimators.chain.scores import (
    SEQUENCE_METRICS,
    chunk_f1_of,
    looks_like_chunks,
    sequence_metric,
)
from maxmargin.inference import chain as inference
from maxmargin.inputs.checks import check_weights
from maxmargin.inputs.constraints import (
    Constraints,
    check_fixed,
    find_breach,
    node_barrier,
    resolve_constraints,
)
from maxmargin.inputs.labels import Labels, check_class_weight, check_classes
from maxmargin.inputs.sequence_labels import encode, flatten_labels, learn_labels
from maxmargin.inputs.sequences import Stack, as_sequences
from maxmargin.inputs.stored import Arrays, Fields, check_options
from maxmargin.inputs.vocabulary import FeatureTable, restored_table
from maxmargin.inputs.widening import (
    NO_STEPS,
    check_known_strangers,
    check_strangers,
    checked_steps,
    forbidden_steps,
    joined,
    named_steps,
    warn_of_steps,
    with_steps,
)
from maxmargin.persistence import register
from maxmargin.structures import ChainData, ChainLayout, chain_data, chain_layout
from maxmargin.training.scoring import by_prediction
from maxmargin.training.settings import check_flags, n_threads, resolve_cost

__all__ = ["ChainSVM"]


@register
class ChainSVM(BaseSVM):
    """Max-margin labelling of sequences.

    The score of labels y for a sequence x of length L is linear in the weights,

        sum_t (coef_[y_t] . x_t + intercept_[y_t]) + sum_{t>0} transitions_[y_{t-1}, y_t]
            + start_[y_0] + end_[y_{L-1}]

    and the weights minimise lam/2 |w|^2 + 1/n sum_i s_i max_y psi(h_i(y), g_i(y)), lam = 1/(C n).

    One element of X is one sequence: a dense (L, n_features) array of float64 or float32, a CSR
    matrix of that shape, or a list of L feature dictionaries or lists of strings. One element of Y
    holds its L labels, of any type; None or -1 means unknown (but -1 is a label if `classes` names
    it). Unknown labels cost nothing: in training a sequence is cut there, and its pieces count as
    examples.

    Parameters
    ----------
    C : float > 0
        Weight of the training losses against |w|^2/2, as in scikit-learn's LinearSVC.
    cost : {"hamming", "zero_one"} or cost object
        Task loss: the number of wrong positions, 1 for any mistake, or an object such as
        ``CostMatrix(...)``.
    surrogate : str or object
        What is minimised in place of the cost.
    search : str or object
        How the most violating labelling is found, see `BaseSVM`.
    solver : str or Solver
    classes : iterable of labels or None
        All labels there are, in the order of `classes_`, also ones that do not occur in Y. None:
        those of Y, sorted.
    class_weight : dict of label to weight, "balanced" or None
        Multiplies the cost of each position by the weight of its true label.
    constraints : {"io", "iob1", "iob2", "bioes"}, Constraints or None
        What labellings may be, at fit and at prediction. Where true labels break them they are
        widened, and a warning says so; see `widened_`, and ``Constraints(..., strict=True)``.
    fit_intercept, transitions, start, end : bool
        Which of the weights besides `coef_` there are; the others are zero.
    min_count : int
        For feature dictionaries: features seen in fewer positions are ignored.
    hashing : int or None
        For feature dictionaries: hash features into so many columns instead of keeping a
        vocabulary.
    tol, max_iter, time_budget, patience, scoring, n_jobs, random_state, warm_start, callbacks, \
verbose
        See `BaseSVM`.

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
        What `constraints` forbid and true labels do, so that it is allowed; None stands for the
        start and for the end of a sequence.
    result_ : Result
        Weights, primal, dual, gap, status, history.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import ChainSVM
    >>> X = [np.eye(2)[[0, 1, 1]], np.eye(2)[[1, 0]]]
    >>> Y = [["a", "b", "b"], ["b", "a"]]
    >>> tagger = ChainSVM(random_state=0).fit(X, Y)
    >>> [labels.tolist() for labels in tagger.predict(X)]
    [['a', 'b', 'b'], ['b', 'a']]
    >>> tagger.result_.status
    'converged'
    """

    features_: FeatureTable | None
    _chain: ChainLayout
    _widened: np.ndarray = NO_STEPS

    def __init__(
        self,
        *,
        C: float = 1.0,
        cost: Any = "hamming",
        surrogate: Any = "margin",
        search: Any = "auto",
        solver: Any = "auto",
        classes: Iterable[Any] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        constraints: Constraints | str | None = None,
        fit_intercept: bool = True,
        transitions: bool = True,
        start: bool = True,
        end: bool = True,
        min_count: int = 1,
        hashing: int | None = None,
        tol: float = 1e-2,
        max_iter: int = 1000,
        time_budget: float | None = None,
        patience: int | None = None,
        scoring: Any = None,
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
        self.classes = classes
        self.class_weight = class_weight
        self.constraints = constraints
        self.fit_intercept = fit_intercept
        self.transitions = transitions
        self.start = start
        self.end = end
        self.min_count = min_count
        self.hashing = hashing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.sparse = True
        tags.input_tags.dict = True
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        return tags

    # -- what X and Y are --------------------------------------------------------------------

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
        limited = X if isinstance(X, Limited) else Limited(X)
        stack, table = self._stack(limited.X, reset)
        offsets = stack.offsets
        flat = flatten_labels(Y, offsets)
        if reset:
            named = self.classes if classes is None else classes
            labels = learn_labels(flat, offsets, named)
            layout = self._new_layout(stack.matrix.shape[1], len(labels))
        else:
            labels, layout = Labels(self.classes_), self._chain
        codes = encode(flat, offsets, labels)
        check_fixed(limited.fixed, codes, offsets, labels.classes)
        edges, widened = self._widen(codes, offsets, labels.classes, reset)
        barriers = Barriers(
            edges,
            node_barrier(offsets, labels.classes, limited.allowed, limited.fixed),
        )
        weight = check_weights(sample_weight, len(offsets) - 1)
        training = chain_training(
            stack, codes, labels, layout, barriers, resolve_cost(self.cost, "positions"),
            self.class_weight if weighted else None, weight,
        )  # fmt: skip
        if reset:  # only now, when nothing can fail any more
            self.classes_ = labels.classes
            self.n_features_in_ = layout.n_columns
            self.features_ = table
            self._chain = layout
        self._widened = widened
        return training

    def _stack(self, X: Any, reset: bool) -> tuple[Stack, FeatureTable | None]:
        """Return the validated features of sequences, and the table that reads symbolic ones."""
        if reset:
            return read_sequences(X, lambda: FeatureTable(self.min_count, self.hashing))
        stack = reread_sequences(X, self.features_, self.n_features_in_)
        return stack, self.features_

    def _new_layout(self, n_features: int, n_labels: int) -> ChainLayout:
        return chain_layout(
            n_features, n_labels, self.fit_intercept, self.transitions, self.start, self.end
        )

    def _widen(
        self, codes: np.ndarray, offsets: np.ndarray, classes: np.ndarray, reset: bool
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """Return the barrier, open to what true labels do, and the steps that had to be opened."""
        constraints = resolve_constraints(self.constraints)
        known = NO_STEPS if reset else self._widened
        if constraints is None:
            return None, known
        barrier = constraints.barrier(classes)
        if constraints.strict:
            return barrier, known
        if reset:
            check_strangers(constraints.scheme, classes, codes)
        barrier = with_steps(barrier, known)
        steps = forbidden_steps(barrier, codes, offsets)
        if len(steps):
            warn_of_steps(steps, classes, stacklevel=5)
        return with_steps(barrier, steps), joined(known, steps)

    def _edge_barrier(self) -> np.ndarray | None:
        constraints = resolve_constraints(self.constraints)
        if constraints is None:
            return None
        check_known_strangers(constraints.scheme, self.classes_, self._widened)
        return with_steps(constraints.barrier(self.classes_), self._widened)

    @property
    def widened_(self) -> list[tuple[Any, Any, int]]:
        """What the constraints forbid and true labels do, so that it is allowed, and how often."""
        check_is_fitted(self, "result_")
        return named_steps(self._widened, self.classes_)

    def _encode_inputs(self, X: Any) -> ChainData:
        limited = X if isinstance(X, Limited) else Limited(X)
        stack, _ = self._stack(limited.X, reset=False)
        nodes = node_barrier(stack.offsets, self.classes_, limited.allowed, limited.fixed)
        return chain_data(
            stack.matrix,
            stack.offsets,
            np.zeros(stack.matrix.shape[0]),
            self._chain,
            edge_barrier=self._edge_barrier(),
            node_barrier=nodes,
        )

    def _decode(self, cells: np.ndarray, data: ChainData) -> list[np.ndarray]:
        self._check_possible(cells, data)
        labels = self.classes_[cells]
        return [labels[a:b] for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)]

    def _check_possible(self, cells: np.ndarray, data: ChainData) -> None:
        """Refuse sequences whose best labelling is forbidden: then all are."""
        nodes = data.node_barrier if len(data.node_barrier) else None
        breach = find_breach(cells, data.offsets, self.classes_, data.edge_barrier, nodes)
        if breach is not None:
            raise ValueError(f"X[{breach.sequence}]: the constraints allow no labelling.")

    # -- what the weights are ----------------------------------------------------------------

    def _unpack(self, w: np.ndarray) -> None:
        weights = split_weights(w, self._chain)
        self.coef_ = weights.coef
        self.intercept_ = weights.intercept
        self.transitions_ = weights.transitions
        self.start_ = weights.start
        self.end_ = weights.end
        self._weights = weights

    def _layout(self) -> Any:
        names = None if self.features_ is None else self.features_.names
        return [self.classes_.tolist(), *self._chain, names]

    def _fitted_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        meta, arrays = super()._fitted_state()
        meta["features"] = None if self.features_ is None else self.features_.to_state()
        meta["layout"] = list(self._chain)
        if len(self._widened):
            arrays["widened"] = self._widened
        return meta, arrays

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        super()._restore_fitted(fields, arrays)
        self.features_ = restored_table(fields, self.n_features_in_)
        self.classes_ = fields.labels("classes_", least=2).classes
        self._chain = self._stored_layout(fields)
        steps = arrays.take("widened", (None, 3), np.int64) if "widened" in arrays else None
        self._widened = checked_steps(steps, len(self.classes_))

    def _stored_layout(self, fields: Fields) -> ChainLayout:
        """Return the layout of these classes and features that has the blocks of the stored one."""
        found, n_labels = fields.take("layout"), len(self.classes_)
        blocks = [False] * 4
        if isinstance(found, list) and all(type(x) is int for x in found) and len(found) == 7:
            blocks = [b > a for a, b in pairwise(found[2:])]
            if found[1] != n_labels:
                raise ValueError(f"it has {n_labels} classes, but weights for {found[1]}")
        layout = chain_layout(self.n_features_in_, n_labels, *blocks)
        if found != list(layout):
            raise ValueError(
                f"layout is {found!r:.80}, which no chain of {self.n_features_in_} features and "
                f"{n_labels} classes has"
            )
        return layout

    def _n_weights(self) -> int:
        return self._chain.n_rows * self._chain.n_labels

    def _check_parameters(self) -> None:
        check_flags(self, "fit_intercept", "transitions", "start", "end")
        FeatureTable(self.min_count, self.hashing)
        check_class_weight(self.class_weight)
        resolve_cost(self.cost, "positions")
        resolve_constraints(self.constraints)
        check_classes(self.classes)

    def _check_restored(self) -> None:
        self._edge_barrier()

    def _param_to_state(self, name: str, value: Any) -> Any:
        if name == "constraints" and isinstance(value, Constraints):
            return value.parameters()
        return super()._param_to_state(name, value)

    def _param_from_state(self, name: str, value: Any) -> Any:
        if name == "constraints" and isinstance(value, dict):
            return Constraints(**check_options(Constraints, value, "constraints"))
        return super()._param_from_state(name, value)

    # -- what the user calls -----------------------------------------------------------------

    def fit(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        eval_set: tuple[Any, Any] | None = None,
        resume: str | os.PathLike[str] | None = None,
        allowed: Sequence[Any] | None = None,
        fixed: Sequence[Any] | None = None,
    ) -> Self:
        """Learn from labelled sequences.

        Parameters
        ----------
        X, Y : list of sequences and list of their labels
        sample_weight : array of shape (n_sequences,) or None
        eval_set : (X, Y) or None
            Held-out sequences, scored after each pass; see `patience`. They are under the
            parameter `constraints`, but `allowed` and `fixed` are for X alone.
        resume : path or None
            A file that a `Checkpoint` wrote during this very fit: go on there.
        allowed : list or None
            Which labels may stand where, one entry a sequence: None (any), a boolean array of shape
            (L, n_labels) in the order of `classes_`, or a list of L entries, each None or a
            collection of labels.
        fixed : list or None
            Labels that no other labelling may change, one entry a sequence: None, or L labels, None
            or -1 where free. They must be those of Y; where Y is unknown, and the sequence cut,
            they say nothing.
        """
        return super().fit(Limited(X, allowed, fixed), Y, sample_weight, eval_set, resume)

    def predict(
        self, X: Any, *, fixed: Sequence[Any] | None = None, allowed: Sequence[Any] | None = None
    ) -> list[np.ndarray]:
        """Return the best labels of every sequence.

        Parameters
        ----------
        X : list of sequences
        fixed : list or None
            Labels that are known, one entry a sequence: None, or L labels, None or -1 where not.
            The rest is completed as best fits them.
        allowed : list or None
            As in `fit`.
        """
        return super().predict(Limited(X, allowed, fixed))

    def score(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        *,
        fixed: Sequence[Any] | None = None,
        allowed: Sequence[Any] | None = None,
    ) -> float:
        """Return 1 - the mean of the cost as a share of the largest cost possible.

        Parameters
        ----------
        X, fixed, allowed : as in `predict`, whose labels are scored
        Y : list of labels; unknown ones cost nothing
        sample_weight : array of shape (n_sequences,) or None
        """
        return super().score(Limited(X, allowed, fixed), Y, sample_weight)

    def predict_topk(
        self,
        X: Any,
        k: int,
        *,
        fixed: Sequence[Any] | None = None,
        allowed: Sequence[Any] | None = None,
    ) -> list[list[tuple[np.ndarray, float]]]:
        """Return the k best labellings of every sequence.

        Parameters
        ----------
        X, fixed, allowed : as in `predict`
        k : int >= 1

        Returns
        -------
        list of lists of (labels, score), best first; as many as there are, if fewer than k
        """
        data = self._checked_inputs(X, fixed, allowed)

        def best(*potentials: np.ndarray) -> list[tuple[np.ndarray, float]]:
            answers = inference.k_best(*potentials, k=k)
            return [(self.classes_[answer.output], answer.score) for answer in answers]

        return for_each_sequence(data, self._weights, best, n_threads(self.n_jobs))

    def predict_marginals(
        self,
        X: Any,
        temperature: float = 1.0,
        *,
        fixed: Sequence[Any] | None = None,
        allowed: Sequence[Any] | None = None,
    ) -> list[np.ndarray]:
        """Return the marginals of p(y) ~ exp(score(y) / temperature) for every sequence.

        A max-margin machine is not trained for probabilities: calibrate before trusting them.

        Parameters
        ----------
        X, fixed, allowed : as in `predict`
        temperature : float > 0

        Returns
        -------
        list of arrays of shape (L, n_labels), p(y_t = k) at [t, k]
        """
        data = self._checked_inputs(X, fixed, allowed)

        def node(*potentials: np.ndarray) -> np.ndarray:
            unary, transitions, start, end = potentials
            return inference.marginals(unary, transitions, start, end, temperature).node

        return for_each_sequence(data, self._weights, node, n_threads(self.n_jobs))

    def decision_function(
        self, X: Any, *, fixed: Sequence[Any] | None = None, allowed: Sequence[Any] | None = None
    ) -> list[np.ndarray]:
        """Return the max-marginals of every sequence.

        Parameters
        ----------
        X, fixed, allowed : as in `predict`

        Returns
        -------
        list of arrays of shape (L, n_labels): at [t, k] the best score of a labelling that has
        label k at position t
        """
        data = self._checked_inputs(X, fixed, allowed)
        jobs = n_threads(self.n_jobs)
        return for_each_sequence(data, self._weights, inference.max_marginals, jobs)

    def _checked_inputs(self, X: Any, fixed: Any, allowed: Any) -> ChainData:
        check_is_fitted(self, "result_")
        return self._encode_inputs(Limited(X, allowed, fixed))

    def _score_name(self) -> str:
        cost = resolve_cost(self.cost, "positions")
        if isinstance(cost, ZeroOne):
            return "sequence_accuracy"
        return "mean_token_accuracy" if isinstance(cost, Hamming) else "1 - cost"

    def _default_measure(self, X: Any, Y: Any) -> str | None:
        flat: list[Any] = []
        for labels in as_sequences("Y", Y):
            if isinstance(labels, (str, bytes, dict)) or not hasattr(labels, "__len__"):
                return None  # `_scorer` says what is wrong with it
            flat.extend(labels)
        return "chunk_f1" if looks_like_chunks(flat) else None

    def _measure_names(self) -> tuple[str, ...]:
        return tuple(SEQUENCE_METRICS)

    def _measure(self, name: str) -> Callable[[Any, Any], Callable[[np.ndarray], float]] | None:
        if name not in SEQUENCE_METRICS:
            return None
        if name == "chunk_f1":
            return self._chunk_f1
        constraints = resolve_constraints(self.constraints)
        scheme = None if constraints is None else constraints.scheme
        return lambda X, Y: by_prediction(self, sequence_metric(name, Y, scheme), X, Y)

    def _chunk_f1(self, X: Any, Y: Any) -> Callable[[np.ndarray], float]:
        data = self._encode_inputs(X)
        judge = chunk_f1_of(self.classes_, flatten_labels(Y, data.offsets), data.offsets)
        free = self._prediction_cost(data)
        jobs = n_threads(self.n_jobs)

        def score(w: np.ndarray) -> float:
            cells, _ = predict.best_outputs(data, w, free, n_jobs=jobs)
            self._check_possible(cells, data)
            return judge(cells)

        return score

    def _scorer(self, X: Any, Y: Any, sample_weight: Any = None) -> Callable[[np.ndarray], float]:
        # Not by `_encode`: there a sequence is cut, here it is predicted whole.
        data = self._encode_inputs(X)
        offsets = data.offsets
        codes = encode(flatten_labels(Y, offsets), offsets, Labels(self.classes_))
        n_known = np.add.reduceat(codes >= 0, offsets[:-1], dtype=np.int64)
        weight = check_weights(sample_weight, len(n_known)) * (n_known > 0)
        if not weight.any():
            raise ValueError("Y has no known label in a sequence of positive weight.")
        cost = resolve_cost(self.cost, "positions")
        parts = TrueParts("positions", np.diff(offsets), codes)
        free = self._prediction_cost(data)
        jobs = n_threads(self.n_jobs)

        def score(w: np.ndarray) -> float:
            cells, _ = predict.best_outputs(data, w, free, n_jobs=jobs)
            self._check_possible(cells, data)
            found, largest = cost.costs_of(parts, self.classes_, cells)
            return predict.mean_score(found, largest, weight)

        return score

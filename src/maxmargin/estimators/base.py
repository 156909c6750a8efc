"""The base class of all estimators: what users call, on the hooks that a subclass writes.

The hooks are in hooks.py, the common parameters in face.py, and what the methods do in training/.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from maxmargin.core import predict
from maxmargin.estimators.face import Common, compose, set_common
from maxmargin.estimators.hooks import Hooks
from maxmargin.inputs.request import Request
from maxmargin.solvers import Result
from maxmargin.training import fit, partial, storage
from maxmargin.training.path import PathResult, regularization_path
from maxmargin.training.settings import n_threads
from maxmargin.training.warm import Memory

__all__ = ["BaseSVM"]


class BaseSVM(Hooks, BaseEstimator):
    """Common parameters, and `fit` to `save` on the hooks of a subclass.

    Minimises lam/2 |w|^2 + 1/n sum_i s_i max_y psi(h_i(y), g_i(y)) with lam = 1/(C n).

    Attributes
    ----------
    result_ : Result
        Weights, primal, dual, gap, status, history.
    classes_ : ndarray
    n_iter_ : int
    """

    #: What the methods take beside X and y, by the names of `Request`.
    beside: ClassVar[tuple[str, ...]] = ()
    #: Defaults of common parameters that differ from those of face.py.
    defaults: ClassVar[Common] = {}

    C: float
    cost: Any
    surrogate: Any
    verbose: int
    result_: Result
    _memory: Memory | None = None
    _online: partial.OnlineRun | None = None

    def __init__(self, **common: Unpack[Common]) -> None:
        set_common(self, common)

    def __init_subclass__(cls, **options: Any) -> None:
        compose(cls)
        super().__init_subclass__(**options)

    # -- learning --------------------------------------------------------------------------------

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
        """Learn from examples.

        Parameters
        ----------
        X, y : inputs and their true outputs, one element per example
        sample_weight : array of shape (n_examples,) or None
            s_i >= 0, multiplies the loss of example i.
        eval_set : (X, y), [(X, y)] or None
            Held-out examples, scored after each pass; see `scoring`. What this method takes by name
            beside X and y may follow them in the tuple, in the order of the names.
        patience : int or None
            Stop when the score on `eval_set` has not risen for so many passes, and keep the weights
            that scored best.
        callbacks : list of callables or None
            Called with an `Iteration` after each pass; one that returns True stops the run.
        resume : path or None
            A file that a `Checkpoint` wrote during a fit of these data (`eval_set` included) with
            these parameters: go on there, and end where that fit would have ended.

        Returns
        -------
        self
        """
        request = self._request(X, y, sample_weight, **beside)
        return fit.fit(self, request, eval_set, patience, callbacks, resume)

    @partial.online_only
    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        classes: Iterable[Any] | None = None,
        sample_weight: Any = None,
        lam: float | None = None,
        n_total: int | None = None,
        **beside: Any,
    ) -> Self:
        """Make one pass over a batch of examples, going on from the earlier ones.

        Only with an online solver; with another the estimator has no such method. Feature
        dictionaries and lists of names fix the vocabulary at the first batch, and names that come
        later are ignored: where they do, set the parameter `n_hashed_features`, which keeps none.

        Parameters
        ----------
        X, y, sample_weight : a batch of examples, as in `fit`
        classes : iterable or None
            All labels there will be; needed at the first call, unless the parameter of that name is
            set or the estimator was fitted before, whose weights are then kept.
        lam : float or None
            Regularisation.
        n_total : int or None
            Number of examples there will be in all; lam is then 1/(C n_total). A solver that
            minimises the objective needs one of `lam` and `n_total`.
        """
        request = self._request(X, y, sample_weight, **beside)
        with fit.unchanged_on_error(self):
            return partial.partial_fit(self, request, classes, lam, n_total)

    def path(
        self,
        X: Any,
        y: Any,
        Cs: Iterable[float],
        *,
        cv: Any = None,
        scoring: Any = None,
        sample_weight: Any = None,
        callbacks: Sequence[Any] | None = None,
        **beside: Any,
    ) -> PathResult:
        """Fit clones along increasing C, each from the dual of the one before.

        A fit that is interrupted ends the path; see `PathResult`.

        Parameters
        ----------
        X, y, sample_weight, callbacks : as in `fit`
        Cs : values of C, in any order
        cv : None (no validation), number of folds, or a scikit-learn splitter
        scoring : None (the parameter `scoring`, or else `score`), or what that parameter takes
        """
        request = self._request(X, y, sample_weight, **beside)
        return regularization_path(self, request, Cs, cv, scoring, callbacks)

    def _adopt(self, result: Result) -> Self:
        self.result_ = result
        self.n_iter_ = result.n_iter
        self._unpack(result.w)
        return self

    # -- using -----------------------------------------------------------------------------------

    def predict(self, X: Any, **beside: Any) -> Any:
        """Return the best output of every input.

        Parameters
        ----------
        X : inputs, as in `fit`
        """
        return self._predict(self._question(X, **beside))

    def score(self, X: Any, y: Any, *, sample_weight: Any = None, **beside: Any) -> float:
        """Return 1 - the mean of the cost as a share of the largest cost possible.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        """
        check_is_fitted(self, "result_")
        return self._score(self._request(X, y, sample_weight, **beside))

    def _request(self, X: Any, y: Any = None, sample_weight: Any = None, **beside: Any) -> Request:
        return Request.of(self.beside, X, y, sample_weight, **beside)

    def _question(self, X: Any, **beside: Any) -> Request:
        """Return the request of a method that predicts, by a fitted estimator only."""
        check_is_fitted(self, "result_")
        return self._request(X, **beside)

    def _predict(self, request: Request) -> Any:
        data = self._encode_inputs(request)
        return self._decode(self._best_cells(data), data)

    def _score(self, request: Request) -> float:
        return self._scorer(request)(self.result_.w)

    def _best_cells(self, data: Any) -> np.ndarray:
        """Return the cells of the best outputs of encoded inputs."""
        free = self._prediction_cost(data)
        jobs = n_threads(self.n_jobs)
        return predict.best_outputs(data, self.result_.w, free, n_jobs=jobs)[0]

    # -- files -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which `maxmargin.load` reads.

        A file holds neither code (a callable `scoring`), nor the dual that `warm_start` keeps for
        the next fit, nor the state of a solver between two calls of `partial_fit`. Where there is
        one, a warning names what is left out.
        """
        storage.save(path, self)

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (meta, arrays): parameters and fitted state, for a model file."""
        return storage.to_state(self)

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Return the estimator whose `to_state` gave these; ValueError for what none gave."""
        return storage.from_state(cls, meta, arrays)


compose(BaseSVM)

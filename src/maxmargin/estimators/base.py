"""The base class of all estimators: it owns the run, a subclass owns what X and Y mean.

The hooks that a subclass writes are in hooks.py; everything public here is built on them.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from maxmargin.core import predict
from maxmargin.core.news import compiling_shown
from maxmargin.core.problem import lam_from_C
from maxmargin.estimators.hooks import Hooks
from maxmargin.persistence import save_estimator
from maxmargin.solvers import Result, run
from maxmargin.training import partial as online
from maxmargin.training import storage
from maxmargin.training.checkpoint import bind_callbacks, read_checkpoint
from maxmargin.training.path import PathResult, regularization_path
from maxmargin.training.progress import ProgressLine
from maxmargin.training.scoring import eval_measure, single_eval_set
from maxmargin.training.settings import check_settings, generator, n_threads
from maxmargin.training.task import Training
from maxmargin.training.warm import Memory, Start, recall

__all__ = ["BaseSVM", "Training"]


class BaseSVM(Hooks, BaseEstimator):
    """Common parameters, and `fit` to `save` on the hooks of a subclass.

    Minimises lam/2 |w|^2 + 1/n sum_i s_i max_y psi(h_i(y), g_i(y)) with lam = 1/(C n).

    Parameters
    ----------
    C : float > 0
        Weight of the training losses against |w|^2/2, as in scikit-learn's LinearSVC.
    cost : str or object
        Task loss: a name in `maxmargin.costs.COSTS` or such an object.
    surrogate : str or object
        What is minimised in place of the cost: a name in `maxmargin.surrogates.SURROGATES`.
    search : str or object
        How the most violating output is found: a name in `maxmargin.search.SEARCHES`, or "auto" for
        the fastest that is exact here.
    solver : str or Solver
        "auto", a name in `maxmargin.solvers.SOLVERS`, or a solver with options of your choice.
        "auto" is "bcfw"; for classes "sdca"; for rankings ``OneSlack(inwards=True)``; "sgd" where
        the loss is not convex. ``result_.solver`` says which it was.
    tol : float >= 0
        Relative gap (primal - dual) / primal to stop at. Held-out scores rarely move below 1e-2,
        which is the default. "sgd" and "perceptron" have no certificate, and do not look at it.
    max_iter : int
        Most passes over the examples; "sgd" and "perceptron" make so many, unless `patience` or
        `time_budget` ends them before (or, for the perceptron, a pass without a mistake).
    time_budget : float or None
        Most seconds of one fit, looked at between the compiled calls that a pass is made of.
        Compiling comes on top, and so does a last look at the primal, which certifies what is
        returned.
    patience : int or None
        Stop when the score on `eval_set` has not risen for so many passes, and keep the weights
        that scored best.
    scoring : str, callable or None
        What `eval_set` is scored by, larger is better: a name that `maxmargin.metrics` or
        scikit-learn knows, such as "chunk_f1" or "f1_macro", or a callable (estimator, X, y) ->
        number, such as a scikit-learn scorer. None: F1 of segments ("chunk_f1") where labels are
        tags such as "B-NP", else what `score` measures. `result_.validation_measure` is its name.
    n_jobs : int or None
        Threads for prediction, certificates and batch oracles (None: 1, -1: all). Never changes a
        result.
    random_state : int, Generator, RandomState or None
    warm_start : bool
        Let `fit` go on where the last one ended: with its dual on the same data, with its weights
        on other data. These an online solver starts from; the others, whose dual begins anew, take
        from them what they can ("bcfw" planes, "sdca" a first candidate to return).
    callbacks : list of callables or None
        Called with an `Iteration` after each pass; one that returns True stops the run.
    verbose : int
        1 prints a line to stderr when there is news: the gap was computed, or no pass before scored
        as well on `eval_set`; 2 after every pass. Both say what is being compiled.

    Attributes
    ----------
    result_ : Result
        Weights, primal, dual, gap, status, history.
    classes_ : ndarray
    n_iter_ : int
    """

    result_: Result
    _memory: Memory | None = None
    _online: online.OnlineRun | None = None

    def __init__(
        self,
        *,
        C: float = 1.0,
        cost: Any = "hamming",
        surrogate: Any = "margin",
        search: Any = "auto",
        solver: Any = "auto",
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
        self.C = C
        self.cost = cost
        self.surrogate = surrogate
        self.search = search
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.patience = patience
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.verbose = verbose

    # -- learning --------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        eval_set: Any = None,
        resume: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from examples.

        Parameters
        ----------
        X, Y : inputs and their true outputs, one element an example
        sample_weight : array of shape (n_examples,) or None
            s_i >= 0, multiplies the loss of example i.
        eval_set : (X, Y), [(X, Y)] or None
            Held-out examples, scored after each pass; see `scoring` and `patience`.
        resume : path or None
            A file that a `Checkpoint` wrote during a fit of these data (`eval_set` included) with
            these parameters: go on there, and end where that fit would have ended.

        Returns
        -------
        self
        """
        with self._unchanged_on_error():
            settings = check_settings(self)
            eval_set = single_eval_set(eval_set)
            self._check_eval_set(eval_set)
            training = self._encode(X, Y, sample_weight, reset=True)
            settings = self._suit(settings, training)
            lam = lam_from_C(float(self.C), training.n_examples)
            problem = training.problem(settings.surrogate, lam, settings.n_jobs, settings.search)
            measure = eval_measure(self, eval_set)
            snapshot = None if resume is None else read_checkpoint(resume, self, problem, eval_set)
            start, state, w = None, None, None
            if self.warm_start:
                start = Start.of(self, problem, settings.solver)
                if snapshot is None:
                    state, w = recall(self._memory, start, problem)
            rng = generator(self.random_state)
            result, state = run(
                problem,
                settings.solver,
                rng=rng,
                tol=self.tol,
                max_iter=self.max_iter,
                time_budget=self.time_budget,
                state=state,
                w=w,
                callbacks=self._bound_callbacks(problem, eval_set),
                validate=measure.score,
                measure=measure.name,
                patience=self.patience,
                snapshot=snapshot,
            )
            self._memory = self._online = None
            if start is not None:
                self._memory = Memory(start, state, result.w)
            if settings.solver.is_online:
                self._online = online.OnlineRun(settings.solver, rng, state, lam, result)
            return self._adopt(result)

    @online.online_only
    def partial_fit(
        self,
        X: Any,
        Y: Any,
        classes: Iterable[Any] | None = None,
        sample_weight: Any = None,
        *,
        lam: float | None = None,
        n_total: int | None = None,
    ) -> Self:
        """Make one pass over a batch of examples, going on from the earlier ones.

        Only with an online solver; with another the estimator has no such method. Feature
        dictionaries and lists of names fix the vocabulary at the first batch, and names that come
        later are ignored: where they do, set the parameter `hashing`, which keeps none.

        Parameters
        ----------
        X, Y, sample_weight : a batch of examples, as in `fit`
        classes : all labels there will be; needed at the first call, unless the parameter of that
            name is set or the estimator was fitted before, whose weights are then kept
        lam : regularisation, or None
        n_total : number of examples there will be in all, or None; lam is then 1/(C n_total). A
            solver that minimises the objective needs one of `lam` and `n_total`.
        """
        return self._partial_fit(X, Y, classes, sample_weight, lam=lam, n_total=n_total)

    def _partial_fit(
        self,
        X: Any,
        Y: Any,
        classes: Iterable[Any] | None,
        sample_weight: Any,
        *,
        lam: float | None,
        n_total: int | None,
    ) -> Self:
        with self._unchanged_on_error():
            settings = check_settings(self)
            lam = online.batch_lam(self, settings.solver, lam, n_total)
            is_first = not hasattr(self, "result_")
            online.check_classes(self, classes, is_first)
            training = self._encode(X, Y, sample_weight, reset=is_first, classes=classes)
            problem = training.problem(settings.surrogate, lam, settings.n_jobs, settings.search)
            if self._online is None or self._online.solver != settings.solver:
                known = None if is_first else self.result_
                rng = generator(self.random_state)
                self._online = online.OnlineRun(settings.solver, rng, result=known)
            self._memory = None
            return self._adopt(self._online.advance(problem))

    def path(
        self,
        X: Any,
        Y: Any,
        Cs: Iterable[float],
        cv: Any = None,
        scoring: Any = None,
        sample_weight: Any = None,
    ) -> PathResult:
        """Fit clones along increasing C, each from the dual of the one before.

        A fit that is interrupted ends the path; see `PathResult`. There is no `eval_set` here, so
        `patience` must be None.

        Parameters
        ----------
        X, Y, sample_weight : as in `fit`
        Cs : values of C, in any order
        cv : None (no validation), number of folds, or a scikit-learn splitter
        scoring : None (the parameter `scoring`, or else `score`), or what that parameter takes
        """
        return regularization_path(self, X, Y, Cs, cv, scoring, sample_weight)

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Leave the estimator as it was if what follows fails.

        Else a fit that fails could leave classes or features that do not fit the weights, and
        compiled code, which checks no bounds, would read past their end.
        """
        before = self.__dict__.copy()
        try:
            with compiling_shown(bool(self.verbose)):
                yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            self._memory = self._online = None  # their arrays may be half changed
            raise

    def _bound_callbacks(self, problem: Any, eval_set: Any = None) -> list[Any]:
        callbacks = list(self.callbacks or ())
        if self.verbose:
            callbacks.append(ProgressLine(every_pass=self.verbose > 1))
        return bind_callbacks(callbacks, self, problem, eval_set)

    def _check_eval_set(self, eval_set: Any) -> None:
        if self.patience is not None and eval_set is None:
            raise ValueError("patience needs an eval_set to look at; got eval_set=None.")
        if eval_set is not None and not (isinstance(eval_set, tuple) and len(eval_set) == 2):
            n = f" of {len(eval_set)}" if isinstance(eval_set, tuple) else ""
            raise TypeError(f"eval_set must be a pair (X, Y), got {type(eval_set).__name__}{n}.")

    def _adopt(self, result: Result) -> Self:
        self.result_ = result
        self.n_iter_ = result.n_iter
        self._unpack(result.w)
        return self

    # -- using -----------------------------------------------------------------------------------

    def _best_cells(self, data: Any) -> np.ndarray:
        """Return the cells of the best outputs of encoded inputs."""
        free = self._prediction_cost(data)
        jobs = n_threads(self.n_jobs)
        return predict.best_outputs(data, self.result_.w, free, n_jobs=jobs)[0]

    def predict(self, X: Any) -> Any:
        """Return the best output of every input."""
        check_is_fitted(self, "result_")
        data = self._encode_inputs(X)
        return self._decode(self._best_cells(data), data)

    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Return 1 - the mean of the cost as a share of the largest cost possible."""
        check_is_fitted(self, "result_")
        return self._scorer(X, Y, sample_weight)(self.result_.w)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which `maxmargin.load` reads.

        A file holds neither code (callbacks, a callable `scoring`), nor the dual that `warm_start`
        keeps for the next fit, nor the state of a solver between two calls of `partial_fit`. Where
        there is one, a warning names what is left out.
        """
        check_is_fitted(self, "result_")
        save_estimator(path, self)
        for name, meaning in storage.left_out(self).items():
            warnings.warn(
                f"{os.fspath(path)!r} does not hold {name}: {meaning}.", UserWarning, stacklevel=2
            )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (meta, arrays): parameters and fitted state, for a model file."""
        return storage.to_state(self)

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Return the estimator whose `to_state` gave these; ValueError for what none gave."""
        return storage.from_state(cls, meta, arrays)

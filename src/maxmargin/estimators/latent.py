"""`LatentSVM`: outputs of which a part is never seen."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.problem import Problem, lam_from_C
from maxmargin.estimators.chain.latent import ChainCompletion
from maxmargin.estimators.chain.svm import ChainSVM
from maxmargin.estimators.graph.svm import GraphSVM, TreeSVM
from maxmargin.estimators.latent_files import LatentFiles
from maxmargin.estimators.ranking.scores import measure_of
from maxmargin.estimators.structured import StructuredSVM, register_structure
from maxmargin.inputs.checks import check_number, check_weights
from maxmargin.persistence import register
from maxmargin.solvers import run
from maxmargin.structures import BagRankings, OwnCost, UserData
from maxmargin.structures.user.boxes import same
from maxmargin.structures.user.structure import count_features
from maxmargin.training.automatic import settle
from maxmargin.training.fit import unchanged_on_error
from maxmargin.training.latent import LatentResult, best_of_starts, cccp
from maxmargin.training.settings import Settings, check_settings, generator
from maxmargin.training.task import Task

__all__ = ["LatentSVM"]

STARTS = ("auto", "mean", "zero", "random")

register_structure(BagRankings)


@register
class LatentSVM(LatentFiles, BaseEstimator):
    """Max-margin learning where a part of every output is latent: never seen, but predicted.

    Outputs are pairs (y, z): a class and where its object is, a labelling of which some labels are
    not known. Minimises F(w) = lam/2 |w|^2 + 1/n sum_i max_{y,z} psi(h, g) with
    h = w.phi(x_i, y, z) - max_z' w.phi(x_i, y_i, z'), by completing the true outputs and solving a
    convex problem in turn (CCCP). F never rises (where the search only bounds the losses: its upper
    bound), but it is not convex: `result_` has no gap, and starts differ.

    Parameters
    ----------
    estimator : StructuredSVM, structure or ChainSVM
        A structure in plain Python (or `StructuredSVM` with one and parameters of its own) whose
        outputs are pairs ``(y, z)``, in `joint_feature`, `maximize` and `cost`, and which has a
        method ``complete(x, w, y)``, the z of largest ``w @ joint_feature(x, (y, z))``. Its cost
        must not depend on the z of the true output. Or a `ChainSVM`: sequences in which some labels
        are None are completed, not cut, and only known labels cost.
    latent : function of (x, w, y), or None
        In the place of the method ``complete``.
    start : {"auto", "mean", "zero", "random"}
        "mean": the weights of a convex problem without latent variables, whose features are means
        over z; the structure needs ``averaged(x)``, an input whose latent part has one value, or
        ``outputs(x)``, the list of all pairs. "random": random weights.
        "zero": weights 0, which complete all by the first z: where places are exchangeable, that is
        a point which CCCP does not leave. "auto": "mean" if the structure has one of
        the two, else "random"; for sequences the known pieces, each alone.
    n_init : int
        How many starts; those after the first are random. The one of least F is kept.
    max_outer : int
    outer_tol : float
        Stop where F falls by at most this share of it in a step.
    random_state : int, Generator or None

    Attributes
    ----------
    result_ : LatentResult
        `objective` (F), `search_gap`, `inner_gap`, `decrease`, `history`.
    estimator_ : the fitted estimator
    coef_ : ndarray, the weights
    latent_ : list, the z of the true outputs at the end

    Examples
    --------
    A sign that shows at one of three places:

    >>> import numpy as np
    >>> from maxmargin import LatentSVM, StructuredSVM
    >>> class Place:
    ...     n_features = 2
    ...     def joint_feature(self, x, pair):
    ...         return pair[0] * x[pair[1]]
    ...     def outputs(self, x):
    ...         return [(y, z) for y in (-1, 1) for z in range(len(x))]
    ...     def cost(self, pair, true):
    ...         return float(pair[0] != true[0])
    ...     def maximize(self, x, w, true, score_scale, cost_scale):
    ...         def value(pair):
    ...             price = 0.0 if true is None else self.cost(pair, true)
    ...             return score_scale * (w @ self.joint_feature(x, pair)) + cost_scale * price
    ...         return max(self.outputs(x), key=value)
    ...     def complete(self, x, w, y):
    ...         return max(range(len(x)), key=lambda z: w @ self.joint_feature(x, (y, z)))
    >>> rng = np.random.default_rng(0)
    >>> y = rng.choice([-1, 1], size=40)
    >>> X = 0.3 * rng.normal(size=(40, 3, 2))
    >>> X[np.arange(40), rng.integers(3, size=40), 0] += 2.0 * y
    >>> model = LatentSVM(StructuredSVM(Place(), C=10), random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    >>> all(record.decrease >= 0 for record in model.result_.history)
    True
    """

    estimator_: Any
    result_: LatentResult
    coef_: np.ndarray
    latent_: list[Any]

    def __init__(
        self,
        estimator: Any = None,
        latent: Any = None,
        *,
        start: str = "auto",
        n_init: int = 1,
        max_outer: int = 50,
        outer_tol: float = 1e-3,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.latent = latent
        self.start = start
        self.n_init = n_init
        self.max_outer = max_outer
        self.outer_tol = outer_tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from inputs and what is known of their outputs.

        Parameters
        ----------
        X : sequence of inputs
        y : sequence of the known parts of true outputs; for `ChainSVM` labels, None where unknown
        sample_weight : array of shape (n,) or None
        """
        self._check_parameters()
        estimator = self._own_estimator()
        settings = check_settings(estimator)
        if not settings.surrogate.is_convex:
            raise ValueError(
                f"surrogate={settings.surrogate!r} is not convex: the problems with the latent "
                "parts held have no certificate then."
            )
        rng = generator(self.random_state)
        with unchanged_on_error(estimator):
            if isinstance(estimator, ChainSVM):
                examples: Any = ChainCompletion(estimator, settings, X, y, sample_weight)
            else:
                examples = _Pairs(estimator, settings, X, y, sample_weight, self._complete)
            first = examples.first(self.start, rng)

            def descend(k: int) -> LatentResult:
                w = first if k == 0 else rng.normal(size=len(first))
                return cccp(
                    examples,
                    examples.solver,
                    w,
                    rng=rng,
                    tol=estimator.tol,
                    outer_tol=self.outer_tol,
                    max_outer=self.max_outer,
                    max_iter=estimator.max_iter,
                )

            self.result_ = best_of_starts(descend, self.n_init)
            estimator._unpack(self.result_.w)
            estimator.result_ = self.result_
        self.estimator_, self.coef_ = estimator, self.result_.w
        self.latent_ = examples.listed(self.result_.w)
        return self

    def predict(self, X: Any) -> Any:
        """Return the y of the best pairs; for `ChainSVM` the labels of all positions."""
        if isinstance(self._fitted(), ChainSVM):
            return self.estimator_.predict(X)
        return [pair[0] for pair in self.estimator_.predict(X)]

    def predict_latent(self, X: Any) -> list[Any]:
        """Return the z of the best pairs."""
        if isinstance(self._fitted(), ChainSVM):
            raise TypeError("with ChainSVM the latent parts are labels: predict returns them all.")
        return [pair[1] for pair in self.estimator_.predict(X)]

    def score(self, X: Any, y: Any) -> float:
        """Return the share of samples whose y is right.

        For `ChainSVM` it is its own score. For `BagRankings` it is the mean over queries of the
        measure that the cost stands for, such as average precision, as `RankingSVM.score` has it;
        queries where it is 0/0 are left out.
        """
        if isinstance(self._fitted(), ChainSVM):
            return float(self.estimator_.score(X, y))
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} samples but y has {len(y)}; expected one y each.")
        found = self.predict(X)
        structure = self.estimator_.structure
        if isinstance(structure, BagRankings):
            measure = measure_of(structure.rule, 1)
            own = zip(structure.read_relevance(X, y), found, strict=True)
            values = np.array([measure(relevant, scores) for relevant, scores in own])
            if np.isnan(values).all():
                raise ValueError("Nothing to score: no query has both relevant bags and others.")
            return float(np.nanmean(values))
        return float(np.mean([bool(np.all(a == b)) for a, b in zip(found, y, strict=True)]))

    def _fitted(self) -> Any:
        check_is_fitted(self, "result_")
        return self.estimator_

    def _check_parameters(self) -> None:
        if self.start not in STARTS:
            raise ValueError(f"start must be one of {', '.join(STARTS)}; got {self.start!r}.")
        check_number("n_init", self.n_init, 1, closed=True, integer=True)
        check_number("max_outer", self.max_outer, 1, closed=True, integer=True)
        check_number("outer_tol", self.outer_tol, 0, closed=True)

    def _own_estimator(self) -> Any:
        """Return a new estimator of the kind that was given."""
        given = self.estimator
        if isinstance(given, ChainSVM):
            if self.latent is not None:
                raise ValueError("latent must be None for ChainSVM: unknown labels are latent.")
            return clone(given)
        if given is None or inspect.isclass(given) or hasattr(given, "get_params"):
            if not isinstance(given, StructuredSVM):
                more = ""
                if isinstance(given, (GraphSVM, TreeSVM)):
                    more = (
                        " Unknown labels of nodes are left out of training with their edges: fit "
                        "the estimator itself."
                    )
                raise TypeError(
                    "estimator must be a StructuredSVM, a structure in plain Python whose outputs "
                    f"are pairs, or a ChainSVM; got {given!r}.{more}"
                )
            estimator = StructuredSVM(**given.get_params(deep=False))
        else:
            estimator = StructuredSVM(given)
        estimator._structure()
        if estimator._is_compiled():
            raise TypeError(
                f"{type(estimator.structure).__name__} runs compiled; LatentSVM completes the "
                "outputs of structures in plain Python."
            )
        if self.latent is None and not callable(getattr(estimator.structure, "complete", None)):
            raise TypeError(
                f"{type(estimator.structure).__name__} has no best completion: give it a method "
                "complete(x, w, y), or LatentSVM(latent=) such a function."
            )
        if self.latent is not None and not callable(self.latent):
            raise TypeError(f"latent must be a function of (x, w, y), got {self.latent!r}.")
        return estimator

    def _complete(self, structure: Any, x: Any, w: np.ndarray, y: Any) -> Any:
        return structure.complete(x, w, y) if self.latent is None else self.latent(x, w, y)


class _Pairs:
    """Examples of a structure in plain Python, whose outputs are pairs."""

    def __init__(
        self, estimator: Any, settings: Settings, X: Any, y: Any, weight: Any, complete: Any
    ) -> None:
        if len(X) != len(y) or len(X) == 0:
            raise ValueError(f"X has {len(X)} samples but y has {len(y)}; expected one y each.")
        self.X, self.y = [X[i] for i in range(len(X))], [y[i] for i in range(len(y))]
        self.structure, self._complete = estimator.structure, complete
        self.weight = check_weights(weight, len(self.X))
        self._estimator, self._settings = estimator, settings
        self.lam = lam_from_C(float(estimator.C), len(self.X))
        probe = self._task([self._z(x, np.zeros(self._size()), v) for x, v in self])
        estimator.n_weights_ = probe.data.n_weights
        self._settings, _ = settle(estimator, settings, probe)
        self.solver = self._settings.solver
        self._before: list[Any] | None = None

    def __iter__(self) -> Any:
        return iter(zip(self.X, self.y, strict=True))

    def _size(self) -> int:
        return count_features(self.structure)

    def _z(self, x: Any, w: np.ndarray, y: Any) -> Any:
        view = w.view()
        view.flags.writeable = False
        return self._complete(self.structure, x, view, y)

    def complete(self, w: np.ndarray) -> list[Any]:
        """Return the best z of every true output."""
        return [self._z(x, w, y) for x, y in self]

    def listed(self, w: np.ndarray) -> list[Any]:
        """Return them as users know them."""
        return self.complete(w)

    def n_different(self, one: list[Any], other: list[Any]) -> int:
        """Compare as outputs are compared: by value."""
        return sum(not same(a, b) for a, b in zip(one, other, strict=True))

    def problem(self, latent: list[Any]) -> Problem:
        """Return the convex problem; refuse a cost that depends on the z of the truth."""
        if self._before is not None:
            for i, (y, old, new) in enumerate(zip(self.y, self._before, latent, strict=True)):
                if float(self.structure.cost((y, old), (y, new))) != 0.0:
                    raise ValueError(
                        f"cost of sample {i} is not 0 for its true y with z={old!r}, where the "
                        f"truth has z={new!r}: it must not depend on the z of the true output."
                    )
        self._before = latent
        settings = self._settings
        return self._task(latent).problem(
            settings.surrogate, self.lam, settings.n_jobs, settings.search
        )

    def _task(self, latent: list[Any]) -> Task:
        pairs = list(zip(self.y, latent, strict=True))
        return Task(UserData(self.structure, self.X, pairs), OwnCost(), len(self.X), self.weight)

    def first(self, start: str, rng: np.random.Generator) -> np.ndarray:
        """Return the weights to start from."""
        size = self._size()
        averaged = getattr(self.structure, "averaged", None)
        can_list = callable(getattr(self.structure, "outputs", None))
        if start == "mean" and not (can_list or callable(averaged)):
            raise ValueError(
                f"start='mean' needs means over z, but {type(self.structure).__name__} has neither "
                "a method averaged(x) nor outputs(x)."
            )
        if start == "zero":
            return np.zeros(size)
        if start == "random" or not (can_list or callable(averaged)):
            return rng.normal(size=size)
        estimator, settings = self._estimator, self._settings
        if callable(averaged):
            plain = _Pairs(
                estimator, settings, [averaged(x) for x in self.X], self.y, self.weight,
                self._complete,
            )  # fmt: skip
            problem = plain.problem(plain.complete(np.zeros(size)))
            limits = {"tol": estimator.tol, "max_iter": estimator.max_iter}
            return run(problem, self.solver, rng=rng, **limits)[0].w
        mean = StructuredSVM(**estimator.get_params(deep=False))
        mean.structure, mean.random_state = _Mean(self.structure, size), rng
        return mean.fit(self.X, self.y, sample_weight=self.weight).coef_


class _Mean:
    """The structure without latent variables: features are means over z."""

    def __init__(self, structure: Any, n_features: int) -> None:
        self.pairs, self.n_features = structure, n_features
        self._seen: list[Any] = []  # one pair for each y

    def _by_y(self, x: Any) -> list[list[Any]]:
        """Return the pairs of each y."""
        found: list[list[Any]] = []
        for pair in self.pairs.outputs(x):
            own = next((pairs for pairs in found if same(pairs[0][0], pair[0])), None)
            if own is None:
                found.append([pair])
            else:
                own.append(pair)
        return found

    def _mean(self, x: Any, pairs: list[Any]) -> np.ndarray:
        total = np.zeros(self.n_features)
        for pair in pairs:
            found = self.pairs.joint_feature(x, pair)
            if isinstance(found, tuple):
                np.add.at(total, np.asarray(found[0]), np.asarray(found[1], dtype=float))
            else:
                total += found
        return total / len(pairs)

    def joint_feature(self, x: Any, y: Any) -> np.ndarray:
        """Return the mean over z."""
        pairs = next((own for own in self._by_y(x) if same(own[0][0], y)), None)
        if pairs is None:
            raise ValueError(f"outputs(x) of the structure has no pair with y={y!r}.")
        if not any(same(seen[0], y) for seen in self._seen):
            self._seen.append(pairs[0])
        return self._mean(x, pairs)

    def cost(self, y: Any, y_true: Any) -> float:
        """Return the cost of y, with any z."""
        if same(y, y_true):
            return 0.0
        # The features of y, and so a pair with it, were asked for before.
        own, true = (next(seen for seen in self._seen if same(seen[0], v)) for v in (y, y_true))
        return float(self.pairs.cost(own, true))

    def maximize(
        self, x: Any, w: np.ndarray, y_true: Any, score_scale: float, cost_scale: float
    ) -> Any:
        """Try all y."""
        best, top = None, -np.inf
        for pairs in self._by_y(x):
            y = pairs[0][0]
            value = score_scale * float(w @ self._mean(x, pairs))
            if not any(same(seen[0], y) for seen in self._seen):
                self._seen.append(pairs[0])
            if y_true is not None:
                value += cost_scale * self.cost(y, y_true)
            if best is None or value > top:
                best, top = y, value
        return best

    def profile(self, x: Any, w: np.ndarray, y_true: Any) -> list[Any]:
        """Return all y: there are few."""
        return [pairs[0][0] for pairs in self._by_y(x)]

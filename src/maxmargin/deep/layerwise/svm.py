"""`LayerwiseSVM`: a net of piecewise-linear layers, trained by CCCP, one layer after the other."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from maxmargin.deep.layerwise.pairs import PiecewiseLinear
from maxmargin.deep.layerwise.step import Block, ConvexBound, mean_loss, minimise
from maxmargin.deep.loss import StructuredLoss
from maxmargin.deep.needed import torch
from maxmargin.deep.structures import Classes, Rankings
from maxmargin.deep.tensors import as_numbers, check_tensor
from maxmargin.estimators.ranking.scores import measure_of
from maxmargin.inputs.checks import check_number

__all__ = ["LayerRecord", "LayerwiseResult", "LayerwiseSVM"]


@dataclass(frozen=True)
class LayerRecord:
    """One step: which layer, F at its end, by how much it fell, and how its convex problem went.

    ``inner_gap`` is how far the convex bound at the new weights is at most from its least value.
    """

    sweep: int
    layer: int
    objective: float
    decrease: float
    inner_gap: float
    n_evaluations: int


@dataclass(repr=False)
class LayerwiseResult:
    """How the net that layerwise training returns came about.

    There is no gap: how far F is from its least value is not known.

    Attributes
    ----------
    objective : float
        F = lam/2 |all weights|^2 + mean loss, of the net that is returned.
    inner_gap : float
        The largest of the sweep that the net comes from, the last one unless ``eval_set`` chose
        another: how far its convex bounds ended at most above their least values.
    decrease : float
        By how much F fell in that sweep.
    status : str
        "stationary": F fell by at most outer_tol * F in a sweep; "max_sweeps"; "patience": the
        score of eval_set rose no more.
    n_sweeps, n_evaluations, seconds : sweeps; losses and gradients of all examples; time
    history : list of `LayerRecord`, one per step
    scores : list of float, of eval_set after each sweep
    kept_sweep : int
        The sweep that the net comes from, from 0: that of the best of ``scores``, the first of
        equals; the last where there are none.
    """

    objective: float
    inner_gap: float
    decrease: float
    status: str
    n_sweeps: int
    n_evaluations: int
    seconds: float
    history: list[LayerRecord] = field(repr=False)
    scores: list[float] = field(default_factory=list, repr=False)
    kept_sweep: int = 0

    def __repr__(self) -> str:
        is_last = self.kept_sweep == self.n_sweeps - 1
        kept = "" if is_last else f", net of sweep {self.kept_sweep + 1} kept"
        return (
            f"LayerwiseResult({self.status} after {self.n_sweeps} sweeps{kept}, "
            f"F {self.objective:.6g}, inner gap {self.inner_gap:.3g}, "
            f"last decrease {self.decrease:.3g}, {self.seconds:.2f} s)"
        )


class LayerwiseSVM(BaseEstimator):  # type: ignore[misc]
    """Layerwise training of a net under a margin loss (Berrada, Zisserman and Kumar 2017).

    F = lam/2 |weights of all layers|^2 + mean_i max_y [cost(y, y_i) + score(y) - score(y_i)] is a
    difference of functions that are convex in the weights of one layer. A step of CCCP bounds it by
    a convex function that is equal to it at the weights W_t of now, and minimises this plus
    mu/2 |W - W_t|^2 by cutting planes, up to a gap that is told. A sweep has one step for each
    layer, from the last to the first. F never rises; it is not convex, so nothing is said of its
    least value. Start from a net that was trained in another way, or from torch's own weights.

    The bound is loose for deep nets: activations are split in two parts that grow with the product
    of the sums of absolute weights of the layers above. Biases count as weights.

    Parameters
    ----------
    net : torch.nn.Sequential of Linear, Conv2d, ReLU, MaxPool2d and Flatten
        It is copied. Its outputs are the potentials: one score per class, or one per sample.
    structure : Classes or Rankings
    cost : str, Cost or None
        "zero_one" and others of classes; "ap", "ndcg" and others of rankings. None: the first.
    lam : float > 0
    mu : float >= 0
        How much a step is held back. A small one makes longer steps, whose convex problems need
        more planes.
    max_sweeps : int
    tol : float > 0
        How far a convex problem may end above its least value, relative to F.
    max_iter : int
        Most planes of a step.
    outer_tol : float >= 0
        Stop where F falls by at most this share of it in a sweep.
    patience : int or None
        With ``eval_set``: stop after so many sweeps without a better score, and keep the best net.
    batch_size : int or None
        Rows of classes that are run through the net at a time; None: all. A query is run whole.

    Attributes
    ----------
    net_ : the trained copy, of the dtype of ``net``
    result_ : LayerwiseResult
    classes_ : array, for classes

    Examples
    --------
    >>> import numpy as np, torch
    >>> from torch import nn
    >>> from maxmargin.deep import Classes, LayerwiseSVM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1.0, 1.0, size=(200, 2))
    >>> y = (X[:, 0] * X[:, 1] > 0.0).astype(int)  # no line parts these
    >>> _ = torch.manual_seed(0)
    >>> net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    >>> machine = LayerwiseSVM(net, Classes(2), lam=1e-3, mu=0.01, max_sweeps=10).fit(X, y)
    >>> machine.score(X, y) > 0.9
    True
    >>> all(record.decrease >= 0.0 for record in machine.result_.history)
    True
    """

    def __init__(
        self,
        net: Any,
        structure: Any,
        cost: Any = None,
        lam: float = 1e-3,
        mu: float = 0.1,
        *,
        max_sweeps: int = 10,
        tol: float = 1e-2,
        max_iter: int = 100,
        outer_tol: float = 1e-3,
        patience: int | None = None,
        batch_size: int | None = None,
    ) -> None:
        self.net, self.structure, self.cost, self.lam, self.mu = net, structure, cost, lam, mu
        self.max_sweeps, self.tol, self.max_iter = max_sweeps, tol, max_iter
        self.outer_tol, self.patience, self.batch_size = outer_tol, patience, batch_size

    def fit(self, X: Any, y: Any, *, qid: Any = None, eval_set: Any = None) -> LayerwiseSVM:
        """Train a copy of the net.

        Parameters
        ----------
        X : array or tensor, the inputs of the net, a row per example or sample
        y : classes of any type; or 1 for relevant samples and 0 for others
        qid : the query of each sample; None: all rows are one query
        eval_set : (X, y) or (X, y, qid), for ``patience``
        """
        begin = perf_counter()
        self._check_parameters(eval_set)
        net = PiecewiseLinear(self.net)
        cost = ("zero_one" if self._is_of_classes else "ap") if self.cost is None else self.cost
        loss = StructuredLoss(self.structure, cost, reduction="sum")
        self._judge: Any = None if self._is_of_classes else measure_of(loss.cost, 1)
        rows = _inputs(X)
        blocks, n = self._blocks(net, rows, y, qid)
        self.net_ = copy.deepcopy(self.net)
        run = _Run(net, rows, blocks, loss, n, self.lam)
        best, best_scores, status = list(net.weights), list[float](), "max_sweeps"
        kept = 0
        for sweep in range(self.max_sweeps):
            before = run.value
            for layer in reversed(range(net.n_layers)):
                run.step(sweep, layer, self.mu, self.tol, self.max_iter)
            if eval_set is None:
                best, kept = list(net.weights), sweep
            else:
                net.write(self.net_)
                best_scores.append(self.score(*eval_set))
                if best_scores[-1] > max(best_scores[:-1], default=-np.inf):
                    best, kept = list(net.weights), sweep
                if sweep - kept >= (self.patience or self.max_sweeps):
                    status = "patience"
                    break
            if before - run.value <= self.outer_tol * abs(run.value):
                status = "stationary"
                break
        net.weights = best
        net.write(self.net_)
        own = [record for record in run.history if record.sweep == kept]
        self.result_ = LayerwiseResult(
            own[-1].objective, max(record.inner_gap for record in own),
            sum(record.decrease for record in own), status,
            len(run.history) // net.n_layers, sum(r.n_evaluations for r in run.history),
            perf_counter() - begin, run.history, best_scores, kept,
        )  # fmt: skip
        return self

    @property
    def _is_of_classes(self) -> bool:
        return isinstance(self.structure, Classes)

    def _check_parameters(self, eval_set: Any) -> None:
        if not isinstance(self.structure, Classes | Rankings):
            raise TypeError(f"structure must be Classes(n) or Rankings(), got {self.structure!r}.")
        check_number("lam", self.lam)
        check_number("mu", self.mu, closed=True)
        check_number("tol", self.tol)
        check_number("outer_tol", self.outer_tol, closed=True)
        check_number("max_sweeps", self.max_sweeps, 1, closed=True, integer=True)
        check_number("max_iter", self.max_iter, 1, closed=True, integer=True)
        for name in ("patience", "batch_size"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), 1, closed=True, integer=True)
        if eval_set is not None and not (isinstance(eval_set, tuple) and len(eval_set) in (2, 3)):
            raise ValueError("eval_set must be (X, y) or (X, y, qid).")
        if self.patience is not None and eval_set is None:
            raise ValueError("patience needs eval_set, whose score it watches.")

    def _blocks(self, net: PiecewiseLinear, rows: Any, y: Any, qid: Any) -> tuple[list[Block], int]:
        """Return the examples in blocks, and how many there are."""
        y = np.asarray(y)
        if y.shape != (len(rows),):
            raise ValueError(f"y must have one entry per row of X, {len(rows)}; got {y.shape}.")
        found = tuple(_scores(net, rows[:1]).shape)
        if self._is_of_classes:
            K = self.structure.n_classes
            if qid is not None:
                raise ValueError("qid is given, but classes have no queries.")
            if found != (1, K):
                raise ValueError(
                    f"the net must have one output per class, {K}; it has the shape {found} for a "
                    "row."
                )
            self.classes_, labels = _encoded(y, K)
            size = self.batch_size or len(rows)
            parts = [np.arange(k, min(k + size, len(rows))) for k in range(0, len(rows), size)]
            return [_classes_block(own, labels[own], K) for own in parts], len(rows)
        if found not in ((1,), (1, 1)):
            raise ValueError(f"the net must have one output per sample; it has the shape {found}.")
        if not np.isin(y, (0, 1)).all():
            raise ValueError("y must be 1 for relevant samples and 0 for others.")
        queries = _queries(qid, len(rows))
        return [_ranking_block(own, y[own]) for own in queries], len(queries)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the outputs of the net: a row of scores per example, or a score per sample."""
        check_is_fitted(self, "net_")
        found = _scores(PiecewiseLinear(self.net_), _inputs(X)).numpy()
        return found if self._is_of_classes else found.reshape(-1)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row; or the score of each sample, higher ones first."""
        scores = self.decision_function(X)
        return self.classes_[scores.argmax(axis=1)] if self._is_of_classes else scores

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Return accuracy; or the mean over queries of the measure that the cost stands for."""
        y = np.asarray(y)
        if self._is_of_classes:
            return float(np.mean(self.predict(X) == y))
        scores = self.predict(X)
        values = np.array([self._judge(y[own], scores[own]) for own in _queries(qid, len(y))])
        known = np.isfinite(values)
        if not known.any():
            raise ValueError("no query has both relevant samples and others.")
        return float(values[known].mean())


class _Run:
    """A net on its way down: F, and the steps that were made."""

    def __init__(
        self, net: PiecewiseLinear, X: Any, blocks: list[Block], loss: Any, n: int, lam: float
    ) -> None:
        self._net, self._given, self._n, self._lam = net, (blocks, X, loss), n, lam
        self.history: list[LayerRecord] = []
        self.value = self.objective()

    def objective(self) -> float:
        """Return F at the weights of the net."""
        squares = sum(float(w @ w) for w in self._net.weights)
        return 0.5 * self._lam * squares + mean_loss(self._net, *self._given, self._n)

    def step(self, sweep: int, layer: int, mu: float, tol: float, max_iter: int) -> None:
        """Minimise the convex bound in one layer."""
        net, before = self._net, self.value
        bound = ConvexBound(net, layer, *self._given, self._n)
        old = net.weights[layer]
        rest = 0.5 * self._lam * sum(float(w @ w) for w in net.weights if w is not old)
        solved = minimise(bound, self._lam, mu, tol, max_iter, rest)
        net.weights[layer] = solved.w
        self.value = self.objective()
        if self.value > before:  # by rounding alone: the bound is never below F
            net.weights[layer], self.value = old, before
        gap = max(solved.value - solved.lower, 0.0)
        self.history.append(
            LayerRecord(sweep, layer, self.value, before - self.value, gap, solved.n_evaluations)
        )


def _inputs(X: Any) -> Any:
    """Return inputs as a tensor of float64."""
    if not isinstance(X, torch.Tensor):
        X = torch.as_tensor(np.asarray(X))
    check_tensor("X", X)
    if X.ndim < 2 or len(X) == 0 or X.dtype.is_complex:
        raise ValueError(f"X must have rows of numbers, got {X.dtype} of shape {tuple(X.shape)}.")
    X = X.detach().to(torch.float64)
    as_numbers("X", X)
    if not bool(X.isfinite().all()):
        raise ValueError("X must be finite.")
    return X


def _scores(net: PiecewiseLinear, X: Any) -> Any:
    try:
        return net.scores(X)
    except RuntimeError as error:
        raise ValueError(
            f"the net does not take rows of shape {tuple(X.shape[1:])}: {error}"
        ) from error


def _encoded(y: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, and y as their numbers."""
    if y.dtype.kind in "iu" and y.min() >= 0 and y.max() < n_classes:
        return np.arange(n_classes), y.astype(np.int64)
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) != n_classes:
        raise ValueError(f"structure has {n_classes} classes, but y has {len(classes)}.")
    return classes, labels


def _queries(qid: Any, n: int) -> list[np.ndarray]:
    """Return the rows of each query."""
    if qid is None:
        return [np.arange(n)]
    qid = np.asarray(qid)
    if qid.shape != (n,):
        raise ValueError(f"qid must have one entry per row of X, {n}; got {qid.shape}.")
    return [np.flatnonzero(qid == query) for query in np.unique(qid)]


def _classes_block(rows: np.ndarray, labels: np.ndarray, n_classes: int) -> Block:
    is_true = torch.nn.functional.one_hot(torch.from_numpy(labels), n_classes).double()
    return Block(rows, torch.from_numpy(labels), -is_true, 1.0 - is_true, tuple(is_true.shape))


def _ranking_block(rows: np.ndarray, relevance: np.ndarray) -> Block:
    """All samples of a query.

    The difference of parts of a pair in the wrong order is 2/(P N) for the irrelevant sample, and
    minus that for the relevant one; each is in N or P pairs.
    """
    relevant = torch.from_numpy(relevance.astype(np.int64))[None, :]
    P, N = int(relevant.sum()), int((1 - relevant).sum())
    share = 2.0 if P and N else 0.0
    low, high = -relevant.double() * share / max(P, 1), (1 - relevant).double() * share / max(N, 1)
    return Block(rows, relevant, low, high, (1, len(rows)))

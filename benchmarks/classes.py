"""Multi-class machines: the objective of LinearSVC's Crammer-Singer solver, and how soon.

LinearSVC is run to its tol=1e-3. Its weights' objective, recomputed by our evaluator, is what ours
has to reach; ours stops at the first pass that knows its primal to be as low. Both minimise
|w|^2/2 + C sum hinge with the bias among the weights, C = 1, features scaled.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from harness import Check, Line, best_of, cpu_seconds
from sklearn.base import clone
from sklearn.svm import LinearSVC

from maxmargin import MulticlassSVM
from maxmargin.core.problem import Problem, lam_from_C
from maxmargin.costs import Hamming
from maxmargin.datasets import load_letter, load_mnist_5k
from maxmargin.search.direct import Direct
from maxmargin.structures.classes.data import multiclass_data
from maxmargin.surrogates import MarginRescaling

#: Most seconds to look for the objective.
BUDGET = 60.0

SETS = {"letter": load_letter, "mnist_5k": load_mnist_5k}


def lines() -> Iterator[Line]:
    for name, load in SETS.items():
        data = load(scale=True, test_size=0.0)
        yield beside_linear_svc(name, np.ascontiguousarray(data.X_train), data.y_train)


def beside_linear_svc(name: str, X: np.ndarray, y: np.ndarray) -> Line:
    svc = LinearSVC(C=1.0, multi_class="crammer_singer", tol=1e-3, max_iter=100_000, random_state=0)
    inputs = {"dense": X, "CSR": sp.csr_matrix(X)}
    # liblinear works on sparse rows whatever it is given; who has them as such spares it a copy.
    _, peer, svc = best_of({kind: lambda A=A: fit_svc(svc, A, y) for kind, A in inputs.items()}, 1)
    target = primal_of(svc, X, y)
    machine = MulticlassSVM(C=1.0, tol=0.0, max_iter=5000, time_budget=BUDGET, random_state=0)
    kind = faster_kind(machine, inputs, y)
    ours, machine = cpu_seconds(lambda: fit_to(machine, inputs[kind], y, target))
    result = machine.result_
    # By the wall clock, which only tells something where ours took longer.
    excess = excess_at(result, peer, target) if ours > peer else ""
    return Line(
        f"{name} ({X.shape[0]} x {X.shape[1]}): to the objective of LinearSVC, Crammer-Singer",
        ours,
        peer,
        checks=[
            Check("ratio", ours / peer, "<=", 1.0),
            Check("objective above LinearSVC's", result.primal / target - 1.0, "<=", 0.0),
        ],
        note=f"{kind}, {result.n_iter} passes to primal {result.primal:.6f} (LinearSVC "
        f"{target:.6f} after {svc.n_iter_} iterations), certified relative gap "
        f"{result.relative_gap:.4%}; {excess} training accuracy "
        f"{machine.score(X, y):.4f} and {svc.score(X, y):.4f}.",
        facts={
            "relative gap": result.relative_gap,
            "target": target,
            "relative gap of LinearSVC": target / result.dual - 1.0,
            "primal": [record.primal for record in result.history],
            "wall seconds": [record.seconds for record in result.history],
        },
    )


def faster_kind(machine: MulticlassSVM, inputs: dict[str, Any], y: np.ndarray) -> str:
    """Compile, and return which form of X a few passes are faster with."""
    few = np.arange(0, len(y), max(1, len(y) // 200))
    short = clone(machine).set_params(max_iter=5)
    for A in inputs.values():
        cpu_seconds(lambda A=A: clone(short).fit(A[few], y[few]))
    return best_of({kind: lambda A=A: clone(short).fit(A, y) for kind, A in inputs.items()}, 1)[0]


def excess_at(result: Any, seconds: float, target: float) -> str:
    """Say how far above the target ours was when the peer was done, by the wall clock."""
    known = [r for r in result.history if r.seconds <= seconds and np.isfinite(r.primal)]
    if not known or known[-1].primal <= target:
        return ""
    excess, gap = known[-1].primal / target - 1.0, known[-1].gap / known[-1].primal
    return f"after LinearSVC's seconds ours was {excess:.3%} above it (gap {gap:.2%});"


def fit_svc(svc: LinearSVC, X: Any, y: np.ndarray) -> LinearSVC:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return clone(svc).fit(X, y)


def fit_to(machine: MulticlassSVM, X: Any, y: np.ndarray, target: float) -> MulticlassSVM:
    reached: Callable[[Any], bool] = lambda event: event.record.primal <= target  # noqa: E731
    return clone(machine).fit(X, y, callbacks=[reached])


def primal_of(svc: LinearSVC, X: np.ndarray, y: np.ndarray) -> float:
    """Return P at the weights of LinearSVC, which lie as (n_features, n_labels) with ours."""
    labels, codes = np.unique(y, return_inverse=True)
    n = len(y)
    problem = Problem(
        multiclass_data(X, codes, len(labels)),
        Hamming().tabulate("positions", labels, np.ones(n, dtype=np.int64)),
        MarginRescaling().compiled(),
        n,
        lam_from_C(svc.C, n),
        search=Direct(1.0, 1.0),
    )
    return problem.primal(np.vstack([svc.coef_.T, svc.intercept_]).ravel())

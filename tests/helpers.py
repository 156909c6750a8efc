"""Tiny training problems, with all their outputs spelt out and their exact optimum.

Joint features, costs and the optimum are computed here without the package's own structures: a
problem is what it says only if both agree.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp

from maxmargin.core.problem import Problem
from maxmargin.costs import Hamming
from maxmargin.search.direct import Direct
from maxmargin.solvers import SOLVERS
from maxmargin.structures import STRUCTURES
from maxmargin.structures.chain.data import chain_data, chain_layout
from maxmargin.structures.classes.data import multiclass_data
from maxmargin.surrogates import MarginRescaling
from maxmargin.testing.tiny import FORMS, fitting_costs, knows_kernels, tiny_problem

DIRECT = Direct(1.0, 1.0)


def registered_cases():
    """Yield (structure, features, cost): each structure with all its costs, and all its features.

    Not each with each: what knows the cost does not know the features.
    """
    for structure in STRUCTURES:
        if structure != "user":
            costs = fitting_costs(structure)
            kinds = [
                features for features in FORMS if features != "gram" or knows_kernels(structure)
            ]
            yield from ((structure, features, costs[0]) for features in kinds)
            yield from ((structure, "dense", cost) for cost in costs[1:])


@dataclass
class Tiny:
    """A small problem and, for every example, Psi_i(y) and g_i(y) of all outputs y."""

    data: Any
    cost: Any
    differences: list[np.ndarray]  # (n_outputs, n_weights) each
    costs: list[np.ndarray]  # (n_outputs,) each
    weight: np.ndarray

    def problem(self, lam: float = 0.1, **options: Any) -> Problem:
        """Return the problem for solvers."""
        surrogate = MarginRescaling().compiled()
        options.setdefault("sample_weight", self.weight)
        return Problem(
            self.data,
            self.cost,
            surrogate,
            len(self.costs),
            lam,
            **{"search": DIRECT, **options},
        )

    def losses(self, w: np.ndarray) -> np.ndarray:
        """Return every example's hinge at w, by brute force."""
        return np.array(
            [np.max(g - psi @ w) for g, psi in zip(self.costs, self.differences, strict=True)]
        )

    def risk(self, w: np.ndarray) -> float:
        return float(self.weight @ self.losses(w)) / len(self.costs)

    def primal(self, w: np.ndarray, lam: float) -> float:
        return 0.5 * lam * float(w @ w) + self.risk(w)

    def optimum(self, lam: float) -> float:
        """Return min P, from a conic solver's w: P at w, whose distance is checked by its dual."""
        n, d = len(self.costs), self.differences[0].shape[1]
        rows = np.vstack(self.differences)
        owner = np.repeat(np.arange(n), [len(g) for g in self.costs])
        # Variables (u, xi) with w = u / sqrt(lam), which keeps the matrix well scaled.
        scale = 1.0 / np.sqrt(lam)
        picks = sp.csc_matrix((np.ones(len(owner)), (np.arange(len(owner)), owner)))
        A = sp.hstack([sp.csc_matrix(-scale * rows), -picks]).tocsc()
        b = -np.concatenate(self.costs)
        P = sp.diags(np.r_[np.ones(d), np.zeros(n)]).tocsc()
        q = np.r_[np.zeros(d), self.weight / n]
        options = clarabel.DefaultSettings()
        options.verbose = False
        options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-12
        cones = [clarabel.NonnegativeConeT(len(b))]
        answer = clarabel.DefaultSolver(P, q, A, b, cones, options).solve()
        assert str(answer.status) in ("Solved", "AlmostSolved")
        value = self.primal(scale * np.array(answer.x)[:d], lam)
        assert abs(value - answer.obj_val_dual) <= 1e-8 * max(1e-3, value)
        return value


#: Solvers that fit classes: all but those without dense weights, which have tests of their own.
PLAIN_SOLVERS = [name for name, kind in SOLVERS.items() if kind.has_dense_weights]


@functools.cache
def structure_fits(structure: str, needs: frozenset[str], cost: str | None = None) -> bool:
    """Tell whether a registered structure offers what a solver needs, the surrogate apart.

    With this cost, or with the first that fits it.
    """
    offered = tiny_problem(structure, cost, compile=False).capabilities
    return needs - {"convex", "linear", "unit_slope", "euclidean"} <= offered


def tiny_multiclass(
    seed: int = 0,
    n: int = 12,
    n_columns: int = 4,
    n_labels: int = 3,
    sparse: bool = False,
    bias: bool = True,
    weighted: bool = False,
) -> Tiny:
    """Return random examples of classes that features say something about, but not all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns)) * (rng.random((n, n_columns)) < 0.8)
    labels = np.argmax(X @ rng.normal(size=(n_columns, n_labels)), axis=1)
    noisy = rng.random(n) < 0.3
    labels[noisy] = rng.integers(n_labels, size=int(noisy.sum()))
    inputs = np.column_stack([X, np.ones(n)]) if bias else X
    eye = np.eye(n_labels)
    # w lies as (columns, labels).
    phi = [[np.outer(x, eye[y]).ravel() for y in range(n_labels)] for x in inputs]
    differences = [phi[i][labels[i]] - np.array(phi[i]) for i in range(n)]
    data = multiclass_data(sp.csr_matrix(X) if sparse else X, labels, n_labels, bias)
    cost = Hamming().tabulate("positions", np.arange(n_labels), np.ones(n))
    costs = [1.0 - eye[label] for label in labels]
    weight = rng.uniform(0.2, 3.0, size=n) if weighted else np.ones(n)
    return Tiny(data, cost, differences, costs, weight)


def tiny_chain(
    seed: int = 0,
    n: int = 7,
    n_columns: int = 3,
    n_labels: int = 3,
    longest: int = 4,
    sparse: bool = False,
    weighted: bool = False,
) -> Tiny:
    """Return random sequences, lengths 1 to `longest`, with every block of weights."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, size=n)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    X = rng.normal(size=(offsets[-1], n_columns)) * (rng.random((offsets[-1], n_columns)) < 0.8)
    labels = np.argmax(X @ rng.normal(size=(n_columns, n_labels)), axis=1)
    noisy = rng.random(len(labels)) < 0.3
    labels[noisy] = rng.integers(n_labels, size=int(noisy.sum()))
    differences, costs = [], []
    for i in range(n):
        x, truth = X[offsets[i] : offsets[i + 1]], labels[offsets[i] : offsets[i + 1]]
        outputs = list(itertools.product(range(n_labels), repeat=len(truth)))
        features = np.array([_chain_features(x, y, n_labels) for y in outputs])
        differences.append(_chain_features(x, truth, n_labels) - features)
        costs.append(np.sum(np.array(outputs) != truth, axis=1).astype(float))
    stacked = sp.csr_matrix(X) if sparse else X
    data = chain_data(stacked, offsets, labels, chain_layout(n_columns, n_labels))
    cost = Hamming().tabulate("positions", np.arange(n_labels), lengths)
    weight = rng.uniform(0.2, 3.0, size=n) if weighted else np.ones(n)
    return Tiny(data, cost, differences, costs, weight)


def _chain_features(x: np.ndarray, y: Any, n_labels: int) -> np.ndarray:
    """Return phi as [weights (columns, labels) | bias | transitions (from, to) | start | end]."""
    unary, bias = np.zeros((x.shape[1], n_labels)), np.zeros(n_labels)
    transitions, start, end = np.zeros((n_labels, n_labels)), np.zeros(n_labels), np.zeros(n_labels)
    for t in range(len(y)):
        unary[:, y[t]] += x[t]
        bias[y[t]] += 1.0
        if t > 0:
            transitions[y[t - 1], y[t]] += 1.0
    start[y[0]] += 1.0
    end[y[-1]] += 1.0
    return np.concatenate([unary.ravel(), bias, transitions.ravel(), start, end])


def separable_multiclass(
    n: int = 40, n_columns: int = 5, n_labels: int = 3, margin: float = 0.3
) -> tuple[Tiny, float, float]:
    """Return a problem that a unit u separates, its margin gamma and the longest difference R."""
    rng = np.random.default_rng(3)
    u = rng.normal(size=(n_columns, n_labels))
    u /= np.linalg.norm(u)
    rows, labels = [], []
    while len(rows) < n:
        x = rng.normal(size=n_columns)
        scores = np.sort(x @ u)
        if scores[-1] - scores[-2] >= margin:
            rows.append(x)
            labels.append(int(np.argmax(x @ u)))
    X, eye = np.array(rows), np.eye(n_labels)
    phi = [[np.outer(x, eye[y]).ravel() for y in range(n_labels)] for x in X]
    differences = [phi[i][labels[i]] - np.array(phi[i]) for i in range(n)]
    wrong = [np.delete(psi, label, axis=0) for psi, label in zip(differences, labels, strict=True)]
    gamma = min(float(np.min(psi @ u.ravel())) for psi in wrong)
    radius = max(float(np.linalg.norm(psi, axis=1).max()) for psi in wrong)
    data = multiclass_data(X, np.array(labels), n_labels, bias=False)
    cost = Hamming().tabulate("positions", np.arange(n_labels), np.ones(n))
    costs = [1.0 - eye[label] for label in labels]
    return Tiny(data, cost, differences, costs, np.ones(n)), gamma, radius

"""The training problems of the golden harness: which there are, and their data. No maxmargin here.

A case is a choice from every registry. Names are those of the first tree that was compared;
`golden_tree` knows what newer trees call the same thing. Data are drawn here, by numpy alone, so
that two trees are given the same numbers whatever else has changed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

#: Options of solvers that are compared besides the default ones.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "bcfw:plain": ("bcfw", {"step": "plain", "cache": 0}),
    "bcfw:pairwise": ("bcfw", {"step": "pairwise", "average": False}),
    "bcfw:gap": ("bcfw", {"sampling": "gap"}),
    "one_slack:inwards": ("one_slack", {"inwards": True}),
    "one_slack:ball": ("one_slack", {"radius": 2.0}),
    "sgd:last": ("sgd", {"average": False}),
    "perceptron:last": ("perceptron", {"average": False}),
}

#: Costs for what is compared with one cost only; of these a structure takes one.
PLAIN_COSTS = ("hamming", "ap", "own")

#: Structures that answer by HiGHS, a thousand times slower: a few cases only.
PROGRAMS = ("multilabel_program", "multilabel_relaxed_program")


@dataclass(frozen=True)
class Case:
    """One training run. `name` tells cases apart, `problem` tells their optima apart."""

    structure: str
    cost: str
    surrogate: str
    solver: str
    search: str = "auto"
    features: str = "dense"
    #: "cold"; "warm": at the weights and the state of a run at three times lam; "threads": on two;
    #: "resumed": three passes, then on from the state as a file holds it; "two_stage": with the
    #: easy samples as hard rows; "predicted": no training, but the best outputs at drawn weights.
    start: str = "cold"
    #: "free", or "limited": some labels and some steps of a chain are forbidden.
    outputs: str = "free"
    #: A larger problem, compiled.
    compiled: bool = False

    @property
    def problem(self) -> str:
        """The name of what is minimised."""
        marks = [self.features] if self.features == "float32" else []
        marks += ["larger"] if self.compiled else []
        marks += ["ball"] if self.solver == "one_slack:ball" else []
        marks += ["limited"] if self.outputs == "limited" else []
        marks += ["two_stage"] if self.start == "two_stage" else []
        return "+".join(["/".join((self.structure, self.cost, self.surrogate)), *marks])

    @property
    def name(self) -> str:
        parts = (self.structure, self.cost, self.surrogate, self.solver)
        marks = [
            mark
            for mark, usual in (
                (self.search, "auto"),
                (self.features, "dense"),
                (self.start, "cold"),
                (self.outputs, "free"),
            )
            if mark != usual
        ]
        marks += ["compiled"] if self.compiled else []
        return "+".join(["/".join(parts), *marks])

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Vocabulary(NamedTuple):
    """Names of what a tree has."""

    structures: list[str]
    costs: list[str]
    surrogates: list[str]
    solvers: list[str]
    searches: list[str]

    def __or__(self, other: Vocabulary) -> Vocabulary:  # type: ignore[override]
        """Join two vocabularies, in the order of the first."""
        joined = zip(self, other, strict=True)
        return Vocabulary(*(list(dict.fromkeys([*ours, *theirs])) for ours, theirs in joined))


def all_cases(words: Vocabulary) -> list[Case]:
    """Return every case that these names make, those that do not fit together included."""
    found = dict.fromkeys(itertools.chain(_uncompiled(words), _compiled(words)))
    return list(found)


def _costs_of(structure: str, words: Vocabulary) -> list[str]:
    # A user's plain object has a cost of its own, and looks at no other.
    return ["own"] if structure == "user" else words.costs


def _plain_costs(structure: str, words: Vocabulary) -> list[str]:
    return [cost for cost in PLAIN_COSTS if cost in _costs_of(structure, words)]


def _uncompiled(words: Vocabulary) -> Iterator[Case]:
    for structure in words.structures:
        if structure in PROGRAMS:
            for surrogate, solver in itertools.product(("margin", "slack"), ("bcfw", "one_slack")):
                yield Case(structure, "hamming", surrogate, solver)
            continue
        for cost in _costs_of(structure, words):
            for surrogate, solver in itertools.product(words.surrogates, words.solvers):
                yield Case(structure, cost, surrogate, solver)
        for cost in _plain_costs(structure, words):
            for features, surrogate, solver in itertools.product(
                ("csr", "float32"), ("margin", "slack"), ("bcfw", "one_slack", "sdca")
            ):
                yield Case(structure, cost, surrogate, solver, features=features)
            for solver in VARIANTS:
                yield Case(structure, cost, "margin", solver)
            for search in words.searches:
                yield Case(structure, cost, "slack", "bcfw", search=search)
                yield Case(structure, cost, "slack", "n_slack", search=search)
            for solver in words.solvers:
                yield Case(structure, cost, "margin", solver, start="warm")
                yield Case(structure, cost, "slack", solver, start="resumed")
        if structure == "chain":
            for cost, surrogate, solver in itertools.product(
                ("hamming", "zero_one"), ("margin", "slack"), ("bcfw", "one_slack", "n_slack")
            ):
                yield Case(structure, cost, surrogate, solver, outputs="limited")


def _compiled(words: Vocabulary) -> Iterator[Case]:
    for structure in words.structures:
        if structure in PROGRAMS or structure == "user":
            continue  # plain Python, compiled or not
        for cost in _plain_costs(structure, words):
            yield Case(structure, cost, "margin", "bcfw", compiled=True)
            yield Case(structure, cost, "margin", "one_slack", compiled=True, start="threads")
            yield Case(structure, cost, "slack", "bcfw", compiled=True)
            if structure != "multilabel_relaxed":  # which nobody predicts with
                yield Case(structure, cost, "margin", "none", compiled=True, start="predicted")
        if structure == "chain":
            for start, solver in (("cold", "bcfw"), ("predicted", "none")):
                yield Case(
                    structure, "hamming", "margin", solver,
                    compiled=True, start=start, outputs="limited",
                )  # fmt: skip
        if structure == "ranking":
            yield Case(structure, "ap", "margin", "one_slack", compiled=True, start="two_stage")


# -- data ----------------------------------------------------------------------------------------


class Drawn(NamedTuple):
    """Numbers for the examples of one structure; what a structure has no use for is None."""

    X: Any
    sizes: np.ndarray  # positions of every example
    n_labels: int
    labels: Any = None  # of every position, or a row of 0, 1, -1 for every example
    edges: Any = ()
    first: Any = None  # rows of queries
    n_relevant: Any = None
    steps: Any = None  # 0 or -inf: labels x labels, then start, then end
    nodes: Any = None  # 0 or -inf: positions x labels


def draw(structure: str, features: str, larger: bool, outputs: str = "free") -> Drawn | None:
    """Draw examples for a structure; None for one that is not known here.

    Larger problems have more examples than one chunk of a batch, so that threads have work.
    """
    kind = "multilabel" if structure.startswith("multilabel") else structure
    if kind not in _DRAWING:
        return None
    drawn = _DRAWING[kind](structure, larger, np.random.default_rng(11))
    if outputs == "limited":
        drawn = _limited(drawn, np.random.default_rng(12))
    return drawn._replace(X=_as_features(drawn.X, features))


def _as_features(X: np.ndarray, features: str) -> Any:
    if features == "csr":
        return sp.csr_matrix(X)
    return X.astype(np.float32) if features == "float32" else X


def _matrix(n_rows: int, n_columns: int, rng: np.random.Generator) -> np.ndarray:
    """Draw numbers of two decimals, which other versions and processors draw too; many are 0."""
    X = rng.normal(size=(n_rows, n_columns)).round(2)
    X[rng.random(X.shape) < 0.2] = 0.0
    return X


def _classes_of(X: np.ndarray, n_labels: int, rng: np.random.Generator) -> np.ndarray:
    """Draw labels that features say something about, but not all."""
    prototypes = rng.integers(-3, 4, size=(X.shape[1], n_labels)).astype(float)
    labels = np.argmax((X @ prototypes).round(6), axis=1)
    noisy = rng.random(len(X)) < 0.3
    return np.where(noisy, rng.integers(n_labels, size=len(X)), labels)


def _draw_classes(structure: str, larger: bool, rng: np.random.Generator) -> Drawn:
    n, columns, n_labels = (300, 8, 5) if larger else (7, 2, 3)
    X = _matrix(n, columns, rng)
    labels = _classes_of(X, n_labels, rng)
    labels[:n_labels] = np.arange(n_labels)  # each at least once
    return Drawn(X, np.ones(n, dtype=np.int64), n_labels, labels)


def _draw_chains(structure: str, larger: bool, rng: np.random.Generator) -> Drawn:
    n_labels = 5 if larger else 3
    sizes = rng.integers(1, 9, size=300) if larger else np.array([1, 3, 2, 3])
    X = _matrix(int(sizes.sum()), 8 if larger else 2, rng)
    return Drawn(X, sizes, n_labels, _classes_of(X, n_labels, rng))


def _limited(drawn: Drawn, rng: np.random.Generator) -> Drawn:
    """Forbid some labels, and some steps from label to label, that true outputs do without."""
    K, labels = drawn.n_labels, drawn.labels
    steps = np.where(rng.random((K + 2, K)) < 0.4, -np.inf, 0.0)
    nodes = np.where(rng.random((len(labels), K)) < 0.2, -np.inf, 0.0)
    nodes[np.arange(len(labels)), labels] = 0.0
    for own in np.split(labels, np.cumsum(drawn.sizes)[:-1]):
        steps[own[:-1], own[1:]] = 0.0
        steps[K, own[0]] = steps[K + 1, own[-1]] = 0.0
    return drawn._replace(steps=steps, nodes=nodes)


def _draw_sets(structure: str, larger: bool, rng: np.random.Generator) -> Drawn:
    """No set is empty, as F1 asks, and some labels are not known."""
    n, columns, n_labels = (300, 6, 6) if larger else (5, 2, 3)
    X = _matrix(n, columns, rng)
    Y = ((X @ rng.integers(-2, 3, size=(columns, n_labels))).round(6) > 0.5).astype(np.int64)
    noisy = rng.random(Y.shape) < 0.2
    Y = np.where(noisy, 1 - Y, Y)
    Y[np.arange(n), np.arange(n) % n_labels] = 1
    Y[np.arange(3, n, 7), 1] = -1
    pairs = list(itertools.combinations(range(n_labels), 2))
    # Cycles, where they may be: there relaxations have fractional outputs.
    edges = {
        "multilabel": [],
        "multilabel_tree": [pair for pair in pairs if pair[1] == pair[0] + 1],
    }.get(structure, pairs)
    return Drawn(X, (Y >= 0).sum(axis=1), n_labels, Y, edges)


def _draw_queries(structure: str, larger: bool, rng: np.random.Generator) -> Drawn:
    """Queries that share rows; some have one kind of relevance only."""
    if larger:
        sizes = rng.integers(2, 16, size=300)
        n_relevant = 1 + rng.integers(0, sizes - 1)
        n_relevant[:2] = sizes[:2]
        first = rng.integers(0, 1000 - 16, size=300)
        return Drawn(_matrix(1000, 8, rng), sizes, 0, None, (), first, n_relevant)
    sizes, n_relevant = np.array([4, 3, 5, 5, 6]), np.array([2, 1, 1, 3, 6])
    first = np.array([0, 4, 7, 7, 9])
    return Drawn(_matrix(15, 2, rng), sizes, 0, None, (), first, n_relevant)


_DRAWING = {
    "multiclass": _draw_classes,
    "user": _draw_classes,
    "chain": _draw_chains,
    "multilabel": _draw_sets,
    "ranking": _draw_queries,
}

"""Sequences whose unknown labels are latent variables: completed, not cut."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.predict import best_outputs
from maxmargin.core.problem import Problem, lam_from_C
from maxmargin.costs import PartCost, WeightedPartCost
from maxmargin.costs.tables import free_cost
from maxmargin.estimators.chain.encoding import weighted_cost
from maxmargin.features.rows import frozen
from maxmargin.inputs.checks import check_weights
from maxmargin.inputs.request import Request
from maxmargin.inputs.sequence_labels import read_labels
from maxmargin.solvers import run
from maxmargin.training.automatic import settle
from maxmargin.training.settings import Settings, resolve_cost
from maxmargin.training.task import Task


class ChainCompletion:
    """The sequences of a `ChainSVM`, whole, with the labels that are known.

    Parameters
    ----------
    estimator : ChainSVM, which learns classes and features here
    settings : Settings of it
    X, y, sample_weight : as `fit` takes them; labels are None or -1 where they are not known
    """

    def __init__(
        self, estimator: Any, settings: Settings, X: Any, y: Any, sample_weight: Any
    ) -> None:
        request = Request(X, y, sample_weight=sample_weight)
        self._pieces = estimator._encode(request, reset=True)
        reader = estimator._reader
        data = reader.inputs(Request(X, None), estimator.constraints)
        codes = np.asarray(read_labels(y, None, data.offsets, reader.labels).codes)
        self._estimator, self.codes = estimator, codes
        self.weight = check_weights(sample_weight, len(data.offsets) - 1)
        self.lam = lam_from_C(float(estimator.C), len(self.weight))
        # Completions have the known labels: all others are forbidden there.
        walls = np.where(
            (codes[:, None] < 0) | (np.arange(len(reader.labels.classes)) == codes[:, None]),
            0.0,
            -np.inf,
        )
        if len(data.node_barrier):
            walls = walls + data.node_barrier
        self._data = data
        self._walled = data._replace(node_barrier=frozen(walls, np.float64))
        self._cost = self._tables(resolve_cost(estimator.cost, "positions"), reader.labels)
        task = self._task(self.complete(np.zeros(reader.layout.n_rows * reader.layout.n_labels)))
        self._settings, _ = settle(estimator, settings, task)
        self.solver = self._settings.solver

    def _tables(self, cost: Any, labels: Any) -> WeightedPartCost:
        known = self.codes >= 0
        offsets = np.asarray(self._data.offsets)
        n_known = np.add.reduceat(known, offsets[:-1]).astype(np.int64)
        tables = cost.tabulate("positions", labels.classes, np.maximum(n_known, 1))
        if not isinstance(tables, PartCost):
            raise ValueError(
                f"cost={cost!r} looks at whole sequences, of which some labels are latent: take a "
                "cost of positions, such as 'hamming'."
            )
        sizes = np.repeat(self.weight, np.diff(offsets))
        weighed = weighted_cost(
            tables, self._estimator.class_weight, labels, self.codes[known], sizes[known]
        )
        return WeightedPartCost(weighed.matrix, weighed.scale, known.astype(np.float64))

    def complete(self, w: np.ndarray) -> np.ndarray:
        """Return the best labels of all positions, known ones held."""
        layout = self._data.layout
        free = free_cost(len(self.weight), layout.n_labels)
        cells, _ = best_outputs(self._walled, w, free)
        wrong = np.flatnonzero((self.codes >= 0) & (cells != self.codes))
        if len(wrong):
            i = int(np.searchsorted(self._data.offsets, wrong[0], side="right")) - 1
            raise ValueError(f"y[{i}]: the constraints allow no labelling with its known labels.")
        return cells

    def listed(self, w: np.ndarray) -> list[np.ndarray]:
        """Return the completed sequences of labels."""
        labels = self._estimator.classes_[self.complete(w)]
        return np.split(labels, np.asarray(self._data.offsets)[1:-1])

    def n_different(self, one: np.ndarray, other: np.ndarray) -> int:
        """Return how many sequences were completed otherwise."""
        starts = np.asarray(self._data.offsets)[:-1]
        return int(np.logical_or.reduceat(one != other, starts).sum())

    def _task(self, latent: np.ndarray) -> Task:
        data = self._data._replace(labels=frozen(latent, np.int32))
        return Task(data, self._cost, len(self.weight), self.weight)

    def problem(self, latent: np.ndarray) -> Problem:
        """Return the convex problem whose true labels are these; only known ones cost."""
        settings = self._settings
        return self._task(latent).problem(
            settings.surrogate, self.lam, settings.n_jobs, settings.search
        )

    def first(self, start: str, rng: np.random.Generator) -> np.ndarray:
        """Return the weights to start from."""
        size = self._data.layout.n_rows * self._data.layout.n_labels
        if start == "zero":
            return np.zeros(size)
        if start == "random":
            return rng.normal(size=size)
        if start == "mean":
            raise ValueError("start='mean' is not for sequences; 'auto' learns the known pieces.")
        estimator, settings = self._estimator, self._settings
        lam = lam_from_C(float(estimator.C), self._pieces.n_examples)
        problem = self._pieces.problem(settings.surrogate, lam, settings.n_jobs, "auto")
        result, _ = run(
            problem, self.solver, rng=rng, tol=estimator.tol, max_iter=estimator.max_iter
        )
        return result.w

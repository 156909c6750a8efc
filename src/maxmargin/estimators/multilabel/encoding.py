"""From rows and label sets to what is trained on, or predicted on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from maxmargin.costs import Cost, tabulate
from maxmargin.estimators.multilabel.edges import (
    best_inference,
    check_cost_fits,
    check_edges,
    choose_inference,
    label_edges,
)
from maxmargin.inputs.checks import check_weights
from maxmargin.inputs.label_sets import LabelMatrix, SetForm, label_matrix
from maxmargin.inputs.labels import Labels
from maxmargin.inputs.request import Request
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.structures import labels_data
from maxmargin.structures.labels.build import PROGRAMS
from maxmargin.structures.labels.data import INFERENCES
from maxmargin.training.task import Task


class SetOptions(NamedTuple):
    """The parameters of an estimator that say how label sets are read."""

    classes: Any
    pairwise: Any
    inference: str
    time_limit: float | None
    fit_intercept: bool
    cost: Cost


class SetWeights(NamedTuple):
    """The blocks of w, as views."""

    coef: np.ndarray  # (n_labels, n_features)
    intercept: np.ndarray  # (n_labels,)
    pairwise: np.ndarray  # (n_pairs,)


@dataclass(frozen=True)
class SetReader:
    """All that a fit learns of label sets besides weights; it reads later requests.

    Attributes
    ----------
    labels : Labels
    form : SetForm, of what `predict` returns
    edges : int32 array of shape (n_pairs, 2), the pairs that have a weight, as places in classes_
    inference : str, how label sets are searched in training
    has_bias : bool
    missing, universal : lists of the labels that were nowhere on, and nowhere off
    """

    labels: Labels
    form: SetForm
    edges: np.ndarray
    inference: str
    has_bias: bool
    missing: list[Any]
    universal: list[Any]

    @classmethod
    def learn(cls, request: Request, rows: Any, options: SetOptions) -> tuple[Self, Task]:
        """Return the reader that a first request makes, and the task to learn from it."""
        matrix = label_matrix(request.y, rows.shape[0], classes=options.classes)
        edges = label_edges(options.pairwise, matrix)
        inference = choose_inference(options.inference, edges, matrix.labels, options.cost)
        if options.time_limit is not None and inference not in PROGRAMS:
            raise ValueError(
                f"oracle_time_limit is for programmes ({', '.join(PROGRAMS)}), but inference is "
                f"{inference!r}, which needs none."
            )
        missing = matrix.never(1)
        universal = [label for label in matrix.never(0) if label not in missing]
        has_bias = bool(options.fit_intercept)
        reader = cls(matrix.labels, matrix.form, edges, inference, has_bias, missing, universal)
        return reader, reader._task(request, rows, matrix, options)

    def task(self, request: Request, rows: Any, options: SetOptions) -> tuple[Self, Task]:
        """Return the task of a later request, and the reader that also knows its labels."""
        matrix = label_matrix(request.y, rows.shape[0], self.labels, form=self.form)
        on, off = matrix.never(1), matrix.never(0)
        reader = replace(
            self,
            missing=[label for label in self.missing if label in on],
            universal=[label for label in self.universal if label in off],
        )
        return reader, reader._task(request, rows, matrix, options)

    def _task(self, request: Request, rows: Any, matrix: LabelMatrix, options: SetOptions) -> Task:
        weight = check_weights(request.sample_weight, rows.shape[0])
        limit = options.time_limit if self.inference in PROGRAMS else None
        data = labels_data(
            rows,
            matrix.cells,
            self.edges,
            bias=self.has_bias,
            inference=self.inference,
            time_limit=limit,
        )
        tables = tabulate(options.cost, data, self.labels.classes)
        check_cost_fits(self.inference, options.cost, tables)
        return Task(data, tables, rows.shape[0], weight)

    def inputs(self, rows: Any) -> Any:
        """Return rows to predict on, as data of the best inference for predictions."""
        cells = np.zeros((rows.shape[0], len(self.labels)), dtype=np.int32)
        inference = best_inference(self.edges, len(self.labels))
        return labels_data(rows, cells, self.edges, bias=self.has_bias, inference=inference)

    def n_weights(self, n_features: int) -> int:
        """Return the length of w."""
        return (n_features + self.has_bias) * len(self.labels) + len(self.edges)

    def split(self, w: np.ndarray, n_features: int) -> SetWeights:
        """Return the blocks of w."""
        m = len(self.labels)
        n_single = (n_features + self.has_bias) * m
        blocks = w[:n_single].reshape(-1, m)
        intercept = blocks[-1] if self.has_bias else np.zeros(m)
        return SetWeights(blocks[:n_features].T, intercept, w[n_single:])

    # -- files -----------------------------------------------------------------------------------

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (meta, arrays) for a model file; the classes are held by the estimator."""
        meta = {
            "has_bias": self.has_bias,
            "form": [self.form.kind, self.form.dtype],
            "inference_": self.inference,
            "missing_labels_": self.missing,
            "universal_labels_": self.universal,
        }
        return meta, {"edges": self.edges}

    @classmethod
    def from_state(cls, fields: Fields, arrays: Arrays) -> Self:
        """Return what `to_state` was called on; refuse what it cannot have written."""
        has_bias = fields.flag("has_bias")
        labels = fields.labels("classes_", least=1)
        form = SetForm.from_state(fields.take("form"))
        inference = fields.text("inference_", (*INFERENCES, *PROGRAMS))
        missing = fields.some_labels("missing_labels_", labels)
        universal = fields.some_labels("universal_labels_", labels)
        edges = arrays.take("edges", (None, 2), np.int32, 0, len(labels))
        check_edges(edges, labels)
        return cls(labels, form, edges, inference, has_bias, missing, universal)

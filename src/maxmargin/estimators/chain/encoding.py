"""From a request about sequences to what a chain is trained on, or predicts on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from maxmargin.costs import Cost, PartCost
from maxmargin.inputs.checks import check_weights
from maxmargin.inputs.constraints import (
    Barriers,
    Constraints,
    edge_barrier,
    find_breach,
    node_barrier,
    training_barriers,
)
from maxmargin.inputs.labels import Labels, class_weights
from maxmargin.inputs.request import Request
from maxmargin.inputs.sequence_labels import Pieces, SequenceLabels, cut, read_fixed, read_labels
from maxmargin.inputs.sequences import Stack, read_sequences, reread_sequences
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.inputs.vocabulary import FeatureTable, restored_table
from maxmargin.inputs.widening import checked_steps
from maxmargin.structures import ChainData, ChainLayout, chain_data, chain_layout
from maxmargin.training.task import Task

#: How many frames above `training_barriers` the user calls `fit`, for warnings.
_TO_THE_USER = 6


class ChainOptions(NamedTuple):
    """The parameters of an estimator that say how sequences are read."""

    blocks: tuple[bool, bool, bool, bool]  # intercept, transitions, start, end
    table: FeatureTable
    classes: Any
    constraints: Constraints | str | None
    cost: Cost
    class_weight: Mapping[Any, float] | str | None


@dataclass(frozen=True)
class ChainReader:
    """All that a fit learns of sequences and labels besides weights; it reads later requests.

    Attributes
    ----------
    labels : Labels
    layout : ChainLayout, where the blocks of w lie
    table : FeatureTable or None, of positions that are not arrays
    widened : int64 array of shape (n_steps, 3), forbidden steps that true labels take
    """

    labels: Labels
    layout: ChainLayout
    table: FeatureTable | None
    widened: np.ndarray

    @classmethod
    def learn(cls, request: Request, options: ChainOptions) -> tuple[Self, Task]:
        """Return the reader that a first request makes, and the task to learn from it."""
        stack, table = read_sequences(request.X, options.table)
        read = read_labels(request.y, request.fixed, stack.offsets, None, options.classes)
        return _task(cls, request, options, stack, read, table)

    def task(self, request: Request, options: ChainOptions) -> tuple[Self, Task]:
        """Return the task of a later request, and the reader that also knows its labels."""
        stack = reread_sequences(request.X, self.table, self.layout.n_columns)
        read = read_labels(request.y, request.fixed, stack.offsets, self.labels)
        return _task(type(self), request, options, stack, read, self.table, self)

    def inputs(self, request: Request, constraints: Constraints | str | None) -> ChainData:
        """Return sequences to predict on; their true labels are all 0."""
        stack = reread_sequences(request.X, self.table, self.layout.n_columns)
        fixed = read_fixed(request.fixed, stack.offsets, self.labels)
        return chain_data(
            stack.matrix,
            stack.offsets,
            np.zeros(stack.matrix.shape[0]),
            self.layout,
            edge_barrier=self.edges(constraints),
            node_barrier=node_barrier(stack.offsets, self.labels, request.allowed, fixed),
        )

    def edges(self, constraints: Constraints | str | None) -> np.ndarray | None:
        """Return the barrier of steps at prediction."""
        return edge_barrier(constraints, self.labels.classes, self.widened)

    def check_possible(self, cells: np.ndarray, data: ChainData) -> None:
        """Refuse a sequence whose best labelling is forbidden: then all its labellings are."""
        nodes = data.node_barrier if len(data.node_barrier) else None
        breach = find_breach(cells, data.offsets, self.labels.classes, data.edge_barrier, nodes)
        if breach is not None:
            raise ValueError(f"X[{breach.sequence}]: the constraints allow no labelling.")

    # -- files -----------------------------------------------------------------------------------

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (meta, arrays) for a model file; the classes are held by the estimator."""
        table = None if self.table is None else self.table.to_state()
        arrays = {"widened": self.widened} if len(self.widened) else {}
        return {"features": table, "layout": list(self.layout)}, arrays

    @classmethod
    def from_state(cls, fields: Fields, arrays: Arrays, n_features: int) -> Self:
        """Return what `to_state` was called on; refuse what it cannot have written."""
        table = restored_table(fields, n_features)
        labels = fields.labels("classes_", least=2)
        layout = _stored_layout(fields.take("layout"), n_features, len(labels))
        steps = arrays.take("widened", (None, 3), np.int64) if "widened" in arrays else None
        return cls(labels, layout, table, checked_steps(steps, len(labels)))


def _task(
    kind: Any,
    request: Request,
    options: ChainOptions,
    stack: Stack,
    read: SequenceLabels,
    table: FeatureTable | None,
    before: ChainReader | None = None,
) -> tuple[Any, Task]:
    """Return the reader, and the runs of known labels, each with the weight of its sequence."""
    pieces = cut(read.codes, stack.offsets)
    known = None if before is None else before.widened
    barriers, widened = training_barriers(
        options.constraints, read, stack.offsets, request.allowed, known, _TO_THE_USER
    )
    weight = check_weights(request.sample_weight, len(stack.offsets) - 1)[pieces.sample]
    if not weight.any():
        raise ValueError("y has no known label in a sequence of positive weight.")
    if before is None:
        n_labels = len(read.labels.classes)
        layout = chain_layout(stack.matrix.shape[1], n_labels, *options.blocks)
    else:
        layout = before.layout
    data = _known_positions(stack, read, pieces, barriers, layout)
    sizes = np.diff(pieces.offsets)
    # A mean over positions divides by the known positions of the whole sequence, not of a piece.
    n_known = np.bincount(pieces.sample, weights=sizes)[pieces.sample]
    cost = weighted_cost(
        options.cost.tabulate("positions", read.labels.classes, n_known),
        options.class_weight,
        read.labels,
        read.codes[pieces.positions],
        np.repeat(weight, sizes),
    )
    reader = kind(read.labels, layout, table, widened)
    return reader, Task(data, cost, len(sizes), weight, read.labels.classes.tolist())


def _known_positions(
    stack: Stack, read: SequenceLabels, pieces: Pieces, barriers: Barriers, layout: ChainLayout
) -> ChainData:
    matrix, nodes, positions = stack.matrix, barriers.nodes, pieces.positions
    if len(positions) < len(read.codes):
        matrix = matrix[positions]
        nodes = None if nodes is None else nodes[positions]
    codes = read.codes[positions]
    return chain_data(matrix, pieces.offsets, codes, layout, pieces.borders, barriers.edges, nodes)


def _stored_layout(found: Any, n_features: int, n_labels: int) -> ChainLayout:
    """Return the layout of these features and classes that has the blocks of the stored one."""
    blocks = [False] * 4
    if isinstance(found, list) and all(type(x) is int for x in found) and len(found) == 7:
        blocks = [b > a for a, b in pairwise(found[2:])]
        if found[1] != n_labels:
            raise ValueError(f"it has {n_labels} classes, but weights for {found[1]}")
    layout = chain_layout(n_features, n_labels, *blocks)
    if found != list(layout):
        raise ValueError(
            f"layout is {found!r:.80}, which no chain of {n_features} features and {n_labels} "
            "classes has"
        )
    return layout


def weighted_cost(
    cost: Any, class_weight: Any, labels: Labels, codes: np.ndarray, weight: np.ndarray
) -> Any:
    """Return cost tables in which each position counts with the weight of its true label.

    codes, weight : true labels of the positions, and the weights of their sequences
    """
    if class_weight is None:
        return cost
    if not isinstance(cost, PartCost):
        raise ValueError(
            "class_weight weighs the cost of single positions, which a cost of whole sequences "
            "such as cost='zero_one' does not have; leave one of them out."
        )
    factors = class_weights(class_weight, labels, codes, weight)
    if not (factors[codes] * weight).any():
        raise ValueError(
            "class_weight times sample_weight is zero for every position: there is nothing to "
            "learn from."
        )
    return cost._replace(matrix=cost.matrix * factors[:, None])

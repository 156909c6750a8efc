"""From sequences and their labels to what a chain is trained on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from maxmargin.costs import Cost, PartCost
from maxmargin.inputs.constraints import find_breach
from maxmargin.inputs.labels import Labels, class_weights
from maxmargin.inputs.sequence_labels import cut
from maxmargin.inputs.sequences import (
    Stack,
    as_sequences,
    flatten_positions,
    naming,
    stack_arrays,
    symbolic_kind,
)
from maxmargin.inputs.vocabulary import FeatureTable
from maxmargin.structures import ChainLayout, chain_data
from maxmargin.training.task import Training


class Limited(NamedTuple):
    """X with limits of its own on its labels."""

    X: Any
    allowed: Any = None
    fixed: Any = None


class Barriers(NamedTuple):
    """Constraints as compiled code reads them; None where there are none."""

    edges: np.ndarray | None  # (n_labels + 2, n_labels)
    nodes: np.ndarray | None  # (n_positions, n_labels)


def read_sequences(
    X: Any, new_table: Callable[[], FeatureTable]
) -> tuple[Stack, FeatureTable | None]:
    """Return the features of training sequences, and the table learnt where they are symbolic."""
    sequences = as_sequences("X", X)
    kind = symbolic_kind(sequences)
    if kind is None:
        return stack_arrays(sequences), None
    table = new_table()
    positions, offsets = flatten_positions(sequences, kind)
    return Stack(table.fit_transform(positions, naming("X", offsets)), offsets), table


def reread_sequences(X: Any, table: FeatureTable | None, n_features: int) -> Stack:
    """Return the features of sequences as those of training were read."""
    sequences = as_sequences("X", X)
    if table is not None:
        positions, offsets = flatten_positions(sequences, table.kind)
        return Stack(table.transform(positions, naming("X", offsets)), offsets)
    kind = symbolic_kind(sequences)
    if kind is not None:
        raise TypeError(
            f"X has {'dictionaries' if kind == 'dict' else 'lists'} of features, but the model was "
            "fitted on arrays."
        )
    return stack_arrays(sequences, n_features)


def chain_training(
    stack: Stack,
    codes: np.ndarray,
    labels: Labels,
    layout: ChainLayout,
    barriers: Barriers,
    cost: Cost,
    class_weight: Any,
    weight: np.ndarray,
) -> Training:
    """Return the examples: the runs of known labels, each with the weight of its sequence.

    Refuses true labels that the barriers forbid.
    """
    breach = find_breach(codes, stack.offsets, labels.classes, *barriers)
    if breach is not None:
        raise ValueError(
            f"Y[{breach.sequence}][{breach.position}]: the constraints forbid the true labels: "
            f"{breach.what}."
        )
    pieces = cut(codes, stack.offsets)
    weight = weight[pieces.sample]
    if not weight.any():
        raise ValueError("Y has no known label in a sequence of positive weight.")
    rows, sizes = pieces.rows, np.diff(pieces.offsets)
    # A mean over positions is one over the whole sequence's known ones, however it was cut.
    n_known = np.bincount(pieces.sample, weights=sizes)[pieces.sample]
    tables = weighted_cost(
        cost.tabulate("positions", labels.classes, n_known), class_weight, labels, codes[rows],
        np.repeat(weight, sizes),
    )  # fmt: skip
    matrix, nodes = stack.matrix, barriers.nodes
    if len(rows) < len(codes):
        matrix = matrix[rows]
        nodes = None if nodes is None else nodes[rows]
    data = chain_data(
        matrix, pieces.offsets, codes[rows], layout, pieces.borders, barriers.edges, nodes
    )
    return Training(data, tables, len(sizes), weight)


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

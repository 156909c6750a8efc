"""Label sets: any number of labels an example, on or off, with weights for pairs of labels.

phi(x, y) puts x, and a constant, into the column of every label that is on, and counts for every
edge (a, b) of the graph whether both its labels are on. A weight >= 0 of an edge is attractive.

There is one type of data for each way of inference. The fields that they share have the same names
and meanings, so what does not depend on inference is written once (shared.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.features.rows import frozen
from maxmargin.inference.labels.graph import LabelGraph
from maxmargin.inference.labels.tree import TreeOrder


class IndependentLabels(NamedTuple):
    """Label sets without edges: closed forms. w = [weights (n_columns, n_labels) | bias | pairs].

    A label is 1 (on), 0 (off) or -1 (unknown). A label that is unknown in the truth is unknown in
    all outputs of the example. w has one weight per edge of the graph, which here has no edges.
    """

    features: Any
    labels: Any  # (n_examples, n_labels) int32
    n_columns: int
    n_labels: int
    has_bias: int
    graph: LabelGraph


class TreeLabels(NamedTuple):
    """Label sets whose edges form a forest: max-product. Fields of `IndependentLabels`, and:"""

    features: Any
    labels: Any
    n_columns: int
    n_labels: int
    has_bias: int
    graph: LabelGraph
    tree: TreeOrder


class ListedLabels(NamedTuple):
    """Label sets with any edges, so few labels that all sets are listed."""

    features: Any
    labels: Any
    n_columns: int
    n_labels: int
    has_bias: int
    graph: LabelGraph


class PairwiseLabels(NamedTuple):
    """Label sets with any edges: roof duality, then a local search, bounded by the relaxation.

    Where no edge has a negative weight, one minimum cut finds the best output exactly.
    """

    features: Any
    labels: Any
    n_columns: int
    n_labels: int
    has_bias: int
    graph: LabelGraph


class RelaxedLabels(NamedTuple):
    """Label sets with any edges, relaxed to the local polytope: roof duality, exact for that.

    An output is a point of the polytope, by what its labels and edges differ from those of the
    truth: the sparse cells that `maxmargin.core.contract.fractional` describes.
    """

    features: Any
    labels: Any
    n_columns: int
    n_labels: int
    has_bias: int
    graph: LabelGraph


class LabelPotentials(NamedTuple):
    """Scores of the labels and edges of one example; as mu, how much of each is on in an output."""

    unary: Any  # (1, n_labels)
    pair: Any  # (n_edges,)


def label_potentials(data: Any) -> LabelPotentials:
    """Return potentials for any one example, all 0; all examples have the same graph."""
    return LabelPotentials(np.zeros((1, data.n_labels)), np.zeros(len(data.graph.edges)))


#: How label sets are inferred in compiled passes, by name.
INFERENCES: dict[str, type] = {
    "independent": IndependentLabels,
    "tree": TreeLabels,
    "listed": ListedLabels,
    "pairwise": PairwiseLabels,
    "relaxed": RelaxedLabels,
}


def check_label_sets(Y: Any, n_rows: int) -> np.ndarray:
    """Return label sets as int32; refuse what is no matrix of -1, 0 and 1."""
    given = np.asarray(Y)
    if given.ndim != 2 or given.shape[0] != n_rows or given.shape[1] < 1:
        raise ValueError(
            f"Y must be a matrix of {n_rows} rows, as X has, and a column a label; got shape "
            f"{given.shape}."
        )
    if given.dtype.kind not in "biuf":
        raise TypeError(f"Y must hold the numbers 1, 0 and -1, got dtype {given.dtype}.")
    wrong = ~((given == 0) | (given == 1) | (given == -1))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(
            f"Y[{i}, {j}] is {given[i, j]}; expected 1 (on), 0 (off) or -1 (not known)."
        )
    return frozen(given, np.int32)

"""Label sets: any number of labels an example, on or off, with weights for pairs of labels.

phi(x, y) puts x, and a constant, into the column of every label that is on, and counts for every
edge (a, b) of the graph whether both its labels are on. A weight >= 0 of an edge is attractive.

One type of data for each way of inference: the fields they share have the same names and meanings,
so that what does not depend on inference is written once (labels_shared.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.features.rows import frozen
from maxmargin.inference.labels.graph import LabelGraph
from maxmargin.inference.labels.tree import TreeOrder


class IndependentLabels(NamedTuple):
    """Label sets without edges: closed forms. w = [weights (n_columns, n_labels) | bias | pairs].

    A label is 1 (on), 0 (off) or -1 (unknown), in true outputs and all others alike: an example is
    the problem on its known labels. The weights of pairs are one an edge, none here.
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

    Where no weight of a pair is negative, one minimum cut: exact.
    """

    features: Any
    labels: Any
    n_columns: int
    n_labels: int
    has_bias: int
    graph: LabelGraph


class RelaxedLabels(NamedTuple):
    """Label sets with any edges, relaxed to the local polytope: roof duality, exact for that.

    An output is a mean of two half-integral vertices, (1 - share) left + share right. Its cells:
    left, right, and round(share * 2^30). Of each vertex, first a cell a label, twice its value (-1
    if unknown); then, 31 to a cell, a bit an edge: whether both labels are 1/2 and the pair counts
    1/2. The other pairs follow from their labels. A vertex by itself has left = right, share 0.
    """

    features: Any
    labels: Any
    n_columns: int
    n_labels: int
    has_bias: int
    graph: LabelGraph


class LabelPotentials(NamedTuple):
    """Scores of the labels and edges of one example, or how much of each an output has on."""

    unary: Any  # (1, n_labels)
    pair: Any  # (n_edges,)


def label_potentials(data: Any) -> LabelPotentials:
    """Return potentials of an example, all 0; the examples share their graph."""
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

"""Label sets: any number of labels an example, on or off, with weights for pairs of labels.

phi(x, y) puts x, and a constant, into the column of every label that is on, and counts for every
edge (a, b) of the graph whether both its labels are on. A weight >= 0 of an edge is attractive.

One type of data for each way of inference: the fields they share have the same names and meanings,
so that what does not depend on inference is written once (labels_shared.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.inference.label_graph import LabelGraph, label_graph
from maxmargin.inference.labels_listed import MAX_LISTED
from maxmargin.inference.labels_tree import TreeOrder, tree_order
from maxmargin.structures.features import as_features, frozen


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


#: How label sets are inferred, by name.
INFERENCES: dict[str, type] = {
    "independent": IndependentLabels,
    "tree": TreeLabels,
    "listed": ListedLabels,
    "pairwise": PairwiseLabels,
    "relaxed": RelaxedLabels,
}


def labels_data(
    X: Any,
    Y: Any,
    edges: Any = (),
    *,
    bias: bool = True,
    inference: str = "independent",
) -> Any:
    """Return examples with label sets, as solvers take them.

    Parameters
    ----------
    X : matrix of finite numbers of shape (n, n_columns), dense or CSR
    Y : int array of shape (n, m)
        1 where a label is on, 0 where it is off, -1 where that is not known.
    edges : array-like of int of shape (E, 2)
        The pairs of labels that have a weight; for all but independent labels.
    bias : bool
        Whether each label has a weight of its own beside those of the features.
    inference : {"independent", "tree", "listed", "pairwise", "relaxed"}
        No edges; edges that form a forest; any edges and at most 16 labels; any edges, by a search
        with a bound; any edges, relaxed: the outputs of training are fractional.

    Examples
    --------
    >>> import numpy as np
    >>> data = labels_data(np.eye(2), [[1, 0, 1], [0, -1, 0]], [(0, 2)], inference="listed")
    >>> type(data).__name__, data.n_labels, len(data.graph.edges)
    ('ListedLabels', 3, 1)
    """
    if inference not in INFERENCES:
        raise ValueError(f"inference must be one of {', '.join(INFERENCES)}; got {inference!r}.")
    labels = check_label_sets(Y, X.shape[0])
    m = labels.shape[1]
    graph = LabelGraph(*(frozen(part, part.dtype) for part in label_graph(m, edges)))
    shared = (as_features(X), labels, int(X.shape[1]), m, int(bias), graph)
    if inference == "independent":
        if len(graph.edges):
            raise ValueError(
                f"edges has {len(graph.edges)} pairs, but inference='independent' knows none."
            )
        return IndependentLabels(*shared)
    if inference == "tree":
        tree = tree_order(graph)
        return TreeLabels(*shared, TreeOrder(*(frozen(part, part.dtype) for part in tree)))
    if inference == "listed":
        if m > MAX_LISTED:
            raise ValueError(
                f"inference='listed' lists all sets of at most {MAX_LISTED} labels; Y has {m}."
            )
        return ListedLabels(*shared)
    return INFERENCES[inference](*shared)


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

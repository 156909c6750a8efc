"""Scores for places in a hierarchy: how much of the true nodes, with all above them, was found.

`y_true` and `y_pred` are compared as sets of nodes, each with all nodes above it. With
``hierarchy``, a `Hierarchy` of maxmargin, they are labels of any form that `HierarchySVM` takes:
nodes, paths, collections of these, padded arrays, indicator matrices. Without it they must have all
nodes in them already: indicator matrices (2-D arrays of numbers or bools, or sparse), lists of
collections of nodes, or padded arrays of levels, as HiClass has them, whose nodes are the
beginnings of their rows. Unseen labels are nodes as others are, which were not found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

__all__ = [
    "auprc",
    "exact_sets",
    "hierarchical_f1",
    "hierarchical_precision",
    "hierarchical_recall",
    "node_macro_f1",
    "tree_distance",
]


def exact_sets(y_true: Any, y_pred: Any, hierarchy: Any = None) -> float:
    """The share of samples whose nodes are all right; of single labels this is the accuracy.

    Examples
    --------
    >>> exact_sets([{"a", "b"}, {"a"}], [{"a", "b"}, {"a", "c"}])
    0.5
    """
    truth, guess = _sets(y_true, y_pred, hierarchy)
    return float(np.mean(_differing(truth, guess) == 0))


def tree_distance(y_true: Any, y_pred: Any, hierarchy: Any = None) -> float:
    """The mean number of nodes that are in one of the two sets alone.

    For single labels in a tree these are the steps from one label to the other.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([["cat", "siamese"], ["dog", "collie"]])
    >>> guess = np.array([["cat", "persian"], ["cat", "persian"]])
    >>> tree_distance(truth, guess)
    3.0
    """
    truth, guess = _sets(y_true, y_pred, hierarchy)
    return float(np.mean(_differing(truth, guess)))


def hierarchical_precision(
    y_true: Any, y_pred: Any, hierarchy: Any = None, *, average: str = "micro"
) -> float:
    """The share of predicted nodes that are true; see `hierarchical_f1`."""
    return _by_average(*_sets(y_true, y_pred, hierarchy), average, 0)


def hierarchical_recall(
    y_true: Any, y_pred: Any, hierarchy: Any = None, *, average: str = "micro"
) -> float:
    """The share of true nodes that were predicted; see `hierarchical_f1`."""
    return _by_average(*_sets(y_true, y_pred, hierarchy), average, 1)


def hierarchical_f1(
    y_true: Any, y_pred: Any, hierarchy: Any = None, *, average: str = "micro"
) -> float:
    """F1 of sets of nodes.

    Parameters
    ----------
    y_true, y_pred, hierarchy : see the module
    average : {"micro", "samples"}
        "micro": precision and recall of all nodes of all samples together, which is the
        hierarchical F1 of HiClass, and micro-F1 over nodes. "samples": the mean of the F1 of each
        sample, where two empty sets have 1.

    Examples
    --------
    >>> truth, guess = [{"a", "b", "c"}, {"a"}], [{"a", "b"}, {"a"}]
    >>> round(hierarchical_f1(truth, guess), 3)
    0.857
    >>> round(hierarchical_f1(truth, guess, average="samples"), 3)
    0.9
    """
    return _by_average(*_sets(y_true, y_pred, hierarchy), average, 2)


def node_macro_f1(y_true: Any, y_pred: Any, hierarchy: Any = None) -> float:
    """The mean F1 of the nodes, over those that are in a true or a predicted set.

    Examples
    --------
    >>> node_macro_f1([{"a", "b"}, {"a"}], [{"a"}, {"a"}])
    0.5
    """
    truth, guess = _sets(y_true, y_pred, hierarchy)
    both = np.asarray(truth.multiply(guess).sum(axis=0)).ravel()
    total = np.asarray(truth.sum(axis=0) + guess.sum(axis=0)).ravel()
    occurs = total > 0
    return float(np.mean(2.0 * both[occurs] / total[occurs])) if occurs.any() else 1.0


def auprc(y_true: Any, scores: Any) -> float:
    """Area under the precision-recall curve of all cells (sample, node) together.

    Parameters
    ----------
    y_true : indicator matrix of shape (n, n_nodes), dense or sparse, with all nodes of each sample
    scores : array of shape (n, n_nodes), the larger the likelier

    Notes
    -----
    The sum of the precisions at each recall, times the step to it, as scikit-learn's
    `average_precision_score` has it with average="micro"; cells with equal scores count together.

    Examples
    --------
    >>> round(auprc([[1, 0], [1, 1]], [[0.9, 0.8], [0.7, 0.1]]), 3)
    0.806
    """
    truth = y_true.toarray() if issparse(y_true) else np.asarray(y_true)
    values = np.asarray(scores, dtype=np.float64)
    if truth.shape != values.shape or truth.ndim != 2:
        raise ValueError(
            f"y_true has the shape {truth.shape} and scores {values.shape}; both must be "
            "(n_samples, n_nodes)."
        )
    if np.isnan(values).any():
        raise ValueError("scores must not be NaN.")
    right, found = truth.ravel() != 0, values.ravel()
    if not right.any():
        raise ValueError("y_true has no node in any of its samples.")
    order = np.argsort(-found, kind="stable")
    right, found = right[order], found[order]
    ends = np.append(np.flatnonzero(found[:-1] > found[1:]), len(found) - 1)
    n_right = np.cumsum(right)[ends]
    precision = n_right / (ends + 1.0)
    return float(np.sum(np.diff(n_right, prepend=0) * precision) / right.sum())


def _sets(y_true: Any, y_pred: Any, hierarchy: Any) -> tuple[csr_matrix, csr_matrix]:
    """Both as matrices of 0 and 1 over common columns."""
    if hierarchy is not None:
        if not hasattr(hierarchy, "closures"):
            raise TypeError(
                f"hierarchy must be a maxmargin.Hierarchy or None, got {type(hierarchy).__name__}."
            )
        truth, guess = hierarchy.closures(y_true, y_pred)
    elif _is_matrix(y_true) or _is_matrix(y_pred):
        truth, guess = _matrix(y_true, "y_true"), _matrix(y_pred, "y_pred")
    else:
        known: dict[Any, int] = {}
        rows = [_collections(y, name) for y, name in ((y_true, "y_true"), (y_pred, "y_pred"))]
        for each in rows:
            for nodes in each:
                for node in nodes:
                    known.setdefault(node, len(known))
        truth, guess = (_cells(each, known) for each in rows)
    if truth.shape[0] != guess.shape[0]:
        raise ValueError(f"y_true has {truth.shape[0]} samples but y_pred has {guess.shape[0]}.")
    if truth.shape[1] != guess.shape[1]:
        raise ValueError(f"y_true has {truth.shape[1]} columns but y_pred has {guess.shape[1]}.")
    if truth.shape[0] == 0:
        raise ValueError("y_true has no samples.")
    return truth, guess


def _is_matrix(y: Any) -> bool:
    return issparse(y) or (isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype.kind in "biuf")


def _matrix(y: Any, name: str) -> csr_matrix:
    matrix = csr_matrix(y)
    if not np.isin(matrix.data, (0, 1)).all():
        raise ValueError(
            f"{name} must be an indicator matrix of 0 and 1 where no hierarchy is given, as the "
            "other is."
        )
    matrix = matrix.astype(np.int64)
    matrix.eliminate_zeros()
    return matrix


def _collections(y: Any, name: str) -> list[set[Any]]:
    """The nodes of each sample: of a collection its members, of a row of levels its beginnings."""
    if isinstance(y, np.ndarray) and y.ndim == 2:
        return [_beginnings(row.tolist()) for row in y]
    if isinstance(y, np.ndarray) and y.ndim == 3:
        return [set().union(*(_beginnings(path.tolist()) for path in row)) for row in y]
    found = []
    for i, nodes in enumerate(y):
        if not isinstance(nodes, (set, frozenset, list, tuple)):
            raise TypeError(
                f"{name}[{i}] must be a collection of nodes where no hierarchy is given, got "
                f"{nodes!r:.60}. For names or paths pass hierarchy=, such as "
                "Hierarchy.from_paths(y_true)."
            )
        found.append(set(nodes))
    return found


def _beginnings(levels: list[Any]) -> set[Any]:
    kept = [level for level in levels if level is not None and level != "" and level == level]
    return {tuple(kept[: k + 1]) for k in range(len(kept))}


def _cells(rows: list[set[Any]], known: dict[Any, int]) -> csr_matrix:
    ends = np.concatenate([[0], np.cumsum([len(nodes) for nodes in rows])]).astype(np.int64)
    places = np.array([known[node] for nodes in rows for node in nodes], dtype=np.int64)
    ones = np.ones(len(places), dtype=np.int64)
    return csr_matrix((ones, places, ends), shape=(len(rows), len(known)))


def _differing(truth: csr_matrix, guess: csr_matrix) -> NDArray[np.int64]:
    """How many nodes are in one of the two sets of each sample alone."""
    both = np.asarray(truth.multiply(guess).sum(axis=1)).ravel()
    return np.asarray(truth.sum(axis=1) + guess.sum(axis=1)).ravel() - 2 * both


def _by_average(truth: csr_matrix, guess: csr_matrix, average: str, which: int) -> float:
    """Precision (0), recall (1) or F1 (2) of sets of nodes."""
    if average not in ("micro", "samples"):
        raise ValueError(f"average={average!r} is not known. There are: 'micro', 'samples'.")
    both = np.asarray(truth.multiply(guess).sum(axis=1), dtype=np.float64).ravel()
    n_true = np.asarray(truth.sum(axis=1), dtype=np.float64).ravel()
    n_pred = np.asarray(guess.sum(axis=1), dtype=np.float64).ravel()
    if average == "micro":
        both, n_true, n_pred = (np.array([each.sum()]) for each in (both, n_true, n_pred))
    least = (n_pred, n_true, (n_pred + n_true) / 2.0)[which]
    nothing = (n_pred + n_true) == 0  # two empty sets agree
    ratio = np.where(nothing, 1.0, both / np.where(least > 0, least, 1.0))
    return float(ratio.mean())

"""Label sets made from what a caller has, checked; and a tree of edges learnt from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.features.rows import as_features
from maxmargin.inference.labels.graph import label_graph
from maxmargin.inference.labels.listed import MAX_LISTED
from maxmargin.inference.labels.tree import tree_order
from maxmargin.structures.labels.data import (
    INFERENCES,
    IndependentLabels,
    ListedLabels,
    TreeLabels,
    check_label_sets,
)
from maxmargin.structures.labels.program import ProgramLabels, RelaxedProgramLabels

#: How label sets are inferred by a library, by name.
PROGRAMS: dict[str, type[ProgramLabels]] = {
    "program": ProgramLabels,
    "relaxed_program": RelaxedProgramLabels,
}


def labels_data(
    X: Any,
    Y: Any,
    edges: Any = (),
    *,
    bias: bool = True,
    inference: str = "independent",
    time_limit: float | None = None,
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
    inference : str
        "independent": no edges, closed forms. "tree": edges that form a forest, exact. "listed":
        any edges, at most 16 labels, exact. "pairwise": any edges, a search with a bound, exact
        where no edge has a weight < 0. "relaxed": any edges, outputs of training are fractional.
        "program": any edges, exact, by HiGHS; slow. "relaxed_program": as "relaxed", by HiGHS.
    time_limit : float or None
        Seconds for each programme; only for "program" and "relaxed_program".

    Examples
    --------
    >>> import numpy as np
    >>> data = labels_data(np.eye(2), [[1, 0, 1], [0, -1, 0]], [(0, 2)], inference="listed")
    >>> type(data).__name__, data.n_labels, len(data.graph.edges)
    ('ListedLabels', 3, 1)
    """
    if inference in PROGRAMS:
        return PROGRAMS[inference](X, Y, edges, bias, time_limit)
    if inference not in INFERENCES:
        known = ", ".join([*INFERENCES, *PROGRAMS])
        raise ValueError(f"inference must be one of {known}; got {inference!r}.")
    kind: Any = INFERENCES[inference]
    if time_limit is not None:
        raise ValueError(f"time_limit is for programmes; inference={inference!r} has none.")
    labels = check_label_sets(Y, X.shape[0])
    m = labels.shape[1]
    # The arrays of the graph stay writeable: for read-only arrays numba would compile the kernels
    # of `maxmargin.inference` a second time.
    graph = label_graph(m, edges)
    shared = (as_features(X), labels, int(X.shape[1]), m, int(bias), graph)
    if kind is TreeLabels:
        return TreeLabels(*shared, tree_order(graph))
    if kind is IndependentLabels and len(graph.edges):
        raise ValueError(
            f"edges has {len(graph.edges)} pairs, but inference='independent' knows none."
        )
    if kind is ListedLabels and m > MAX_LISTED:
        raise ValueError(
            f"inference='listed' lists all sets of at most {MAX_LISTED} labels; Y has {m}."
        )
    return kind(*shared)


def learnt_tree(Y: Any) -> np.ndarray:
    """Return the spanning tree of labels with the largest sum of mutual informations.

    This is the tree of Chow and Liu. The mutual information of two labels is taken over the samples
    where both are known. Pairs of labels without mutual information get no edge, so the result may
    be a forest.

    Parameters
    ----------
    Y : matrix of shape (n, m), dense or sparse
        1 where a label is on, 0 where it is off, -1 where that is not known.

    Returns
    -------
    edges : int array of shape (E, 2), E < m, the lower label first, sorted

    Examples
    --------
    >>> learnt_tree([[1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]]).tolist()
    [[0, 1]]
    """
    information = _mutual_information(Y)
    # scipy finds a minimal tree, hence the minus below, and takes zeros for no edge. Independent
    # labels may have a tiny information by rounding, which is set to 0.
    information[information <= 1e-12] = 0.0
    from scipy.sparse.csgraph import minimum_spanning_tree

    tree = minimum_spanning_tree(sp.csr_matrix(-np.triu(information, 1)))
    first, second = tree.nonzero()
    edges = np.stack([np.minimum(first, second), np.maximum(first, second)], axis=1)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]


def _mutual_information(Y: Any) -> np.ndarray:
    """Return the mutual information of all pairs of labels, from products of matrices."""
    # With many labels, few of them on, products of sparse matrices are fast.
    given = Y if sp.issparse(Y) else check_label_sets(Y, len(Y))
    on = sp.csr_matrix(given == 1, dtype=np.float64)
    unknown = sp.csr_matrix(given == -1, dtype=np.float64)
    n, m = on.shape
    both = np.asarray((on.T @ on).todense())
    missing = np.asarray(unknown.sum(axis=0)).reshape(-1)
    count = n - missing[:, None] - missing + np.asarray((unknown.T @ unknown).todense())
    # first[a, b]: in how many samples label a is on and label b is known.
    first = np.asarray(on.sum(axis=0)).reshape(-1)[:, None] - np.asarray((on.T @ unknown).todense())
    second = first.T
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.zeros((m, m))
        for joint, a, b in (
            (both, first, second),
            (first - both, first, count - second),
            (second - both, count - first, second),
            (count - first - second + both, count - first, count - second),
        ):
            term = joint * (np.log(joint) + np.log(count) - np.log(a) - np.log(b))
            total += np.where(joint > 0.0, term, 0.0)
        return np.where(count > 0.0, total / count, 0.0)

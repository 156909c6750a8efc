"""Sets of nodes made from what a caller has, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.features.rows import as_features, frozen
from maxmargin.inference.hierarchy.shape import HierarchyShape, is_forest, parents_of
from maxmargin.structures.hierarchy.data import CutSets, TreeSets, check_alpha, check_missed
from maxmargin.structures.hierarchy.program import PathSetsByProgram, RelaxedPathSets

#: The spaces of sets of nodes.
SPACES = ("closed", "paths")


def node_sets_data(
    X: Any,
    sets: Any,
    shape: HierarchyShape,
    *,
    space: str = "closed",
    alpha: Any = None,
    missed_weight: float = 1.0,
    bias: bool = True,
    relaxed: bool = True,
) -> Any:
    """Return examples with sets of nodes, as solvers take them.

    Parameters
    ----------
    X : matrix of finite numbers of shape (n, n_columns), dense or CSR
    sets : matrix of zeros and ones of shape (n, n_nodes), dense or sparse, or None
        Which nodes are in the true set of each example. None where the true sets are not known, for
        prediction.
    shape : HierarchyShape
        The nodes of the hierarchy, a tree or a DAG, numbered parents first.
    space : {"closed", "paths"}
        Which sets are outputs: all that hold the parents of their nodes; or unions of paths from a
        root to a leaf, one at least.
    alpha : array of shape (n_nodes,) or None
        Weights of the nodes in the norm, >= 0; None for 1 each.
    missed_weight : float > 0
        How often the score of a node of the true set counts in training. Give its price the same
        factor, and a node that is alone in its tree is wanted from a probability of 1 / (1 +
        missed_weight) on. Not for unions of paths of a DAG.
    bias : bool
        Whether each node has a weight of its own beside those of the features.
    relaxed : bool
        For unions of paths of a DAG alone, whose best set is NP-hard to find: True for a linear
        relaxation, whose outputs may be fractional, for training; False for the best set itself,
        for prediction.

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> shape = hierarchy_shape(4, child=[1, 2, 3, 3], parent=[0, 0, 1, 2])
    >>> data = node_sets_data(np.eye(2), [[1, 1, 0, 0], [1, 1, 1, 1]], shape)
    >>> type(data).__name__, data.nodes.tolist()
    ('CutSets', [0, 1, 0, 1, 2, 3])
    """
    if space not in SPACES:
        raise ValueError(f"space must be one of {', '.join(SPACES)}; got {space!r}.")
    n_nodes, n_examples = len(shape.parent_at) - 1, X.shape[0]
    to_leaves = int(space == "paths")
    node_at, nodes = _check_sets(sets, n_examples, n_nodes)
    if sets is not None:
        check_closed(node_at, nodes, shape, to_leaves)
    shared = (
        as_features(X),
        frozen(node_at, np.int64),
        frozen(nodes, np.int32),
        int(X.shape[1]),
        n_nodes,
        int(bias),
        check_alpha(alpha, n_nodes),
    )
    missed = check_missed(missed_weight)
    # The arrays of the shape stay writeable: for read-only arrays numba would compile the kernels
    # of `maxmargin.inference` a second time.
    if is_forest(shape):
        n_children = np.diff(shape.child_at).astype(np.int32)
        return TreeSets(*shared, missed, parents_of(shape), n_children, to_leaves)
    if not to_leaves:
        return CutSets(*shared, missed, shape)
    if missed != 1.0:
        raise ValueError(
            f"missed_weight={missed:g} needs sets that no programme is asked for: "
            "space='closed', or a hierarchy in which no node has two parents."
        )
    return (RelaxedPathSets if relaxed else PathSetsByProgram)(X, shared, shape)


def _check_sets(sets: Any, n_examples: int, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes of each set, in increasing order, in CSR form."""
    if sets is None:
        return np.zeros(n_examples + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    given: Any = sp.csr_matrix(sets) if sp.issparse(sets) else np.asarray(sets)
    if given.ndim != 2 or given.shape != (n_examples, n_nodes):
        raise ValueError(
            f"sets must have {n_examples} rows, as X has, and {n_nodes} columns, one per node; got "
            f"shape {given.shape}."
        )
    if not sp.issparse(given):
        given = sp.csr_matrix(given)
    given.eliminate_zeros()
    given.sort_indices()
    if (given.data != 1).any():
        raise ValueError("sets must hold zeros and ones only.")
    return given.indptr, given.indices


def check_closed(
    node_at: np.ndarray, nodes: np.ndarray, shape: HierarchyShape, to_leaves: int
) -> None:
    """Refuse sets that do not belong to the space: name the sample and the node."""
    n_nodes = len(shape.parent_at) - 1
    flags = sp.csr_matrix((np.ones(len(nodes)), nodes, node_at), (len(node_at) - 1, n_nodes))
    child = np.repeat(np.arange(n_nodes), np.diff(shape.parent_at))
    above = sp.csr_matrix((np.ones(len(child)), (child, shape.parents)), (n_nodes, n_nodes))
    # How many children of each node are in the set, where the node itself is not.
    n_below = (flags @ above).tocsr()
    alone = n_below - n_below.multiply(flags)
    alone.eliminate_zeros()
    if alone.nnz:
        i = int(np.flatnonzero(np.diff(alone.tocsr().indptr))[0])
        n = int(alone[i].indices[0])
        raise ValueError(
            f"the set of sample {i} holds a child of node {n}, but not node {n}: sets must hold "
            "the parents of their nodes."
        )
    if not to_leaves:
        return
    empty = np.flatnonzero(np.diff(node_at) == 0)
    if len(empty):
        raise ValueError(
            f"the set of sample {empty[0]} is empty; with space='paths' a set has a path at least."
        )
    is_inner = np.diff(shape.child_at) > 0
    inner = flags.multiply(sp.csr_matrix(is_inner.astype(np.float64))).tocsr()
    ends = (inner - inner.multiply(n_below > 0)).tocsr()
    ends.eliminate_zeros()
    if ends.nnz:
        i = int(np.flatnonzero(np.diff(ends.indptr))[0])
        n = int(ends[i].indices[0])
        raise ValueError(
            f"the set of sample {i} ends at node {n}, which is no leaf; with space='paths' each "
            "path of a set goes on to a leaf. Choose space='closed', or give node "
            f"{n} a leaf of its own."
        )

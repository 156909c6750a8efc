"""Problems of single nodes, each with the examples of its parents, and answers that agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.inputs.hierarchy.space import HierarchySpace

__all__ = ["NodeProblem", "agreed", "best_path", "node_problems", "to_leaves"]


class NodeProblem(NamedTuple):
    """The nodes that have the same parents, and the examples of these.

    Nodes that all these examples have, or none, are left out: there is nothing to tell apart.
    """

    nodes: np.ndarray  # (k,) nodes of the model
    rows: np.ndarray  # examples that have all parents
    targets: np.ndarray  # (len(rows), k) bool: which of the examples has which node


def node_problems(cells: sp.csc_matrix, space: HierarchySpace) -> Iterator[NodeProblem]:
    """Yield the problems of all nodes, those with the same parents together.

    cells : csc_matrix of shape (n, m), the nodes of each example
    """
    shape, n = space.shape, cells.shape[0]
    groups: dict[tuple[int, ...], list[int]] = {}
    for v in range(len(space)):
        above = shape.parents[shape.parent_at[v] : shape.parent_at[v + 1]]
        groups.setdefault(tuple(above.tolist()), []).append(v)
    for parents, nodes in groups.items():
        has_all = np.ones(n, dtype=bool)
        for p in parents:
            flags = np.zeros(n, dtype=bool)
            flags[cells.indices[cells.indptr[p] : cells.indptr[p + 1]]] = True
            has_all &= flags
        rows = np.flatnonzero(has_all)
        targets = np.asarray(cells[:, nodes].toarray()[rows] > 0)
        told = targets.any(axis=0) & ~targets.all(axis=0)
        if told.any():
            yield NodeProblem(np.array(nodes)[told], rows, targets[:, told])


def agreed(scores: np.ndarray, space: HierarchySpace) -> np.ndarray:
    """Return the least score of each node and all above it; a node without one adds nothing.

    Examples
    --------
    >>> from maxmargin import Hierarchy
    >>> space = HierarchySpace.whole(Hierarchy.from_paths(["a/b", "c"]), "closed")
    >>> agreed(np.array([[-1.0, 2.0, np.inf]]), space)
    array([[-1., -1., inf]])
    """
    found = scores.copy()
    shape = space.shape
    for v in range(len(space)):
        for p in shape.parents[shape.parent_at[v] : shape.parent_at[v + 1]]:
            np.minimum(found[:, v], found[:, p], out=found[:, v])
    return found


def best_path(scores: np.ndarray, space: HierarchySpace) -> np.ndarray:
    """Return the path on which the best child is taken at each node, to a leaf; flags (n, m).

    An only child has no score of its own, and is taken. In a DAG a label is reached by one of the
    ways to it; its other ancestors are in the output too.
    """
    shape, n = space.shape, len(scores)
    roots = np.flatnonzero(np.diff(shape.parent_at) == 0)
    at = roots[scores[:, roots].argmax(axis=1)]
    n_children = np.diff(shape.child_at)
    for _ in range(len(space)):
        moving = np.flatnonzero(n_children[at] > 0)
        if len(moving) == 0:
            break
        for v in np.unique(at[moving]):
            here = moving[at[moving] == v]
            below = shape.children[shape.child_at[v] : shape.child_at[v + 1]]
            at[here] = below[scores[np.ix_(here, below)].argmax(axis=1)]
    return np.asarray(space.ancestry()[at].toarray() > 0) if n else np.zeros(scores.shape, bool)


def to_leaves(flags: np.ndarray, scores: np.ndarray, space: HierarchySpace) -> np.ndarray:
    """Return closed sets in which each node without a chosen child has its best one added.

    An empty set gets the best root first, so that every path ends in a leaf and none is empty.
    """
    shape, found = space.shape, flags.copy()
    roots = np.flatnonzero(np.diff(shape.parent_at) == 0)
    above = space.ancestry()
    for v in range(-1, len(space)):
        below = roots if v < 0 else shape.children[shape.child_at[v] : shape.child_at[v + 1]]
        if len(below) == 0:
            continue
        short = ~found[:, below].any(axis=1)
        if v >= 0:
            short &= found[:, v]
        here = np.flatnonzero(short)
        added = below[scores[np.ix_(here, below)].argmax(axis=1)]
        found[here] |= above[added].toarray() > 0
    return found

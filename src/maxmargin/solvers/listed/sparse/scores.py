"""Scores of paths under weights in rows: of all labels, of a few, or of those that a beam finds.

Sparse rows are added up for all nodes at once, which costs an operation per entry. Of dense rows
only those nodes are read that are asked for. So a visit which looks at few labels reads little of
the largest rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import ListedPaths


class Tree(NamedTuple):
    """The forest from the roots down; M nodes."""

    child_at: Any  # (M + 2,) int64: the children of node n, and of n = M the roots
    children: Any  # (M,) int32
    label_of: Any  # (M,) int32: the label whose path ends at a node, or -1


class Scores(NamedTuple):
    """Scratch of one example."""

    own: Any  # (M,): scores of nodes, without dense rows where `total` says so
    total: Any  # (M,): scores of paths
    seen: Any  # (M,) int64: ``mark`` of the visit in which `total` was computed
    mark: Any  # (1,) int64
    place: Any  # int64: the dense rows of the example
    x: Any  # and its values there
    front: Any  # (2, width) int32: inner nodes of a beam, at this level and the next
    n_front: Any  # (2,) int64


def tree_of(paths: ListedPaths) -> Tree:
    """Return the forest of paths."""
    n_nodes = len(paths.parent)
    above = np.where(paths.parent < 0, n_nodes, paths.parent)
    child_at = np.zeros(n_nodes + 2, dtype=np.int64)
    child_at[1:] = np.cumsum(np.bincount(above, minlength=n_nodes + 1))
    label_of = np.full(n_nodes, -1, dtype=np.int32)
    label_of[paths.nodes[paths.node_at[1:] - 1]] = np.arange(len(paths.node_at) - 1)
    return Tree(child_at, np.argsort(above, kind="stable").astype(np.int32), label_of)


def scores_for(paths: ListedPaths, width: int) -> Scores:
    """Return scratch for the longest row and a beam of this width."""
    own, total = np.zeros((2, len(paths.parent)))
    longest = int(np.diff(paths.indptr).max(initial=0))
    return Scores(
        own, total, np.zeros(len(own), dtype=np.int64), np.zeros(1, dtype=np.int64),
        np.zeros(longest, dtype=np.int64), np.zeros(longest),
        np.zeros((2, max(width, 1)), dtype=np.int32), np.zeros(2, dtype=np.int64),
    )  # fmt: skip


@jitable
def score_sparse(paths: Any, rows: Any, i: int, scores: Any) -> int:
    """Add up the sparse rows of example i for all nodes; return how many rows are dense."""
    scores.mark[0] += 1
    for n in range(scores.own.shape[0]):
        scores.own[n] = 0.0
    n_dense = 0
    for entry in range(paths.indptr[i], paths.indptr[i + 1]):
        f, x = paths.indices[entry], np.float64(paths.values[entry])
        if rows.dense_at[f] >= 0:
            scores.place[n_dense] = rows.dense_at[f]
            scores.x[n_dense] = x
            n_dense += 1
        else:
            for cell in range(rows.at[f], rows.at[f] + rows.count[f]):
                scores.own[rows.node[cell]] += x * rows.value[cell]
    return n_dense


@jitable
def score_all(paths: Any, rows: Any, n_dense: int, scores: Any) -> None:
    """Compute the scores of all paths, after `score_sparse`."""
    for d in range(n_dense):
        place, x = scores.place[d], scores.x[d]
        for n in range(scores.own.shape[0]):
            scores.own[n] += x * rows.dense[place, n]
    for n in range(scores.own.shape[0]):
        above = paths.parent[n]
        scores.total[n] = scores.own[n] + (scores.total[above] if above >= 0 else 0.0)
        scores.seen[n] = scores.mark[0]


@jitable
def score_node(paths: Any, rows: Any, n: int, n_dense: int, scores: Any) -> float:
    """Return the score of the path to node n, whose parent has been scored."""
    if scores.seen[n] != scores.mark[0]:
        total = scores.own[n]
        for d in range(n_dense):
            total += scores.x[d] * rows.dense[scores.place[d], n]
        above = paths.parent[n]
        scores.total[n] = total + (scores.total[above] if above >= 0 else 0.0)
        scores.seen[n] = scores.mark[0]
    return scores.total[n]


@jitable
def score_path(paths: Any, rows: Any, label: int, n_dense: int, scores: Any) -> float:
    """Return the score of a label."""
    total = 0.0
    for place in range(paths.node_at[label], paths.node_at[label + 1]):
        total = score_node(paths, rows, paths.nodes[place], n_dense, scores)
    return total


@jitable
def keep_best(front: Any, count: int, node: int, total: Any) -> int:
    """Add a node to a list of nodes that falls by score; return its new length."""
    most = front.shape[0]
    if count == most and total[node] <= total[front[most - 1]]:
        return count
    place = min(count, most - 1)
    while place > 0 and total[front[place - 1]] < total[node]:
        front[place] = front[place - 1]
        place -= 1
    front[place] = node
    return min(count + 1, most)

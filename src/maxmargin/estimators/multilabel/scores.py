"""Scores of single labels under a pairwise model, of all samples at once.

The score of label j is the best score of a label set with j on, less the best score with j off: the
difference of its max-marginals. It is positive if the best label set has j.
"""

from __future__ import annotations

import numpy as np

from maxmargin.inference.labels.graph import label_graph
from maxmargin.inference.labels.listed import all_scores, fill_pairs
from maxmargin.inference.labels.tree import tree_order


def tree_differences(unary: np.ndarray, edges: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """Return max-marginal differences where the edges form a forest, by two passes of messages.

    Parameters
    ----------
    unary : array of shape (n, m)
    edges : int array of shape (E, 2)
    pair : array of shape (E,)

    Examples
    --------
    >>> tree_differences(np.array([[1.0, -0.5]]), np.array([[0, 1]]), np.array([2.0]))
    array([[2.5, 1.5]])
    """
    n, m = unary.shape
    tree = tree_order(label_graph(m, edges))
    weight = np.append(pair, 0.0)[tree.edge]  # of the edge to the parent
    # A message to a label: how much more its neighbour can score if the label is on, not off.
    below = np.zeros((m, n))
    total = unary.T.copy()  # unary and all messages from below
    for j in tree.order[::-1]:
        if tree.parent[j] >= 0:
            below[j] = np.maximum(total[j] + weight[j], 0.0) - np.maximum(total[j], 0.0)
            total[tree.parent[j]] += below[j]
    for j in tree.order:  # parents first, so that the message from the parent is known
        above = tree.parent[j]
        if above >= 0:
            rest = total[above] - below[j]
            total[j] += np.maximum(rest + weight[j], 0.0) - np.maximum(rest, 0.0)
    return total.T.copy()


def listed_differences(unary: np.ndarray, edges: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """Return max-marginal differences with any edges, from the scores of all label sets.

    Examples
    --------
    >>> listed_differences(np.array([[1.0, -0.5]]), np.array([[0, 1]]), np.array([2.0]))
    array([[2.5, 1.5]])
    """
    n, m = unary.shape
    matrix, scores, cross = np.empty((m, m)), np.empty(2**m), np.empty(2 ** (m - 1))
    fill_pairs(np.ascontiguousarray(edges, dtype=np.int32), pair, matrix)
    found = np.empty((n, m))
    for i in range(n):
        all_scores(unary[i], matrix, scores, cross)
        for j in range(m):
            best = scores.reshape(-1, 2, 2**j).max(axis=(0, 2))
            found[i, j] = best[1] - best[0]
    return found


def conditional_differences(
    unary: np.ndarray, edges: np.ndarray, pair: np.ndarray, cells: np.ndarray
) -> np.ndarray:
    """Return what switching each label on gains while all others are as in ``cells``.

    Parameters
    ----------
    unary, edges, pair : as in `tree_differences`
    cells : int array of shape (n, m), label sets of 0 and 1

    Examples
    --------
    >>> one, edges, pair = np.array([[1.0, -0.5]]), np.array([[0, 1]]), np.array([2.0])
    >>> conditional_differences(one, edges, pair, np.array([[1, 1]]))
    array([[3. , 1.5]])
    """
    m = unary.shape[1]
    weights = np.zeros((m, m))
    weights[edges[:, 0], edges[:, 1]] = pair
    weights[edges[:, 1], edges[:, 0]] = pair
    return unary + cells @ weights

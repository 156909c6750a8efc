"""Hierarchies: phi(x, y) puts x, and a constant, into the column of every node of y.

The score of an output is the sum of the scores of its nodes. There is one type of data for each
way of inference:

- `HierarchyPaths`: an output is one label, a leaf or an inner node, which stands for its nodes
  A(k): its own node and all nodes above it. All labels are listed. For trees and DAGs.
- `TreeSets`: an output is a set of nodes that holds the parents of its nodes, in a forest.
- `CutSets`: the same in a DAG, by a minimum cut.

Every node n has a weight alpha_n >= 0 of the norm: the regulariser is the sum of |w_n|^2 / alpha_n.
So what is added to the column of a node is multiplied by alpha_n (R^-1 Psi, see
`maxmargin.core.contract.regularizer`), and a node with alpha_n = 0 has no weights. Scores use w
unchanged.

Of sets, the nodes of the true set may weigh more than the others (``missed``): in training, phi has
``missed`` times x in their columns, so that the scores of nodes that are missed count so often.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_row,
    add_scores,
    belongs,
    implements,
    kernel_use,
    n_weights,
)
from maxmargin.features.rows import kernel_rows
from maxmargin.inference.hierarchy.shape import HierarchyShape
from maxmargin.structures.classes.data import OneLabel


class HierarchyData:
    """Family of all data of hierarchies: w = [weights (n_columns, n_nodes) | bias (n_nodes)]."""


class NodeSets:
    """Family of those whose outputs are sets of nodes, see sets.py."""


class RankedSets:
    """Family of those of them whose k best outputs can be found, see ranked.py."""


@belongs(OneLabel, HierarchyData)
class HierarchyPaths(NamedTuple):
    """Examples with one label each; label k has the nodes A(k) of a tree or DAG.

    Nodes are numbered parents first. A(k) is nodes[node_at[k] : node_at[k + 1]], in increasing
    order.
    """

    features: Any
    labels: Any  # (n_examples,) int32
    n_columns: int
    n_labels: int
    n_nodes: int
    has_bias: int
    alpha: Any  # (n_nodes,) float64, writeable
    node_at: Any  # (n_labels + 1,) int64
    nodes: Any  # (sum of |A(k)|,) int32
    own: Any  # (n_labels,) int32: the node that the label is named after, the last of A(k)
    parent: Any  # (n_nodes,) int32, -1 for roots; (0,) if a node has several parents
    parent_at: Any  # (n_nodes + 1,) int64: the parents of each node, as in `HierarchyShape`
    parents: Any  # (number of edges,) int32


@belongs(RankedSets, NodeSets, HierarchyData)
class TreeSets(NamedTuple):
    """Examples with sets of nodes of a forest: closed ones, or unions of paths to leaves.

    The true set of example i is nodes[node_at[i] : node_at[i + 1]], in increasing order.
    """

    features: Any
    node_at: Any  # (n_examples + 1,) int64
    nodes: Any  # (sum of |y_i|,) int32
    n_columns: int
    n_nodes: int
    has_bias: int
    alpha: Any  # (n_nodes,) float64, writeable
    missed: float  # how often the score of a node of the true set counts
    parent: Any  # (n_nodes,) int32, -1 for roots
    n_children: Any  # (n_nodes,) int32
    to_leaves: int  # 0: any closed set, the empty one too; 1: not empty, and each path to a leaf


@belongs(RankedSets, NodeSets, HierarchyData)
class CutSets(NamedTuple):
    """Examples with closed sets of nodes of a DAG, the empty one too; fields as in `TreeSets`."""

    features: Any
    node_at: Any
    nodes: Any
    n_columns: int
    n_nodes: int
    has_bias: int
    alpha: Any
    missed: float
    shape: HierarchyShape


@implements(n_weights, HierarchyData)
def _n_weights(data):
    """Return the length of w: one weight per feature and node, and one bias per node."""
    return (data.n_columns + data.has_bias) * data.n_nodes


@implements(kernel_use, HierarchyData)
def _kernel_use(data):
    """Return the one matrix of coefficients, with a column per node; programmes read features."""
    if not isinstance(data, tuple):
        return None
    return kernel_rows(data.features, ((0, data.n_nodes),))


@jitable
def add_node(data, i, node, scale, W):
    """Add alpha times x_i and the bias to the column of a node."""
    mass = scale * data.alpha[node]
    if mass != 0.0:
        add_row(data.features, i, node, mass, W)
        if data.has_bias:
            W[data.n_columns, node] += mass


@jitable
def score_nodes(data, i, w, scale, nodes):
    """Fill ``nodes``, of shape (1, n_nodes), with the scores of all nodes."""
    W = w.reshape((data.n_columns + data.has_bias, data.n_nodes))
    for n in range(data.n_nodes):
        nodes[0, n] = scale * W[data.n_columns, n] if data.has_bias else 0.0
    add_scores(data.features, i, 1, scale, W, nodes)


def check_alpha(alpha: Any, n_nodes: int) -> np.ndarray:
    """Return the weights of nodes in the norm, 1 for each if None; refuse negative ones."""
    if alpha is None:
        return np.ones(n_nodes)
    weights = np.array(alpha, dtype=np.float64)
    if weights.shape != (n_nodes,):
        raise ValueError(
            f"alpha must have one weight per node, shape ({n_nodes},); got {weights.shape}."
        )
    wrong = np.flatnonzero(~((weights >= 0.0) & (weights < np.inf)))
    if len(wrong):
        raise ValueError(
            f"alpha[{wrong[0]}] is {weights[wrong[0]]}; expected a finite number >= 0."
        )
    return weights


def check_missed(missed: Any) -> float:
    """Return how often the score of a node of the true set counts, a finite number > 0."""
    value = float(missed)
    if not 0.0 < value < np.inf:
        raise ValueError(f"missed_weight must be a finite number > 0, got {missed!r}.")
    return value


def leaves(data: Any) -> np.ndarray:
    """Return which nodes have no children."""
    if isinstance(data, TreeSets):
        return np.asarray(data.n_children == 0)
    return np.asarray(np.diff(data.shape.child_at) == 0)


def parent_lists(data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return where the parents of each node begin, and the parents, as in `HierarchyShape`."""
    if not isinstance(data, TreeSets):
        return data.shape.parent_at, data.shape.parents
    has_parent = data.parent >= 0
    return np.concatenate([[0], np.cumsum(has_parent)]), data.parent[has_parent]


def is_allowed(data: Any, y: np.ndarray) -> bool:
    """Tell whether flags of nodes are a set of the space of the data."""
    if isinstance(data, TreeSets):
        child = np.flatnonzero(data.parent >= 0)
        parent = data.parent[child]
    else:
        child = np.repeat(np.arange(data.n_nodes), np.diff(data.shape.parent_at))
        parent = data.shape.parents
    if not isinstance(data, CutSets) and (not isinstance(data, TreeSets) or data.to_leaves):
        has_child = np.zeros(data.n_nodes, dtype=bool)
        has_child[parent[y[child] == 1]] = True
        ends = (y == 1) & ~has_child & ~leaves(data)
        if ends.any() or not y.any():
            return False
    return bool((y[child] <= y[parent]).all())

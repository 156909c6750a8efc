"""Hierarchies with one label per example: classes whose joint features are those of their nodes.

theta has the scores of labels, as that of classes has, so the oracles of classes serve here too.
Every visit scores the nodes first, then adds them up along the paths.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    PricedHierarchy,
    TrueParts,
    add_columns,
    add_difference,
    add_few,
    add_listed,
    add_parts,
    difference_potentials,
    few_scores,
    implements,
    potentials,
    row_product,
    score_few,
    score_lengths,
    true_parts,
    truths,
    workspace,
)
from maxmargin.features.rows import as_features, check_labels, frozen, row_lengths
from maxmargin.inference.hierarchy.shape import HierarchyShape, all_ancestors, is_forest, parents_of
from maxmargin.structures.hierarchy.data import HierarchyPaths, add_node, check_alpha, score_nodes


class PathPotentials(NamedTuple):
    """Scores of the labels of one example, or how much of each label there is.

    ``nodes`` is where `potentials` adds up the scores of nodes. As parts of an output nodes are
    never used: an output is made of one label.
    """

    scores: Any  # (1, n_labels)
    nodes: Any  # (1, n_nodes)


def paths_data(
    X: Any,
    labels: Any,
    shape: HierarchyShape,
    label_nodes: Any,
    *,
    alpha: Any = None,
    bias: bool = True,
) -> HierarchyPaths:
    """Return examples with one label each, as solvers take them.

    Parameters
    ----------
    X : matrix of finite numbers of shape (n, n_columns), dense or CSR
    labels : int array of shape (n,)
        The label of each example, 0 .. n_labels - 1.
    shape : HierarchyShape
        The nodes of the hierarchy, a tree or a DAG, numbered parents first.
    label_nodes : int array of shape (n_labels,)
        The node of each label, a leaf or an inner node; the label stands for this node and all
        nodes above it. No node has two labels.
    alpha : array of shape (n_nodes,) or None
        Weights of the nodes in the norm, >= 0; None for 1 each.
    bias : bool
        Whether each node has a weight of its own beside those of the features.

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> shape = hierarchy_shape(5, child=[1, 2, 3, 4], parent=[0, 0, 1, 1])
    >>> data = paths_data(np.eye(2), [0, 2], shape, label_nodes=[2, 3, 4])
    >>> data.nodes[data.node_at[1] : data.node_at[2]].tolist()
    [0, 1, 3]
    """
    n_nodes = len(shape.parent_at) - 1
    own = np.asarray(label_nodes)
    if own.ndim != 1 or own.dtype.kind not in "iu" or len(own) == 0:
        raise ValueError("label_nodes must be a list of nodes, one per label.")
    if own.min() < 0 or own.max() >= n_nodes or len(np.unique(own)) < len(own):
        raise ValueError(
            f"label_nodes must have different nodes from 0 to {n_nodes - 1}; got {own.tolist()}."
        )
    check_labels(labels, X.shape[0], len(own))
    above = all_ancestors(shape)
    sets = [above[node] for node in own]
    node_at = np.concatenate([[0], np.cumsum([len(nodes) for nodes in sets])])
    return HierarchyPaths(
        as_features(X),
        frozen(labels, np.int32),
        int(X.shape[1]),
        len(own),
        n_nodes,
        int(bias),
        check_alpha(alpha, n_nodes),
        frozen(node_at, np.int64),
        frozen(np.concatenate(sets), np.int32),
        frozen(own, np.int32),
        frozen(parents_of(shape) if is_forest(shape) else np.zeros(0), np.int32),
        frozen(shape.parent_at, np.int64),
        frozen(shape.parents, np.int32),
    )


def label_gram(data: HierarchyPaths) -> np.ndarray:
    """Return the sum of alpha over the nodes that two labels share, for all pairs of labels.

    Times |x_i|^2 (plus 1 with a bias) it is the inner product of phi(x_i, k) and phi(x_i, l).

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> shape = hierarchy_shape(4, child=[1, 2, 3], parent=[0, 0, 1])
    >>> label_gram(paths_data(np.eye(1), [0], shape, [2, 3], alpha=[0.5, 0.25, 0.5, 0.25]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    import scipy.sparse as sp

    parts = (data.alpha[data.nodes], data.nodes, data.node_at)
    weighted = sp.csr_matrix(parts, shape=(data.n_labels, data.n_nodes))
    flags = sp.csr_matrix((np.ones(len(data.nodes)), *parts[1:]), shape=weighted.shape)
    return np.asarray((weighted @ flags.T).todense())


@implements(workspace, HierarchyPaths)
def _workspace(data):
    """Return theta; the oracles need no room."""
    return PathPotentials(np.zeros((1, data.n_labels)), np.zeros((1, data.n_nodes))), ()


@implements(true_parts, HierarchyPaths)
def _true_parts(data):
    """Return the true labels, and the nodes of all labels for the costs that look at them."""
    is_leaf = np.ones(data.n_nodes, dtype=bool)
    is_leaf[np.delete(data.nodes, data.node_at[1:] - 1)] = False  # what is above some label
    return TrueParts(
        "paths",
        np.ones(len(data.labels), dtype=np.int64),
        truths(data),
        hierarchy=PricedHierarchy(
            data.alpha, is_leaf, data.node_at, data.nodes, data.parent_at, data.parents
        ),
    )


@implements(score_lengths, HierarchyPaths)
def _score_lengths(data):
    """Bound phi by its nodes: each adds the row of the example and a bias."""
    lengths, terms = row_lengths(data.features)
    most = float(np.diff(data.node_at).max(initial=0))
    # In the norm of the data, |phi|^2 is the sum of alpha along the path, times |x|^2.
    heaviest = float(np.add.reduceat(data.alpha[data.nodes], data.node_at[:-1]).max(initial=0.0))
    return np.sqrt(heaviest) * (lengths + data.has_bias), terms + 1.0 + most


# -- scores ----------------------------------------------------------------------------------------


@jitable
def add_up_paths(data, theta):
    """Fill theta.scores with the sums of theta.nodes over the nodes of each label.

    In a forest theta.nodes is overwritten by the sums from the roots down.
    """
    nodes = theta.nodes
    if data.parent.shape[0] > 0:
        for n in range(data.n_nodes):
            above = data.parent[n]
            if above >= 0:
                nodes[0, n] += nodes[0, above]
        for k in range(data.n_labels):
            theta.scores[0, k] = nodes[0, data.own[k]]
    else:
        for k in range(data.n_labels):
            total = 0.0
            for place in range(data.node_at[k], data.node_at[k + 1]):
                total += nodes[0, data.nodes[place]]
            theta.scores[0, k] = total


@implements(potentials, HierarchyPaths)
def _potentials(data, i, w, scale, theta):
    """Score every node, then every label."""
    score_nodes(data, i, w, scale, theta.nodes)
    add_up_paths(data, theta)


@implements(difference_potentials, HierarchyPaths)
def _difference_potentials(data, i, outputs, at, spare, theta):
    """Score labels at Psi_i(y): |x|^2 alpha_n for the true nodes, less that for those of y."""
    square = row_product(data.features, i, i) + data.has_bias
    for n in range(data.n_nodes):
        theta.nodes[0, n] = 0.0
    truth, label = data.labels[i], outputs[at]
    for place in range(data.node_at[truth], data.node_at[truth + 1]):
        n = data.nodes[place]
        theta.nodes[0, n] += square * data.alpha[n]
    for place in range(data.node_at[label], data.node_at[label + 1]):
        n = data.nodes[place]
        theta.nodes[0, n] -= square * data.alpha[n]
    add_up_paths(data, theta)


# -- joint features --------------------------------------------------------------------------------


@jitable
def add_label(data, i, label, scale, W):
    """Add alpha times x_i and the bias to the columns of all nodes of a label."""
    first, end = data.node_at[label], data.node_at[label + 1]
    add_columns(data.features, i, data.nodes, first, end - first, scale, data.alpha, W)
    if data.has_bias:
        for place in range(first, end):
            n = data.nodes[place]
            W[data.n_columns, n] += scale * data.alpha[n]


@implements(add_parts, HierarchyPaths)
def _add_parts(data, i, mu, scale, w):
    """Add the features of every label, times its share in mu."""
    W = w.reshape((data.n_columns + data.has_bias, data.n_nodes))
    for k in range(data.n_labels):
        if mu.scores[0, k] != 0.0:
            add_label(data, i, k, scale * mu.scores[0, k], W)


@implements(add_difference, HierarchyPaths)
def _add_difference(data, i, outputs, at, scale, w):
    """Add the features of nodes of the truth alone; subtract those of nodes of y alone."""
    W = w.reshape((data.n_columns + data.has_bias, data.n_nodes))
    truth, label = data.labels[i], outputs[at]
    a, a_end = data.node_at[truth], data.node_at[truth + 1]
    b, b_end = data.node_at[label], data.node_at[label + 1]
    while a < a_end or b < b_end:
        if b == b_end or (a < a_end and data.nodes[a] < data.nodes[b]):
            add_node(data, i, data.nodes[a], scale, W)
            a += 1
        elif a == a_end or data.nodes[b] < data.nodes[a]:
            add_node(data, i, data.nodes[b], -scale, W)
            b += 1
        else:  # a node of both
            a += 1
            b += 1


# -- lists of labels -------------------------------------------------------------------------------


@implements(add_listed, HierarchyPaths)
def _add_listed(data, i, mass, scale, w):
    """Add the features of all labels, times ``mass``."""
    W = w.reshape((data.n_columns + data.has_bias, data.n_nodes))
    for k in range(data.n_labels):
        if mass[k] != 0.0:
            add_label(data, i, k, scale * mass[k], W)


@implements(add_few, HierarchyPaths)
def _add_few(data, i, outputs, n_few, mass, scale, w):
    """Add the features of the labels that outputs[i] lists, times ``mass``."""
    W = w.reshape((data.n_columns + data.has_bias, data.n_nodes))
    for a in range(n_few):
        if mass[a] != 0.0:
            add_label(data, i, outputs[i, a], scale * mass[a], W)


@implements(few_scores, HierarchyPaths)
def _few_scores(data, i, outputs, n_few, w, scores):
    """Write the scores of the labels that outputs[i] lists: of the nodes on their paths alone."""
    W = w.reshape((data.n_columns + data.has_bias, data.n_nodes))
    longest = 1
    for a in range(n_few):
        longest = max(longest, data.node_at[outputs[i, a] + 1] - data.node_at[outputs[i, a]])
    own = np.empty(longest)
    for a in range(n_few):
        first, end = data.node_at[outputs[i, a]], data.node_at[outputs[i, a] + 1]
        total = 0.0
        while first < end:
            # Score a stretch of nodes at once; nodes with alpha = 0 have no weights.
            last = first
            while last < end and data.alpha[data.nodes[last]] != 0.0:
                last += 1
            count = last - first
            if count > 0:
                stretch = data.nodes[first:last].reshape((1, count))
                score_few(data.features, i, stretch, 0, count, W, own)
            for place in range(count):
                total += own[place]
                if data.has_bias:
                    total += W[data.n_columns, data.nodes[first + place]]
            first = last + 1
        scores[a] = total

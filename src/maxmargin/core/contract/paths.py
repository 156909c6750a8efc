"""Listed outputs that are paths of a forest: what solvers need that keep weights by node."""

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin.core.dispatch import generic, generic_with_default


class ListedPaths(NamedTuple):
    """Rows of features, and the paths of a forest of M nodes; nodes are numbered parents first.

    Output k is the path nodes[node_at[k] : node_at[k + 1]], from its root down. Its joint features
    are the row, with a constant 1 behind it if there is a bias, at each of its nodes; w is a matrix
    of shape (n_features, M), and what is added at node n is multiplied by alpha_n.
    """

    indptr: Any  # (n_examples + 1,) int64: entries of each row, in CSR form
    indices: Any  # int32
    values: Any  # float64 or float32
    n_features: int  # with the constant, which stands in each row where there is a bias
    node_at: Any  # (n_outputs + 1,) int64
    nodes: Any  # int32
    parent: Any  # (M,) int32, -1 for roots
    alpha: Any  # (M,) float64 >= 0


@generic_with_default
def has_paths(data):
    """Tell whether outputs are paths of a forest, so that it has `listed_paths`."""
    return False


@generic
def listed_paths(data):
    """Return rows and paths. (Python only.)"""

"""The norm of hierarchies, with a weight per node, and inner products of labels in it."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from maxmargin.core.contract import (
    ColumnWeights,
    ListedGram,
    ListedPaths,
    as_matrix,
    has_paths,
    implements,
    listed_gram,
    listed_norms,
    listed_paths,
    metric,
)
from maxmargin.features.rows import squared_norms
from maxmargin.structures.hierarchy.data import HierarchyData, HierarchyPaths
from maxmargin.structures.hierarchy.paths import label_gram

#: Up to so many labels their inner products are kept as a table.
MOST_TABULATED = 3000


@implements(metric, HierarchyData)
def _metric(data):
    """Return R = diag(1/alpha), alpha being that of the data, whenever it is read."""
    return ColumnWeights(data.alpha)


@implements(listed_norms, HierarchyPaths)
def _listed_norms(data):
    """Return |x_i|^2, plus 1 for the bias."""
    return squared_norms(data.features) + data.has_bias


@implements(listed_gram, HierarchyPaths)
def _listed_gram(data):
    """Return the sums of alpha over the nodes that two labels share."""
    if data.n_labels > MOST_TABULATED:
        return ListedGram(
            np.zeros((0, 0)), data.node_at.copy(), data.nodes.copy(), np.array(data.alpha)
        )
    return ListedGram(label_gram(data), np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0))


@implements(has_paths, HierarchyPaths)
def _has_paths(data):
    """Tell whether no node has several parents."""
    return len(data.parent) > 0


@implements(listed_paths, HierarchyPaths)
def _listed_paths(data):
    """Return the rows in CSR form, with the constant behind them, and the paths of labels."""
    X = sp.csr_matrix(as_matrix(data.features, data.n_columns))
    if data.has_bias:
        ones = sp.csr_matrix(np.ones((X.shape[0], 1), dtype=X.dtype))
        X = sp.hstack([X, ones], format="csr")
    return ListedPaths(
        X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, X.shape[1],
        data.node_at, data.nodes, data.parent, data.alpha,
    )  # fmt: skip

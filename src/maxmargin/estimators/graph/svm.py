"""Labelled graphs: one label per node, learnt together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Unpack

from maxmargin.estimators.face import Common
from maxmargin.estimators.graph.prediction import GraphPrediction
from maxmargin.persistence import register

__all__ = ["GraphSVM", "TreeSVM"]


@register
class TreeSVM(GraphPrediction):
    """Max-margin labelling of the nodes of trees and forests, exactly.

    Takes what `GraphSVM` takes, as long as no graph has a cycle; a cycle is refused, and named. The
    best labelling, the k best and marginals are exact, and so are all surrogates and searches.

    Parameters
    ----------
    cost : {"hamming", "zero_one", "edge"} or cost object
        Task loss: the number of wrong nodes, 1 for any mistake, wrong children of right parents and
        wrong roots (`EdgeLoss`), or an object such as ``CostMatrix(...)``.
    classes : iterable of labels or None
        All labels there are, in the order of `classes_`, also ones that do not occur in y. None:
        those of y, sorted.
    class_weight : dict of label to weight, "balanced" or None
        Multiplies the cost of each node by the weight of its true label.
    pairs : {"full", "symmetric", "antisymmetric", "potts"}
        What the table of an edge is; see `GraphSVM`.
    shared : bool
        Whether nodes share weights, and edges do; see `GraphSVM`.
    fit_intercept, fit_edge_intercept : bool
        Whether nodes, and edges, have a constant feature besides their own. Edges without features
        always have it.
    kernel, cache_size
        As in `GraphSVM`: nodes compared by a kernel, and the MB that its products may take.

    Attributes
    ----------
    coef_, intercept_, edge_coef_, edge_intercept_, edge_tables_, classes_, result_
        As of `GraphSVM`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import TreeSVM
    >>> X = [(np.eye(2)[[0, 1, 1]], [(0, 1), (0, 2)]), (np.eye(2)[[1, 0]], [(0, 1)])]
    >>> y = [["a", "b", "b"], ["b", "a"]]
    >>> tagger = TreeSVM(random_state=0).fit(X, y)
    >>> [labels.tolist() for labels in tagger.predict(X)]
    [['a', 'b', 'b'], ['b', 'a']]
    """

    only_forests: ClassVar[bool] = True

    def __init__(
        self,
        *,
        classes: Iterable[Any] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        pairs: str = "full",
        shared: bool = True,
        fit_intercept: bool = True,
        fit_edge_intercept: bool = True,
        kernel: Any = None,
        cache_size: float = 1000.0,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(**common)
        self.classes = classes
        self.class_weight = class_weight
        self.pairs = pairs
        self.shared = shared
        self.fit_intercept = fit_intercept
        self.fit_edge_intercept = fit_edge_intercept
        self.kernel = kernel
        self.cache_size = cache_size


@register
class GraphSVM(GraphPrediction):
    """Max-margin labelling of the nodes of graphs.

    The score of labels y for a graph x is linear in the weights,

        sum_v coef_[y_v] . x_v + intercept_[y_v] + sum_(a, b) T_ab[y_a, y_b] + hyperedges,

    where the table T_ab of an edge is the sum of `edge_tables_`, times the features of the edge.
    The weights minimise lam/2 |w|^2 + 1/n sum_i s_i max_y psi(h_i(y), g_i(y)), lam = 1/(C n).

    One element of X is one graph: ``(node_features, edges)``, ``(node_features, edges,
    edge_features)``, a networkx graph with the attributes ``features``, ``type`` and ``weight``, or
    a `maxmargin.Graph`. Features are dense or CSR. One element of y holds one label per node, of
    any type; None or -1 means unknown (but -1 is a label if `classes` names it). Unknown nodes are
    left out of training together with their edges; at prediction they are there.

    Graphs without cycles are solved exactly. For others the most violating labelling is searched by
    message passing, which also bounds what it may have missed, and then by branch and bound. The
    gap of `result_` counts what is left open; ``result_.search_gap`` says how much that is, and
    ``result_.n_open`` in how many graphs.

    Parameters
    ----------
    cost : {"hamming", "zero_one", "edge"} or cost object
        Task loss: the number of wrong nodes, or an object such as ``CostMatrix(...)``. The weights
        of nodes, see `maxmargin.Graph`, multiply it. "zero_one" is for integral training. "edge"
        prices edges, see `EdgeLoss`.
    classes : iterable of labels or None
        All labels there are, in the order of `classes_`, also ones that do not occur in y. None:
        those of y, sorted.
    class_weight : dict of label to weight, "balanced" or None
        Multiplies the cost of each node by the weight of its true label.
    pairs : {"full", "symmetric", "antisymmetric", "potts"}
        What the table of an edge is, for each of its features: a weight per pair of labels; the
        same for both orders of a pair; the same with opposite signs; or one weight if both labels
        are equal, and 0 elsewhere.
    hyper_pairs : {"full", "potts"}
        What the table of a hyperedge is: a weight per tuple of labels, or one if all are equal.
    shared : bool
        True: all nodes of one type share weights, and all edges of one type. False: each node and
        edge has its own, and all graphs must have the same nodes and edges.
    fit_intercept, fit_edge_intercept : bool
        Whether nodes, and edges and hyperedges, have a constant feature besides their own. Edges
        without features always have it.
    training : {"auto", "integral", "relaxed"}
        Which outputs compete in training: labellings, or the fractional ones of the local polytope,
        a relaxation that can be solved exactly. "auto" is "integral".
    max_branches : int
        Most nodes of branch and bound in one search; 0 leaves it out.
    memory_limit : float
        Megabytes for the messages that training keeps of each graph, from which the next search in
        it starts.
    kernel : None, str, kernel or callable
        None learns weights of the features of nodes. "linear", "rbf", "poly", an object of
        `maxmargin.features.kernels` or a callable (X, Y) -> products compares nodes in their
        place: weights are coefficients of training nodes. Edges keep weights of their features.
        "precomputed": the features of a node are its products with all training nodes, graph
        after graph. "subsequence": the nodes of a graph are a list of strings.
    cache_size : float
        MB that columns of the Gram matrix of the training nodes may take.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features), or (node types, n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,), or (node types, n_labels)
    edge_coef_ : ndarray of shape (edge types, n_edge_features, n_columns)
    edge_intercept_ : ndarray of shape (edge types, n_columns)
        n_columns is the number of weights of a table, n_labels^2 if `pairs` is "full".
    edge_tables_ : ndarray of shape (edge types, n_edge_features + 1, n_labels, n_labels)
        The tables that follow from them, the constant last.
    hyper_coef_ : list of ndarrays, one per type of hyperedge
    classes_ : ndarray of shape (n_labels,)
    result_ : Result
        Weights, primal, dual, gap, status, history.

    Examples
    --------
    A triangle and a pair, whose neighbours differ:

    >>> import numpy as np
    >>> from maxmargin import GraphSVM
    >>> X = [(np.eye(3), [(0, 1), (1, 2), (2, 0)]), (np.eye(3)[[1, 0]], [(0, 1)])]
    >>> y = [["a", "b", "c"], ["b", "a"]]
    >>> model = GraphSVM(random_state=0).fit(X, y)
    >>> [labels.tolist() for labels in model.predict(X)]
    [['a', 'b', 'c'], ['b', 'a']]
    >>> model.result_.status
    'converged'
    """

    def __init__(
        self,
        *,
        classes: Iterable[Any] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        pairs: str = "full",
        hyper_pairs: str = "full",
        shared: bool = True,
        fit_intercept: bool = True,
        fit_edge_intercept: bool = True,
        training: str = "auto",
        max_branches: int = 100,
        memory_limit: float = 256.0,
        kernel: Any = None,
        cache_size: float = 1000.0,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(**common)
        self.classes = classes
        self.class_weight = class_weight
        self.pairs = pairs
        self.hyper_pairs = hyper_pairs
        self.shared = shared
        self.fit_intercept = fit_intercept
        self.fit_edge_intercept = fit_edge_intercept
        self.training = training
        self.max_branches = max_branches
        self.memory_limit = memory_limit
        self.kernel = kernel
        self.cache_size = cache_size

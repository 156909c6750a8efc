"""Labelled graphs: one label per node, learnt together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.face import Common
from maxmargin.estimators.graph.answers import (
    NOTHING_ALLOWED,
    Answers,
    Found,
    check_labels_exist,
    check_marginals_exist,
    check_scores_exist,
    warn_of_approximations,
    warn_of_no_convergence,
    warn_of_no_proof,
)
from maxmargin.estimators.graph.choices import check_name, solver_of
from maxmargin.estimators.graph.hooks import GraphHooks
from maxmargin.estimators.graph.outputs import for_each_graph
from maxmargin.estimators.topk import TopK
from maxmargin.inference._checks import check_count, check_temperature
from maxmargin.inference.graph.marginals import MAX_METHODS as SCORE_METHODS
from maxmargin.inference.graph.marginals import METHODS as MARGINAL_METHODS
from maxmargin.inference.graph.public import graph_marginals, graph_max_marginals, k_best_graph
from maxmargin.inputs.graph_constraints import read_rules
from maxmargin.persistence import register
from maxmargin.rounding import Rounding
from maxmargin.training.settings import n_threads

__all__ = ["GraphSVM", "TreeSVM"]


class _Graphs(GraphHooks, BaseSVM):
    """What both estimators of graphs offer besides fit and predict."""

    beside: ClassVar[tuple[str, ...]] = ("fixed", "allowed")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        return tags

    def predict(
        self,
        X: Any,
        *,
        method: str | None = None,
        rounding: str | Rounding | None = None,
        constraints: Any = None,
        relaxation: str = "auto",
        polish_by: str | None = "local",
        n_draws: int = 1,
        seed: int = 0,
        **beside: Any,
    ) -> list[np.ndarray]:
        """Return the best labelling of every graph.

        Parameters
        ----------
        X : list of graphs
        method : str or None
            None: as in training, exact without cycles, else message passing and branch and bound. A
            name of a method of `maxmargin.inference.solve_graph`, such as "auto" or "junction":
            each graph is solved by it.
        rounding : str, Rounding or None
            "max", "complete", "interval", "kleinberg_tardos", "conditional", or an object of
            `maxmargin.rounding`: solve a relaxation and round its point, in place of a search.
            Where the point is a labelling, that is the answer.
        constraints : factors, list with one entry per graph, callable or None
            Rules over several nodes, of `maxmargin.inference.graph.factors`, for example
            ``ExactlyOne((0, 3), on="face")``. Labels are called by their names; tables are in the
            order of `classes_`. One factor or several hold for all graphs; a list of None or
            factors says it for each graph; a callable is given X[i] and returns its factors.
        relaxation, polish_by, n_draws, seed
            Of the rounding; see `maxmargin.rounding.solve_rounded`.

        Returns
        -------
        list of arrays of labels, one per graph
            With a method, a rounding or constraints it is an `Answers`: its attributes `methods`
            and `is_exact` say of each graph how its labelling was got, and whether it is proved to
            be the best.
        """
        extra = {"relaxation": relaxation, "polish_by": polish_by, "n_draws": n_draws, "seed": seed}
        solve = solver_of(method, rounding, constraints, extra)
        if solve is None:
            return list(super().predict(X, **beside))
        found = self._for_each(
            lambda graph: check_labels_exist(solve(graph), self.classes_), X, beside, constraints
        )
        return Answers(found)

    def predict_topk(self, X: Any, k: int = 2, *, constraints: Any = None, **beside: Any) -> TopK:
        """Return the k best labellings of every graph, best first, and their scores.

        Exact for graphs without cycles and for graphs with a small junction tree. For others each
        labelling is the best that a bounded search found among those not listed before, and a
        warning names the graphs where that is not proved.

        Parameters
        ----------
        X : list of graphs
        k : int >= 1
        constraints : as of `predict`

        Returns
        -------
        TopK : outputs, a list with a list of label arrays per graph, as many as there are if fewer
            than k; and scores, a list with a float64 array per graph. The attributes `methods` and
            `is_exact` of outputs say how they were got, and whether they are proved to be the best
        """
        k = check_count("k", k)

        def best(graph: Any) -> Found:
            answers = k_best_graph(graph, k)
            if not answers:
                raise ValueError(NOTHING_ALLOWED)
            outputs = [self.classes_[answer.labels] for answer in answers]
            scores = np.array([answer.score for answer in answers])
            is_exact = all(answer.is_exact for answer in answers)
            return Found(TopK(outputs, scores), answers[0].method, is_exact)

        found = self._for_each(best, X, beside, constraints)
        warn_of_no_proof(found)
        outputs = Answers(own._replace(value=own.value.outputs) for own in found)
        return TopK(outputs, [own.value.scores for own in found])

    def predict_marginals(
        self,
        X: Any,
        *,
        temperature: float = 1.0,
        method: str = "auto",
        constraints: Any = None,
        **beside: Any,
    ) -> list[np.ndarray]:
        """Return the marginals of p(y) ~ exp(score(y) / temperature) for every graph.

        A max-margin machine is not trained for probabilities: calibrate before trusting them.

        Parameters
        ----------
        X : list of graphs
        temperature : float > 0
        method : {"auto", "exact", "loopy", "smoothed"}
            "exact": a graph whose junction tree is too large is refused. "loopy" and "smoothed" are
            approximate; see `maxmargin.inference.graph_marginals`. "auto": exact where that fits,
            else "loopy", with a warning.
        constraints : as of `predict`

        Returns
        -------
        list of arrays of shape (n_nodes, n_labels), p(y_v = k) at [v, k]
            Its attributes `methods` and `is_exact` say how those of each graph were got.
        """
        check_name("method", method, MARGINAL_METHODS)
        temperature = check_temperature(temperature)
        found = self._for_each(
            lambda graph: check_marginals_exist(graph_marginals(graph, temperature, method=method)),
            X,
            beside,
            constraints,
        )
        if method == "auto":
            warn_of_approximations(found, "the marginals", " belief propagation")
        warn_of_no_convergence(found)
        return Answers(found)

    def decision_function(
        self, X: Any, *, method: str = "auto", constraints: Any = None, **beside: Any
    ) -> list[np.ndarray]:
        """Return the max-marginals of every graph.

        Parameters
        ----------
        X : list of graphs
        method : {"auto", "exact", "bound"}
            "exact": a graph whose junction tree is too large is refused. "bound": in their place
            numbers that they never exceed, by message passing. "auto": exact where that fits, else
            "bound", with a warning.
        constraints : as of `predict`

        Returns
        -------
        list of arrays of shape (n_nodes, n_labels): at [v, k] the best score of a labelling that
        has label k at node v
            Its attributes `methods` and `is_exact` say how those of each graph were got.
        """
        check_name("method", method, SCORE_METHODS)
        found = self._for_each(
            lambda graph: check_scores_exist(graph_max_marginals(graph, method=method)),
            X,
            beside,
            constraints,
        )
        if method == "auto":
            warn_of_approximations(found, "the max-marginals", "s of message passing")
        return Answers(found)

    def _for_each(
        self, answer: Callable[..., Found], X: Any, beside: dict[str, Any], constraints: Any
    ) -> list[Found]:
        request = self._question(X, **beside)
        data = self._encode_inputs(request)
        rules = read_rules(constraints, X, self._reader.labels)
        return for_each_graph(data, self.result_.w, answer, n_threads(self.n_jobs), rules)

    @property
    def edge_tables_(self) -> np.ndarray:
        """The tables of edges that follow from the weights.

        An array of shape (edge types, n_edge_features + 1, n_labels, n_labels), the constant last.
        """
        check_is_fitted(self, "result_")
        columns = np.concatenate(
            [self.edge_coef_, self.edge_intercept_[:, None]], axis=1, dtype=np.float64
        )
        pair, n_labels = self._empty.pair, len(self.classes_)
        tables = columns[..., np.asarray(pair.column)] * np.asarray(pair.sign)
        return tables.reshape(*columns.shape[:2], n_labels, n_labels)


@register
class TreeSVM(_Graphs):
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
class GraphSVM(_Graphs):
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
    gap of `result_` counts what is left open; ``result_.search_gap`` says how much that is.

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

"""HierarchySVM: a place in a hierarchy, or several, for each row of X."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from sklearn.base import ClassifierMixin

from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.face import Common
from maxmargin.estimators.hierarchy.hooks import HierarchyHooks
from maxmargin.estimators.topk import TopK
from maxmargin.inputs.checks import check_number
from maxmargin.persistence import register
from maxmargin.training.partial import online_only


@register
class HierarchySVM(HierarchyHooks, ClassifierMixin, BaseSVM):
    """A place in a tree or a directed acyclic graph, or a set of places, learnt jointly.

    Every node n has weights w_n. The score of an output y, a set of nodes with all nodes above
    them, is the sum of w_n.x + b_n over its nodes. Minimises, with lam = 1/(C n) and
    h_i(y) = score(x_i, y) - score(x_i, y_i),

        lam/2 sum_n |(w_n, b_n)|^2 / alpha_n + 1/n sum_i s_i max_y psi( h_i(y), cost(y, y_i) )

    Predictions always agree with the hierarchy. Nodes that are on no path of a training label have
    no weights, nor have nodes that are on all of them.

    Parameters
    ----------
    hierarchy : Hierarchy, networkx.DiGraph, dict, list of edges (child, parent) or paths, or None
        Which node is below which; see `Hierarchy.of`. Pairs may be edges or paths of two levels:
        they are read as y fits, and refused if y fits both or neither (`Hierarchy.from_edges` and
        `Hierarchy.from_paths` say which). None: y has paths, and it is read off them.
    space : {"auto", "leaf", "path", "paths", "closed"}
        The outputs there are: "leaf" one path that ends in a leaf; "path" one that may end at any
        node; "paths" one or more paths that end in leaves; "closed" any set of nodes that has all
        nodes above its own, the empty one too. "auto": the first of "leaf", "path" and "closed"
        that holds all labels.
    separator : str
        Joins the levels of a path, as "/" in "a/b/c".
    model : {"nodes", "edges", "paths"}
        What has weights. "nodes": each node. "edges": each edge, a block for every labelling of its
        ends, in or out; "paths": partial paths of three nodes or more too; on a DAG a node with all
        nodes above it, ten at most. The last two have space="closed", the costs "hamming" (which
        "auto" is), "leaf_hamming", "zero_one", "edge" and "path", and take no alpha. Trees are
        solved exactly. On a DAG the best set is found by message passing and branch and bound, all
        else by a junction tree, refused where that is too large.
    alpha : {"auto", "maxmin", "none", "rho", "flat", "shared"} or array of shape (n_nodes,)
        The weights of the nodes in the norm. They sum to 1 along the path of every label with
        "maxmin", where the smallest is as large as can be, and "rho", where the sum of
        alpha ** rho is least; "none" has 1 at every node, "flat" 1 at the labels and 0 above.
        "auto" is "maxmin" where an output is one path, else "none".
        "shared" learns them, by `sdca` or `bcfw`: primal, dual and gap of `result_` are then
        those of the joint problem over weights and alpha. An array has one number for each node of
        the hierarchy; if it does not sum to 1 along the paths, a warning says so.
    rho : float > 1
        Used by alpha="rho", and by "shared", which starts from it.
    merge : bool
        Whether nodes that are on the same paths share one weight alpha, so that it does not matter
        how often a node is repeated.
    cost : str or object
        Task loss. "auto" is "normalized_hierarchical" where an output is one path, the root of the
        sum of alpha over the nodes that are wrong, else "node_hamming", their number. Others are
        "zero_one", "tree_distance", "leaf_hamming" and, for single labels, `CostMatrix`; and
        "edge", wrong nodes below a parent that is right (once for each such parent) and wrong
        nodes without parents, which on trees is "path", wrong nodes with all above them right, for
        single labels of a DAG too. Weights in a cost are those of the whole hierarchy: one per node
        in the order of `hierarchy_.nodes` (`NodeHamming`), or per edge in that of
        `hierarchy_.edges()` (`EdgeLoss`).
    missed_weight : float > 0
        Of sets of nodes: how many times a node that is missed counts beside one too many, in score
        and cost, so in the loss. Hinge losses that count all nodes alike put the cut where a node
        is as likely there as not, which for most nodes of a large hierarchy is nowhere. With
        missed_weight the cut is at a probability of about 1 / (1 + missed_weight): try 4 to 8 where
        micro-F1 is asked for, and choose by held-out rows. (A larger price in `cost` alone moves
        the margin, not the cut.)
    fit_intercept : bool
    missing : {"indicator", "mean", "zero", "error"}
        What is done about values that are missing, NaN; see `MulticlassSVM`.
    min_count, n_hashed_features : int, int or None
        For rows that are dictionaries or lists of names; see `FeatureTable`.
    kernel : None, str, kernel or callable
        None learns weights of features. "linear", "rbf", "poly", "precomputed" or an object of
        `maxmargin.features.kernels` compares rows in their place, and weights are coefficients
        of training rows; "subsequence" compares strings, a callable (X, Y) -> products any rows.
    cache_size : float
        MB that columns of the Gram matrix of the training rows may take.

    Attributes
    ----------
    coef_ : ndarray of shape (n_nodes, n_columns), or (n_edges, n_columns, 2, 2)
        Entry [e, f, a, b] of an edge field is the weight of feature f where the parent of edge e is
        in (a = 1) or out and its child is in (b = 1) or out.
    intercept_ : ndarray of shape (n_nodes,), or (n_edges, 2, 2)
    edges_ : ndarray of shape (n_edges, 2), of model="edges" and "paths"
        Parent and child of each edge; None is the parent of nodes without one.
    nodes_ : ndarray of shape (n_nodes,)
        The names of the nodes that have weights. A label above another has a leaf of its own,
        which is here by the same name.
    alpha_ : ndarray of shape (n_nodes,)
    classes_ : ndarray
        The labels where an output is one path, else the nodes.
    hierarchy_ : Hierarchy
        All nodes, those without weights too.
    space_ : str
        The space that was learnt.
    columns_ : Columns
    result_ : Result
    features_ : FeatureTable or None

    Examples
    --------
    >>> X = [[2.0, 0.0], [1.0, 1.0], [0.0, 2.0], [-2.0, 0.0], [-1.0, -1.0]]
    >>> y = ["pet/cat", "pet/cat", "pet/dog", "wild/fox", "wild/fox"]
    >>> model = HierarchySVM(C=10, random_state=0).fit(X, y)
    >>> model.predict(X).tolist() == y
    True
    >>> model.hierarchy_
    Hierarchy of 5 nodes, 3 of them leaves, depth 2: a forest of 2 trees
    >>> model.predict([[-1.0, 0.0]], fixed=["pet"]).tolist()[0].startswith("pet/")
    True
    """

    defaults: ClassVar[Common] = {"cost": "auto"}
    beside: ClassVar[tuple[str, ...]] = ()
    score = BaseSVM.score  # not that of ClassifierMixin, which knows no sets

    def __init__(
        self,
        *,
        hierarchy: Any = None,
        space: str = "auto",
        separator: str = "/",
        model: str = "nodes",
        alpha: Any = "auto",
        rho: float = 2.0,
        merge: bool = False,
        missed_weight: float = 1.0,
        fit_intercept: bool = True,
        missing: str = "indicator",
        min_count: int = 1,
        n_hashed_features: int | None = None,
        kernel: Any = None,
        cache_size: float = 1000.0,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(**common)
        self.hierarchy = hierarchy
        self.space = space
        self.separator = separator
        self.model = model
        self.alpha = alpha
        self.rho = rho
        self.merge = merge
        self.missed_weight = missed_weight
        self.fit_intercept = fit_intercept
        self.missing = missing
        self.min_count = min_count
        self.n_hashed_features = n_hashed_features
        self.kernel = kernel
        self.cache_size = cache_size

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        tags.target_tags.required = True
        return tags

    @online_only
    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        classes: Iterable[Any] | None = None,
        sample_weight: Any = None,
        lam: float | None = None,
        n_total: int | None = None,
        **beside: Any,
    ) -> Self:
        """Make one pass over a batch of examples, going on from the earlier ones.

        Only with an online solver. The first call must know all labels there will be: by the
        parameter `hierarchy`, or by `classes`, a list of nodes or paths.

        Parameters
        ----------
        X, y, sample_weight : a batch of examples, as in `fit`
        classes : labels or None
        lam, n_total : float, int or None
            Regularisation, or the number of examples there will be in all.
        """
        if classes is None and not hasattr(self, "result_"):
            classes = self.hierarchy
            if classes is None:
                raise ValueError(
                    "the first call of partial_fit must know all labels: give the parameter "
                    "hierarchy, or classes."
                )
        return super().partial_fit(
            X, y, classes=classes, sample_weight=sample_weight, lam=lam, n_total=n_total, **beside
        )

    # -- using -----------------------------------------------------------------------------------

    def predict(
        self, X: Any, *, fixed: Any = None, threshold: float | None = None, **beside: Any
    ) -> Any:
        """Return the best output of every row, in the form that y had at fit.

        Parameters
        ----------
        X : as in `fit`
        fixed : list or None
            What is known, one entry per row: None, a node that is in the output, a collection of
            such nodes, or a dictionary from nodes to True (in the output) or False (not in it).
        threshold : float or None
            Keep only nodes whose `node_scores` are above it: those nodes of the best output without
            which all outputs score lower by more than this. Of one path, whose first node is always
            kept, the threshold must be at least 0; of sets it may be negative, which adds nodes.
        """
        rows = self._encode_inputs(self._question(X, **beside))
        known = self._known(fixed, rows.shape[0])
        flags = self._flags(rows, known)
        if threshold is None:
            return self._reader.write(flags)
        if known is not None:
            raise ValueError("fixed and threshold cannot be used together.")
        return self._reader.write(self._cut(rows, flags, threshold))

    def _cut(self, rows: Any, flags: np.ndarray, threshold: float) -> np.ndarray:
        """Return the nodes whose margin is above a threshold."""
        has_one = self._reader.space.has_one
        value = check_number("threshold", threshold, 0.0 if has_one else -np.inf, closed=True)
        found = [block.differences() > value for block in self._blocks(rows)]
        if not found:
            return flags
        kept = np.concatenate(found)
        if has_one:
            kept &= flags
            if len(self._reader.space.always) == 0:  # else the nodes of all labels are kept
                kept[np.arange(len(kept)), flags.argmax(axis=1)] = True
        return kept

    def predict_topk(self, X: Any, k: int = 2, *, fixed: Any = None, **beside: Any) -> TopK:
        """Return the k best outputs of every row, best first, and their scores.

        Returns
        -------
        TopK : outputs, for each row what `predict` would return for its k best outputs (fewer where
            there are fewer), and a list of arrays of scores
        """
        check_number("k", k, 1, closed=True, integer=True)
        rows = self._encode_inputs(self._question(X, **beside))
        known = self._known(fixed, rows.shape[0])
        outputs, scores = [], []
        for block in self._blocks(rows, known):
            flags, values = block.k_best(int(k))
            for row, value in zip(flags, values, strict=True):
                possible = np.isfinite(value)
                outputs.append(self._reader.write(row[possible]))
                scores.append(value[possible])
        return TopK(outputs, scores)

    def decision_function(self, X: Any, **beside: Any) -> np.ndarray:
        """Return the scores of `classes_`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Where an output is one path, the scores of the labels; for two labels of shape
            (n_samples,), the second less the first, as scikit-learn has it. Else of each node the
            best score of an output with it, less the best without it. (In a DAG that takes two
            minimum cuts or programmes for each node: it is slow.)
        """
        rows = self._encode_inputs(self._question(X, **beside))
        space = self._reader.space
        if not space.has_one:
            return self._differences(rows)[:, ~space.is_stop]
        found = [block.labels() for block in self._blocks(rows)]
        scores = np.concatenate(found) if found else np.zeros((0, len(self.classes_)))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _differences(self, rows: Any) -> np.ndarray:
        found = [block.differences() for block in self._blocks(rows)]
        return np.concatenate(found) if found else np.zeros((0, len(self._reader.space)))

    def node_scores(self, X: Any, **beside: Any) -> np.ndarray:
        """Return for every node of `hierarchy_` how much better outputs with it are.

        Returns
        -------
        ndarray of shape (n_samples, number of nodes)
            The best score of an output with the node, less the best without it; inf for nodes that
            were in every label at fit, -inf for those that were in none. A node never has more
            than those above it.
        """
        return self._by_node(self._differences, X, -np.inf, np.inf, **beside)

    def predict_marginals(self, X: Any, *, temperature: float = 1.0, **beside: Any) -> np.ndarray:
        """Return p(node is in the output) under p(y) ~ exp(score(y) / temperature).

        A max-margin machine is not trained for probabilities: calibrate before trusting them.

        Returns
        -------
        ndarray of shape (n_samples, number of nodes of `hierarchy_`)
        """
        value = check_number("temperature", temperature)

        def marginals(rows: Any) -> np.ndarray:
            found = [block.marginals(value) for block in self._blocks(rows)]
            return np.concatenate(found) if found else np.zeros((0, len(self._reader.space)))

        return self._by_node(marginals, X, 0.0, 1.0, **beside)

    def _by_node(self, values: Any, X: Any, never: float, always: float, **beside: Any) -> Any:
        rows = self._encode_inputs(self._question(X, **beside))
        space = self._reader.space
        found = np.full((rows.shape[0], len(self.hierarchy_)), never)
        plain = ~space.is_stop
        found[:, space.node[plain]] = values(rows)[:, plain]
        found[:, space.always] = always
        return found

    def _predict(self, request: Any) -> Any:
        return self._reader.write(self._flags(self._encode_inputs(request)))

"""What estimators of graphs offer besides fit: labels, scores, k best, marginals, max-marginals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.graph.answers import (
    Answers,
    Found,
    check_any_labels,
    check_labels_exist,
    check_marginals_exist,
    check_scores_exist,
    warn_of_approximations,
    warn_of_no_convergence,
    warn_of_no_proof,
    warn_of_open_searches,
)
from maxmargin.estimators.graph.choices import (
    TIME_LIMIT,
    aims_at_proof,
    check_name,
    check_time_limit,
    solver_of,
)
from maxmargin.estimators.graph.hooks import GraphHooks
from maxmargin.estimators.graph.outputs import for_each_graph
from maxmargin.estimators.graph.scores import cost_judge
from maxmargin.estimators.topk import TopK
from maxmargin.inference._checks import check_count, check_temperature
from maxmargin.inference.graph.marginals import MAX_METHODS as SCORE_METHODS
from maxmargin.inference.graph.marginals import METHODS as MARGINAL_METHODS
from maxmargin.inference.graph.public import graph_marginals, graph_max_marginals, k_best_graph
from maxmargin.inputs.graph_constraints import read_rules
from maxmargin.rounding import Rounding
from maxmargin.structures.graph.messages import left_open, way_of_search
from maxmargin.training.settings import n_threads

__all__ = ["GraphPrediction"]


class GraphPrediction(GraphHooks, BaseSVM):
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
        time_limit: float | None = TIME_LIMIT,
        **beside: Any,
    ) -> Answers:
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
        time_limit : float or None
            Of a method, a rounding and constraints: the most seconds of wall clock per graph, None
            for no limit. The answer is then the best that was found. It is looked at between the
            steps of a search, so that large graphs may take somewhat longer. A search as in
            training has none; `max_branches` limits it.

        Returns
        -------
        Answers : a list of arrays of labels, one per graph
            Its attributes `methods`, `is_exact` and `gaps` say of each graph how its labelling was
            got, whether it is proved to be the best, and how much higher the best can score. A
            warning names the graphs where a proof was sought (as in training, or by the methods
            "auto", "branch" and "ilp") and not found.
        """
        extra = {"relaxation": relaxation, "polish_by": polish_by, "n_draws": n_draws, "seed": seed}
        solve = solver_of(method, rounding, constraints, extra, time_limit)
        if solve is None:
            data = self._encode_inputs(self._question(X, **beside))
            cells, gaps = self._searched(data)
            labels, way = self._decode(cells, data), way_of_search(data)
            each = zip(labels, gaps, strict=True)
            return Answers(Found(own, way, gap == 0.0, gap=gap) for own, gap in each)
        check_is_fitted(self, "result_")
        found = self._solved(solve, self.classes_, X, beside, constraints)
        if aims_at_proof(method, rounding):
            warn_of_no_proof(found, "the labellings", "no other scores higher")
        return Answers(found)

    def score(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        method: str | None = None,
        rounding: str | Rounding | None = None,
        constraints: Any = None,
        relaxation: str = "auto",
        polish_by: str | None = "local",
        n_draws: int = 1,
        seed: int = 0,
        time_limit: float | None = TIME_LIMIT,
        **beside: Any,
    ) -> float:
        """Return 1 - the mean of the cost of predictions as a share of the largest cost possible.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        method, rounding, constraints, relaxation, polish_by, n_draws, seed, time_limit
            How predictions are made; as of `predict`.
        """
        check_is_fitted(self, "result_")
        extra = {"relaxation": relaxation, "polish_by": polish_by, "n_draws": n_draws, "seed": seed}
        solve = solver_of(method, rounding, constraints, extra, time_limit)
        request = self._request(X, y, sample_weight, **beside)
        data = self._encode_inputs(request)
        judge = cost_judge(self._options(), self._reader.labels, request, data.graphs)
        if solve is None:
            return judge(self._searched(data)[0])
        codes = np.arange(len(self.classes_))
        found = self._solved(solve, codes, X, beside, constraints)
        if aims_at_proof(method, rounding):
            warn_of_no_proof(found, "the labellings", "no other scores higher")
        return judge(np.concatenate([own.value for own in found]))

    def predict_topk(
        self,
        X: Any,
        k: int = 2,
        *,
        constraints: Any = None,
        time_limit: float | None = TIME_LIMIT,
        **beside: Any,
    ) -> TopK:
        """Return the k best labellings of every graph, best first, and their scores.

        Exact for graphs without cycles and for graphs with a small junction tree. For others each
        labelling is the best that a bounded search found among those not listed before, and a
        warning names the graphs where that is not proved.

        Parameters
        ----------
        X : list of graphs
        k : int >= 1
        constraints : as of `predict`
        time_limit : float or None
            The most seconds per graph, all k labellings together; None for no limit. Where it is
            over the list ends, with fewer than k labellings.

        Returns
        -------
        TopK : outputs, a list with a list of label arrays per graph, as many as there are if fewer
            than k; and scores, a list with a float64 array per graph. The attributes `methods` and
            `is_exact` of outputs say how they were got, and whether they are proved to be the best
        """
        k = check_count("k", k)
        check_time_limit(time_limit)

        def best(graph: Any) -> Found:
            answers = k_best_graph(graph, k, time_limit=time_limit)
            check_any_labels(answers)
            outputs = [self.classes_[answer.labels] for answer in answers]
            scores = np.array([answer.score for answer in answers])
            is_whole = len(answers) == k or answers.bound == -np.inf
            is_exact = is_whole and all(answer.is_exact for answer in answers)
            return Found(TopK(outputs, scores), answers[0].method, is_exact)

        found = self._for_each(best, X, beside, constraints)
        warn_of_no_proof(found, "the k best labellings", "there are none besides or between them")
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

    def _searched(self, data: Any) -> tuple[np.ndarray, np.ndarray]:
        """Search all graphs as in training; return cells, and how much better others can be."""
        cells = self._best_cells(data)
        self._check_possible(cells, data)
        gaps = left_open(data)
        warn_of_open_searches(gaps, self.max_branches)
        return cells, gaps

    def _solved(
        self,
        solve: Callable[[Any], Any],
        names: np.ndarray,
        X: Any,
        beside: dict[str, Any],
        constraints: Any,
    ) -> list[Found]:
        """Return the labelling of each graph, by the names of its labels."""
        return self._for_each(
            lambda graph: check_labels_exist(solve(graph), names), X, beside, constraints
        )

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

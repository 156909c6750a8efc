"""Graphs: what X, y and w mean, for all that estimators share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from maxmargin.core import predict
from maxmargin.costs import Hamming, WholeCost, ZeroOne
from maxmargin.estimators.graph.encoding import GraphOptions, GraphReader, GraphTables, graph_task
from maxmargin.estimators.graph.outputs import GraphWeights, split_weights
from maxmargin.estimators.graph.scores import GRAPH_METRICS, cost_judge
from maxmargin.estimators.graph.state import reader_state, stored_reader
from maxmargin.estimators.hooks import Hooks
from maxmargin.features.kernels import as_kernel
from maxmargin.inputs.checks import check_number, unknown
from maxmargin.inputs.constraints import find_breach
from maxmargin.inputs.graph_rows import columns_of_nodes
from maxmargin.inputs.kernels import FittedKernel, check_kernel, support
from maxmargin.inputs.labels import check_class_weight, check_classes
from maxmargin.inputs.request import Request
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.structures import forest_data, general_data, relaxed_data
from maxmargin.structures.graph.data import Graphs
from maxmargin.structures.graph.forest import are_forests
from maxmargin.structures.graph.layout import PAIRS
from maxmargin.training.scoring import Score, by_prediction
from maxmargin.training.settings import check_flags, n_threads, resolve_cost
from maxmargin.training.task import Task

#: What the tables of hyperedges may be.
HYPER_PAIRS = ("full", "potts")
#: The oracle leaves open at most this share of what `tol` allows.
SHARE_OF_TOL = 0.1
#: Iterations of message passing, in training and at prediction.
TRAINING_ITERATIONS, PREDICTION_ITERATIONS = 50, 500


class GraphHooks(Hooks):
    """The part of `TreeSVM` and `GraphSVM` that knows what X, y and w mean."""

    #: Whether graphs with cycles are refused.
    only_forests: ClassVar[bool] = False

    cost: Any
    tol: float
    pairs: str
    hyper_pairs: str = "full"
    shared: bool
    fit_intercept: bool
    fit_edge_intercept: bool
    classes: Iterable[Any] | None
    class_weight: Any
    training: str = "integral"
    max_branches: int = 100
    memory_limit: float = 256.0
    kernel: Any = None
    cache_size: float = 1000.0
    _reader: GraphReader
    _weights: GraphWeights
    _empty: Graphs

    # -- what X and y are ------------------------------------------------------------------------

    def _options(self, classes: Any = None, weighted: bool = True) -> GraphOptions:
        return GraphOptions(
            self.pairs,
            self.hyper_pairs,
            self.shared,
            self.fit_intercept,
            self.fit_edge_intercept,
            self.classes if classes is None else classes,
            resolve_cost(self.cost, "vertices"),
            self.class_weight if weighted else None,
            self.only_forests,
            self.kernel,
            self.cache_size,
        )

    def _encode(
        self,
        request: Request,
        *,
        reset: bool,
        classes: Iterable[Any] | None = None,
        weighted: bool = True,
    ) -> Task:
        options = self._options(classes, weighted)
        if reset:
            reader, tables = GraphReader.learn(request, options)
            self._read_by(reader, options)
        else:
            tables = self._reader.task(request, options)
        return graph_task(tables, self._inferred(tables))

    def _read_by(self, reader: GraphReader, options: GraphOptions) -> None:
        self._reader = reader
        self.classes_ = reader.labels.classes
        self.n_features_in_ = reader.kinds.n_columns
        self._empty = reader.empty(options)

    def _inferred(self, tables: GraphTables) -> Any:
        """Return the data to train on, by the way of inference."""
        graphs = tables.graphs
        if self.only_forests or are_forests(graphs):
            return forest_data(graphs)  # the relaxation is exact there
        if isinstance(tables.cost, WholeCost) and self.training == "relaxed":
            raise ValueError(
                "cost='zero_one' is a cost of labellings, and training='relaxed' has fractional "
                "ones. Costs that fit it: hamming, class_weighted, matrix, ordinal, edge; "
                "training='integral' takes all."
            )
        if self.training == "relaxed":
            bytes_ = int(self.memory_limit * 1e6)
            return relaxed_data(graphs, SHARE_OF_TOL * self.tol, TRAINING_ITERATIONS, bytes_)
        return general_data(
            graphs,
            SHARE_OF_TOL * self.tol,
            TRAINING_ITERATIONS,
            self.max_branches,
            int(self.memory_limit * 1e6),
        )

    def _encode_inputs(self, request: Request) -> Any:
        graphs = self._reader.inputs(request, self._options())
        if self.only_forests or are_forests(graphs):
            return forest_data(graphs)
        return general_data(graphs, 0.0, PREDICTION_ITERATIONS, self.max_branches, 0)

    def _decode(self, cells: np.ndarray, data: Any) -> list[np.ndarray]:
        self._check_possible(cells, data)
        labels, at = self.classes_[cells], data.graphs.shapes.node_at
        return [labels[a:b] for a, b in pairwise(at)]

    def _check_possible(self, cells: np.ndarray, data: Any) -> None:
        """Refuse a graph whose best labelling is forbidden: then all its labellings are."""
        graphs = data.graphs
        if len(graphs.barrier):
            at = np.asarray(graphs.shapes.node_at)
            breach = find_breach(cells, at, self.classes_, None, graphs.barrier)
            if breach is not None:
                raise ValueError(
                    f"X[{breach.sequence}]: `fixed` and `allowed` leave no label for node "
                    f"{breach.position}."
                )

    def _check_parameters(self) -> None:
        check_flags(self, "fit_intercept", "fit_edge_intercept", "shared")
        check_class_weight(self.class_weight)
        resolve_cost(self.cost, "vertices")
        check_classes(self.classes)
        for name, known in (
            ("pairs", PAIRS),
            ("hyper_pairs", dict.fromkeys(HYPER_PAIRS)),
            ("training", dict.fromkeys(("auto", "integral", "relaxed"))),
        ):
            if getattr(self, name) not in known:
                raise unknown(name, getattr(self, name), known)
        check_number("max_branches", self.max_branches, closed=True, integer=True)
        check_number("memory_limit", self.memory_limit, closed=True)
        check_kernel(self.kernel, self.cache_size)

    def _take(self, request: Request, which: np.ndarray, train: np.ndarray) -> Request:
        taken = request.take(which)
        if self.kernel is None or as_kernel(self.kernel).takes != "gram":
            return taken
        return replace(taken, X=columns_of_nodes(request.X, which, train))

    def _kept(self, result: Any, problem: Any) -> Any:
        kernel = self._reader.kernel
        if kernel is None:
            return result
        is_used, w = support(result.w, problem.kernel)
        self._read_by(replace(self._reader, kernel=kernel.kept(is_used)), self._options())
        return replace(result, w=w)

    # -- what the weights are --------------------------------------------------------------------

    def _unpack(self, w: np.ndarray) -> None:
        weights = split_weights(w, self._empty)
        one_type = self._reader.n_types()[0] == 1
        self.coef_ = weights.coef[0] if one_type else weights.coef
        self.intercept_ = weights.intercept[0] if one_type else weights.intercept
        self.edge_coef_ = weights.edge_coef
        self.edge_intercept_ = weights.edge_intercept
        self.hyper_coef_ = weights.hyper
        self._weights = weights

    def _layout(self) -> Any:
        meta, arrays = reader_state(self._reader)
        own = {name: array.tolist() for name, array in arrays.items()}
        kernel = None if self._reader.kernel is None else self._reader.kernel.mark()
        return [self.classes_.tolist(), self.pairs, self.hyper_pairs, repr(meta), own, kernel]

    def _n_weights(self) -> int:
        return self._empty.layout.n_weights

    # -- what predictions are worth --------------------------------------------------------------

    def _score_name(self) -> str:
        cost = resolve_cost(self.cost, "vertices")
        if isinstance(cost, ZeroOne):
            return "graph_accuracy"
        return "mean_node_accuracy" if isinstance(cost, Hamming) else "1 - cost"

    def _measure_names(self) -> tuple[str, ...]:
        return tuple(GRAPH_METRICS)

    def _measure(self, name: str) -> Callable[[Request], Score] | None:
        if name not in GRAPH_METRICS:
            return None
        metric = GRAPH_METRICS[name]
        return lambda request: by_prediction(self, metric, request)

    def _scorer(self, request: Request) -> Score:
        # Not `_encode`, which leaves out unknown nodes: here graphs are predicted whole.
        data = self._encode_inputs(request)
        judge = cost_judge(self._options(), self._reader.labels, request, data.graphs)
        free, jobs = self._prediction_cost(data), n_threads(self.n_jobs)

        def score(w: np.ndarray) -> float:
            cells, _ = predict.best_outputs(data, w, free, n_jobs=jobs)
            self._check_possible(cells, data)
            return judge(cells)

        return score

    # -- files -----------------------------------------------------------------------------------

    def _fitted_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        meta, arrays = super()._fitted_state()
        own, more = reader_state(self._reader)
        if self._reader.kernel is not None:
            own["kernel"], of_kernel = self._reader.kernel.to_state()
            more = {**more, **of_kernel}
        return {**meta, **own}, {**arrays, **more}

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        super()._restore_fitted(fields, arrays)
        reader = stored_reader(fields, arrays, self.n_features_in_)
        if self.kernel is not None:
            own = FittedKernel.from_state(fields.fields("kernel"), arrays, self.n_features_in_)
            reader = replace(reader, kernel=own)
        self._read_by(reader, self._options())

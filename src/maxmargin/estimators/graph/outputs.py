"""What a fitted model says of graphs, one at a time: k best, marginals, max-marginals."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.predict import fill_potentials
from maxmargin.core.workers import CHUNK, Workers, cut
from maxmargin.inference.graph.join import with_factors
from maxmargin.inference.graph.model import FactorGraph, check_sums
from maxmargin.inputs.graph_constraints import Rules
from maxmargin.structures.graph.data import Graphs, graph_potentials
from maxmargin.structures.graph.shapes import graph_of


class GraphWeights(NamedTuple):
    """The blocks of w, as views; the first axis is the type where there are several."""

    coef: np.ndarray  # (types, n_labels, n_features)
    intercept: np.ndarray  # (types, n_labels)
    edge_coef: np.ndarray  # (types, n_edge_features, n_pair)
    edge_intercept: np.ndarray  # (types, n_pair)
    hyper: list[np.ndarray]  # one per type: (n_hyper_features + 1, n_cells), the constant last


def split_weights(w: np.ndarray, graphs: Graphs) -> GraphWeights:
    """Return the blocks of w."""
    layout = graphs.layout
    n_types, n_rows = layout.n_node_types, layout.n_columns + layout.has_bias
    nodes = w[: layout.edge_first].reshape(n_types, n_rows, layout.n_labels)
    n_rows = layout.n_edge_columns + layout.has_edge_bias
    shape = (layout.n_edge_types, n_rows, layout.n_pair)
    edges = w[layout.edge_first : layout.hyper_first].reshape(shape)
    n_rows = layout.n_hyper_columns + layout.has_hyper_bias
    ends = np.asarray(graphs.hyper_from)
    hyper = [w[a:b].reshape(n_rows, -1) for a, b in pairwise(ends)]
    return GraphWeights(
        nodes[:, : layout.n_columns].transpose(0, 2, 1),
        nodes[:, -1] if layout.has_bias else np.zeros((n_types, layout.n_labels)),
        edges[:, : layout.n_edge_columns],
        edges[:, -1] if layout.has_edge_bias else np.zeros(shape[::2]),
        hyper,
    )


def for_each_graph(
    data: Any,
    w: np.ndarray,
    answer: Callable[[FactorGraph], Any],
    n_jobs: int = 1,
    rules: Rules | None = None,
) -> list[Any]:
    """Return answer(factor graph) for every graph, under its constraints and rules."""
    shapes, n_labels = data.graphs.shapes, data.graphs.layout.n_labels
    pieces = cut(len(shapes.n_cells), CHUNK)

    def serve(piece: int, worker: int) -> list[Any]:
        theta, found = graph_potentials(data), []
        for i in range(*pieces[piece]):
            fill_potentials(data, i, w, theta)
            n_unary = int(shapes.node_at[i + 1] - shapes.node_at[i]) * n_labels
            unary, tables = theta.unary[:n_unary].copy(), theta.tables[: shapes.n_cells[i]].copy()
            graph = FactorGraph.of_arrays(graph_of(shapes, i), unary, tables)
            factors = [] if rules is None else rules(i)
            try:
                check_sums(graph.n_nodes + graph.n_factors, unary, tables)
                found.append(answer(with_factors(graph, factors) if factors else graph))
            except (TypeError, ValueError) as error:
                raise type(error)(f"X[{i}]: {error}") from None
        return found

    with Workers(n_jobs) as workers:
        found = workers.share(len(pieces), serve)
    return [each for some in found for each in some]

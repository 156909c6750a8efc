"""Scores of held-out graphs: 1 - the mean normalised cost of known nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin import metrics
from maxmargin.core import predict
from maxmargin.core.contract import TrueParts
from maxmargin.costs import WeightedPartCost
from maxmargin.costs.base import both_costs
from maxmargin.estimators.graph.encoding import GraphOptions
from maxmargin.inputs.checks import check_weights
from maxmargin.inputs.graphs import as_graphs
from maxmargin.inputs.labels import Labels
from maxmargin.inputs.request import Request
from maxmargin.inputs.sequence_labels import read_labels
from maxmargin.structures.graph.data import Graphs
from maxmargin.structures.graph.shapes import links_of

#: What graphs can be scored by, by name; larger is better.
GRAPH_METRICS: dict[str, Callable[..., Any]] = {
    "node_accuracy": metrics.node_accuracy,
    "mean_recall": metrics.mean_recall,
}


def cost_judge(
    options: GraphOptions, labels: Labels, request: Request, graphs: Graphs
) -> Callable[[np.ndarray], float]:
    """Return the function from predicted codes to 1 - the mean normalised cost."""
    offsets = np.asarray(graphs.shapes.node_at)
    codes = read_labels(request.y, None, offsets, labels, part="nodes").codes
    n_known = np.add.reduceat(codes >= 0, offsets[:-1], dtype=np.int64)
    weight = check_weights(request.sample_weight, len(n_known)) * (n_known > 0)
    if not weight.any():
        raise ValueError("y has no known label in a graph of positive weight.")
    parts = TrueParts("vertices", np.diff(offsets), codes, links_of(graphs.shapes))
    tables = options.cost.tabulate_parts(parts, labels.classes)
    own = [graph.node_weights for graph in as_graphs(request.X)]
    if any(each is not None for each in own) and hasattr(tables, "matrix"):
        filled = [
            np.ones(size) if each is None else np.asarray(each, dtype=np.float64)
            for each, size in zip(own, np.diff(offsets), strict=True)
        ]
        tables = WeightedPartCost(tables.matrix, tables.scale, np.concatenate(filled))

    def judge(cells: np.ndarray) -> float:
        found, largest = both_costs(tables, parts, cells)
        return predict.mean_score(found, largest, weight)

    return judge

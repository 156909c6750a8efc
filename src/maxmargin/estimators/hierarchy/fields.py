"""Hierarchies as edge fields: a block of weights for each labelling of a parent and its child."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.core import predict
from maxmargin.core.contract import n_weights
from maxmargin.costs import EdgeLoss, LeafHamming, NodeHamming
from maxmargin.costs.tables import free_cost
from maxmargin.estimators.graph.outputs import for_each_graph
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.public import graph_marginals, graph_max_marginals, k_best_graph
from maxmargin.inference.hierarchy.shape import is_forest
from maxmargin.inputs.checks import unknown
from maxmargin.inputs.hierarchy.space import HierarchySpace
from maxmargin.structures.hierarchy.edge_field import (
    check_path_lengths,
    edge_blocks,
    edge_field_data,
    field_edges,
    node_indicators,
)
from maxmargin.structures.hierarchy.edge_field_costs import FIELD_COSTS

__all__ = [
    "MODELS",
    "FieldScores",
    "check_field",
    "check_field_shape",
    "check_path_loss",
    "field_blocks",
    "field_cost",
    "field_data",
    "field_names",
    "field_space",
    "n_field_weights",
]

#: What has weights: nodes; edges, a block for each labelling of their ends; and partial paths too.
MODELS = ("nodes", "edges", "paths")
#: Costs of sets of nodes that edge fields have too, besides `FIELD_COSTS`.
OTHER_COSTS: dict[str, Callable[[], Any]] = {
    "node_hamming": NodeHamming,
    "leaf_hamming": LeafHamming,
    "edge": EdgeLoss,
}
#: Of these any object is taken, with parameters of its own.
OBJECTS = (NodeHamming, LeafHamming, EdgeLoss)


def check_field(model: Any, cost: Any, alpha: Any) -> None:
    """Refuse a model that is not known, and parameters that edge fields do not have."""
    if not isinstance(model, str) or model not in MODELS:
        raise unknown("model", model, dict.fromkeys(MODELS))
    if model == "nodes":
        return
    known = dict.fromkeys(("auto", *FIELD_COSTS, *OTHER_COSTS))
    is_known = isinstance(cost, str) and cost in known
    if not is_known and not isinstance(cost, OBJECTS):
        more = f" Or NodeHamming(...), LeafHamming(), EdgeLoss(...): those of model={model!r}."
        raise unknown("cost", cost, known, more)
    # "maxmin" was the default, is in the files of older models, and says nothing here.
    if not isinstance(alpha, str) or alpha not in ("auto", "maxmin"):
        raise ValueError(
            f"alpha weighs nodes; model={model!r} has weights of edges, and takes no alpha. "
            "model='nodes' does."
        )


def field_cost(cost: Any) -> Any:
    """Return what a name stands for: a cost by name as `FIELD_COSTS` has them, or an object."""
    if isinstance(cost, str):
        return OTHER_COSTS.get(cost, lambda: "hamming" if cost == "auto" else cost)()
    return cost


def check_path_loss(space: HierarchySpace) -> None:
    """Refuse the path loss of sets on a DAG, where it is no sum over nodes."""
    if not space.hierarchy.is_forest and not space.has_one:
        v = int(np.argmax(np.diff(space.hierarchy.shape.parent_at) > 1))
        raise ValueError(
            f"cost='path' with space={space.kind!r} is for trees, but the node "
            f"{space.hierarchy.nodes.tolist()[v]!r} has several parents. cost='edge' counts a "
            "wrong node once for each parent that is right; one place has it on a DAG, and so has "
            "model='paths'."
        )


def field_space(space: str) -> str:
    """Return the label space of edge fields, which have closed sets alone."""
    if space not in ("auto", "closed"):
        raise ValueError(
            f"space={space!r} is not for edge fields: they have space='closed'. model='nodes' has "
            "all spaces."
        )
    return "closed"


def check_field_shape(model: str, cost: Any, space: HierarchySpace) -> None:
    """Refuse partial paths, and the path loss, on a DAG where there are too many labellings."""
    if model == "nodes" or is_forest(space.shape):
        return
    if model == "edges":
        if isinstance(cost, str) and cost == "path":
            v = int(np.argmax(np.diff(space.shape.parent_at) > 1))
            raise ValueError(
                "cost='path' needs model='paths' on a DAG, and here the node "
                f"{space.names.tolist()[v]!r} has several parents; cost='edge' counts a wrong node "
                "once for each parent that is right."
            )
        return
    deep = check_path_lengths(space.shape)
    if deep is not None:
        raise ValueError(
            f"model='paths' has a block of weights for all labellings of a node and of those above "
            f"it, but the node {space.names.tolist()[deep]!r} of this DAG has too many above it. "
            "model='edges' and 'nodes' take any DAG."
        )


def field_data(space: HierarchySpace, rows: Any, cells: Any, model: str, bias: bool) -> Any:
    """Return rows, with the sets of nodes that are true (or None), as an edge field."""
    return edge_field_data(space.shape, rows, cells, paths=model == "paths", bias=bias)


def n_field_weights(space: HierarchySpace, n_columns: int, model: str, bias: bool) -> int:
    """Return the length of w."""
    return int(n_weights(field_data(space, np.zeros((1, n_columns)), None, model, bias)))


def field_blocks(
    space: HierarchySpace, w: np.ndarray, n_columns: int, model: str, bias: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights (n_edges, n_columns, 2, 2) and constants (n_edges, 2, 2) of edges."""
    blocks = edge_blocks(field_data(space, np.zeros((1, n_columns)), None, model, bias), w)
    constant = blocks[:, -1] if bias else np.zeros((len(blocks), 2, 2))
    return blocks[:, :n_columns], constant


def field_names(space: HierarchySpace) -> np.ndarray:
    """Return the edges of a field by the names of their ends; the parent of a root is None."""
    names = np.append(space.names.astype(object), [None])
    return names[field_edges(space.shape)]


class FieldScores:
    """What an edge field says of rows; as `NodeScores` says it where nodes have the weights.

    Trees are answered exactly. A DAG is a graph with cycles: its best set comes by message passing
    and branch and bound, the rest by a junction tree, refused where that is too large.
    """

    def __init__(
        self,
        rows: Any,
        space: HierarchySpace,
        w: np.ndarray,
        model: str,
        bias: bool,
        n_jobs: int,
        known: np.ndarray | None = None,
    ) -> None:
        self.space, self.w, self.n_jobs, self.n = space, w, n_jobs, rows.shape[0]
        self.data = None
        if self.n > 0:
            self.data = edge_field_data(
                space.shape, rows, None, paths=model == "paths", bias=bias, fixed=known
            )

    def _each(self, answer: Callable[[FactorGraph], Any]) -> list[Any]:
        return [] if self.data is None else for_each_graph(self.data, self.w, answer, self.n_jobs)

    def best(self) -> np.ndarray:
        """Return the best sets as flags of nodes, bool of shape (n, m)."""
        if self.data is None:
            return np.zeros((0, len(self.space)), dtype=bool)
        free = free_cost(self.n, 2)
        cells, _ = predict.best_outputs(self.data, self.w, free, n_jobs=self.n_jobs)
        return node_indicators(self.data, cells) > 0

    def k_best(self, k: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return for every sample its k best sets as flags of nodes, best first, and scores."""
        found = self._each(lambda graph: k_best_graph(graph, k))
        flags = [np.array([each.labels[:-1] for each in answers]) > 0 for answers in found]
        return flags, [np.array([each.score for each in answers]) for answers in found]

    def differences(self) -> np.ndarray:
        """Return the best score with each node, less the best score without it; shape (n, m)."""
        found = self._each(lambda graph: np.array(graph_max_marginals(graph)[:-1]))
        rows = np.array(found).reshape(self.n, len(self.space), 2)
        return np.asarray(rows[:, :, 1] - rows[:, :, 0])

    def marginals(self, temperature: float) -> np.ndarray:
        """Return p(node is in) under p(output) ~ exp(score / temperature); shape (n, m)."""
        found = self._each(lambda graph: np.array(graph_marginals(graph, temperature).node[:-1]))
        return np.array(found).reshape(self.n, len(self.space), 2)[:, :, 1]

"""Hierarchies as edge fields: a block of weights for each labelling of a parent and its child."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core import predict
from maxmargin.core.contract import n_weights
from maxmargin.costs.tables import free_cost
from maxmargin.inference.hierarchy.shape import is_forest
from maxmargin.inputs.checks import unknown
from maxmargin.inputs.hierarchy.space import HierarchySpace
from maxmargin.structures.hierarchy.edge_field import (
    edge_blocks,
    edge_field_data,
    field_edges,
    node_indicators,
)
from maxmargin.structures.hierarchy.edge_field_costs import FIELD_COSTS

__all__ = [
    "MODELS",
    "check_field",
    "check_field_shape",
    "field_blocks",
    "field_data",
    "field_flags",
    "field_names",
    "field_space",
    "n_field_weights",
]

#: What has weights: nodes; edges, a block for each labelling of their ends; and partial paths too.
MODELS = ("nodes", "edges", "paths")


def check_field(model: Any, cost: Any, alpha: Any) -> None:
    """Refuse a model that is not known, and parameters that edge fields do not have."""
    if not isinstance(model, str) or model not in MODELS:
        raise unknown("model", model, dict.fromkeys(MODELS))
    if model == "nodes":
        return
    if not isinstance(cost, str) or cost not in ("auto", *FIELD_COSTS):
        raise unknown("cost", cost, dict.fromkeys(("auto", *FIELD_COSTS)), f" (model={model!r})")
    if not isinstance(alpha, str) or alpha != "maxmin":
        raise ValueError(
            f"alpha weighs nodes; model={model!r} has weights of edges, and takes no alpha. "
            "model='nodes' does."
        )


def field_space(space: str) -> str:
    """Return the label space of edge fields, which have closed sets alone."""
    if space not in ("auto", "closed"):
        raise ValueError(
            f"space={space!r} is not for edge fields: they have space='closed'. model='nodes' has "
            "all spaces."
        )
    return "closed"


def check_field_shape(model: str, space: HierarchySpace) -> None:
    """Refuse a DAG where partial paths have weights, of which a node would have several."""
    if model == "paths" and not is_forest(space.shape):
        v = int(np.argmax(np.diff(space.shape.parent_at) > 1))
        raise ValueError(
            f"model='paths' is for trees, but the node {space.names.tolist()[v]!r} has several "
            "parents. model='edges' and 'nodes' take a DAG."
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


def field_flags(
    space: HierarchySpace, rows: Any, w: np.ndarray, model: str, bias: bool, n_jobs: int
) -> np.ndarray:
    """Return the best sets of nodes as flags, of shape (n, n_nodes)."""
    if rows.shape[0] == 0:
        return np.zeros((0, len(space)), dtype=bool)
    data = field_data(space, rows, None, model, bias)
    free = free_cost(rows.shape[0], 2)
    cells, _ = predict.best_outputs(data, w, free, n_jobs=n_jobs)
    return node_indicators(data, cells) > 0

"""Hierarchies as edge fields: a block of weights for each labelling of a parent and its child.

A set of nodes is a labelling y of the M nodes with off (0) and on (1). Its score is

    sum over edges (p, c) of w_pc[y_p, y_c] . x,

and if partial paths count besides, the sum over nodes v below two others or more of w_v[y_P] . x,
where P is v and all nodes above it: on a tree the path from a root to v. All examples have one
graph, so an example is a graph of the room `structures/graph` whose edges have weights of their own
and the row x as their features. The row is stored once. A node without parents has an edge from
node M, which is always on: so every node has weights and, under an edge loss, a price.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.features import RepeatedRows, frozen
from maxmargin.inference.graph.forest import find_forest
from maxmargin.inference.hierarchy.shape import HierarchyShape, all_ancestors, is_forest
from maxmargin.structures.graph.build import StackedGraphs, stacked_graphs
from maxmargin.structures.graph.data import ForestGraphs, GeneralGraphs, RelaxedGraphs
from maxmargin.structures.graph.messages import general_data
from maxmargin.structures.graph.relaxed import relaxed_data
from maxmargin.structures.graph.shapes import graph_of
from maxmargin.structures.hierarchy.path_field import PathFields, path_field

__all__ = [
    "EdgeField",
    "check_path_lengths",
    "edge_blocks",
    "edge_field_data",
    "field_edges",
    "node_indicators",
]

#: The most nodes of a partial path of a DAG: 1024 labellings.
MOST_ON_A_PATH = 10

EdgeField = ForestGraphs | PathFields | GeneralGraphs | RelaxedGraphs


def field_edges(shape: HierarchyShape) -> np.ndarray:
    """Return the edges (parent, child), ordered by child; M is the parent of nodes without one.

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> field_edges(hierarchy_shape(3, child=[1, 2], parent=[0, 0])).tolist()
    [[3, 0], [0, 1], [0, 2]]
    """
    n_nodes = len(shape.parent_at) - 1
    n_parents = np.diff(shape.parent_at)
    roots = np.flatnonzero(n_parents == 0)
    child = np.concatenate([roots, np.repeat(np.arange(n_nodes), n_parents)])
    parent = np.concatenate([np.full(len(roots), n_nodes), shape.parents])
    order = np.lexsort((parent, child))
    return np.stack([parent[order], child[order]], axis=1).astype(np.int64)


def edge_field_data(
    shape: HierarchyShape,
    X: Any,
    sets: Any,
    *,
    consistent: bool = True,
    paths: bool = False,
    bias: bool = True,
    fixed: Any = None,
    relaxed: bool = False,
    precision: float = 0.0,
) -> EdgeField:
    """Return rows with sets of nodes as graphs whose edges have weights of their own.

    On a tree inference is exact. On a DAG it is message passing with a bound, then branch and
    bound.

    Parameters
    ----------
    shape : HierarchyShape
        The nodes of the hierarchy, numbered parents first.
    X : matrix of finite numbers of shape (n, n_columns), dense or CSR
        It is not copied.
    sets : matrix of zeros and ones of shape (n, M), dense or sparse, or None
        Which nodes are in the true set of each example. None where the true sets are not known, for
        prediction.
    consistent : bool
        Whether outputs hold the parents of their nodes; then the true sets must do so as well.
    paths : bool
        Whether partial paths of three nodes or more have weights besides. On a DAG that of a node
        is the node with all nodes above it, which must be less than `MOST_ON_A_PATH`: it has a
        block of weights for each of their labellings.
    bias : bool
        Whether blocks have a constant feature besides those of X.
    fixed : int array of shape (n, M), or None
        1 for nodes that all outputs hold, 0 for those that none holds, -1 for the others.
    relaxed : bool
        On a DAG, whether outputs are the points of the local polytope.
    precision : float >= 0
        What the oracle may leave open, as for `general_data`; no matter where it is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.core.contract import n_weights
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> shape = hierarchy_shape(3, child=[1, 2], parent=[0, 0])
    >>> data = edge_field_data(shape, np.eye(2), [[1, 1, 0], [1, 0, 1]])
    >>> type(data).__name__, n_weights(data)  # 3 edges, of which one leads to the root
    ('ForestGraphs', 36)
    """
    n, n_nodes = X.shape[0], len(shape.parent_at) - 1
    labels = _labels(shape, sets, n, consistent)
    edges = field_edges(shape)
    hyper = _paths(shape) if paths else []
    orders = np.array([len(path) for path in hyper], dtype=np.int64)
    members = np.array([v for path in hyper for v in path], dtype=np.int64)
    rows = np.arange(n)
    stack = StackedGraphs(
        np.zeros((n * (n_nodes + 1), 0)),
        np.arange(n + 1) * (n_nodes + 1),
        np.tile(edges, (n, 1)),
        np.arange(n + 1) * len(edges),
        RepeatedRows(X, np.repeat(rows, len(edges))),
        edge_types=np.tile(np.arange(len(edges)), n),
        hyper_members=np.tile(members, n),
        hyper_types=np.tile(np.arange(len(hyper)), n),
        hyper_at=np.arange(n + 1) * len(hyper),
        hyper_features=RepeatedRows(X, np.repeat(rows, len(hyper))) if hyper else None,
    )
    walls = _walls(fixed, labels, sets is not None)
    graphs = stacked_graphs(
        stack,
        labels.reshape(-1),
        2,
        n_edge_types=max(len(edges), 1),
        hyper_orders=orders.tolist(),
        bias=False,
        edge_bias=bias,
        barrier=walls.reshape(-1, 2),
        edge_barrier=np.array([[0.0, -np.inf], [0.0, 0.0]]) if consistent else None,
    )
    if is_forest(shape) and not hyper:
        order = find_forest(graph_of(graphs.shapes, 0)) if n else None
        columns = (np.zeros(0),) * 3 if order is None else (np.tile(each, n) for each in order)
        return ForestGraphs(graphs, *(frozen(each, np.int32) for each in columns))
    if hyper and is_forest(shape):
        parent = np.full(n_nodes, -1)
        parent[np.diff(shape.parent_at) == 1] = shape.parents
        number = np.full(n_nodes, -1)
        number[[path[-1] for path in hyper]] = np.arange(len(hyper))
        return path_field(graphs, parent, number)
    return relaxed_data(graphs, precision) if relaxed else general_data(graphs, precision)


def _labels(shape: HierarchyShape, sets: Any, n: int, consistent: bool) -> np.ndarray:
    """Return the true labels of all nodes and of node M, one row per example."""
    n_nodes = len(shape.parent_at) - 1
    labels = np.zeros((n, n_nodes + 1), dtype=np.int32)
    labels[:, n_nodes] = 1
    if sets is None:
        return labels
    given = np.asarray(sets.toarray() if sp.issparse(sets) else sets)
    if given.shape != (n, n_nodes):
        raise ValueError(f"sets must have the shape {(n, n_nodes)}, got {given.shape}.")
    if not np.isin(given, (0, 1)).all():
        raise ValueError("sets must hold zeros and ones.")
    labels[:, :n_nodes] = given
    if consistent:
        child = np.repeat(np.arange(n_nodes), np.diff(shape.parent_at))
        bad = np.argwhere(labels[:, child] > labels[:, shape.parents])
        if len(bad):
            i, e = bad[0]
            raise ValueError(
                f"sets[{i}] holds node {child[e]} but not its parent {shape.parents[e]}. Add the "
                "ancestors, or take consistent=False."
            )
    return labels


def _walls(fixed: Any, labels: np.ndarray, is_known: bool) -> np.ndarray:
    """Return 0 or -inf for each label of each node; node M is always on."""
    n, size = labels.shape
    walls = np.zeros((n, size, 2))
    walls[:, -1, 0] = -np.inf
    if fixed is None:
        return walls
    given = np.asarray(fixed)
    if given.shape != (n, size - 1) or not np.isin(given, (-1, 0, 1)).all():
        raise ValueError(f"fixed must hold 1, 0 or -1 and have the shape {(n, size - 1)}.")
    bad = np.argwhere((given >= 0) & (given != labels[:, :-1])) if is_known else np.zeros((0, 2))
    if len(bad):
        i, v = bad[0].tolist()
        raise ValueError(f"fixed[{i}, {v}] is {given[i, v]}, but sets[{i}, {v}] is {labels[i, v]}.")
    for label in (0, 1):
        walls[:, :-1, label][given == 1 - label] = -np.inf
    return walls


def _paths(shape: HierarchyShape) -> list[list[int]]:
    """Return each node that is below two others or more, the last of its list, after these."""
    found = [
        [int(u) for u in above if u != v] + [v] for v, above in enumerate(all_ancestors(shape))
    ]
    v = check_path_lengths(shape)
    if v is not None:
        raise ValueError(
            f"paths=True needs a tree, or at most {MOST_ON_A_PATH} nodes on a partial path; node "
            f"{v} has {len(found[v]) - 1} above it."
        )
    return [path for path in found if len(path) > 2]


def check_path_lengths(shape: HierarchyShape) -> int | None:
    """Return a node of a DAG with too many nodes above it for `paths`, or None."""
    if is_forest(shape):
        return None
    sizes = np.array([len(above) for above in all_ancestors(shape)])
    return int(np.argmax(sizes)) if sizes.max(initial=0) > MOST_ON_A_PATH else None


def node_indicators(data: EdgeField, cells: np.ndarray) -> np.ndarray:
    """Return outputs as an array of shape (n, M): 1 where an output holds a node, 0 elsewhere.

    ``cells`` are labels of nodes, one output after the other, as oracles of labellings write them.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.core.contract import truths
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> shape = hierarchy_shape(2, child=[1], parent=[0])
    >>> data = edge_field_data(shape, np.eye(2), [[1, 1], [1, 0]])
    >>> node_indicators(data, truths(data)).tolist()
    [[1, 1], [1, 0]]
    """
    return np.reshape(cells, (-1, len(data.graphs.shapes.n_labels)))[:, :-1].astype(np.int8)


def edge_blocks(data: EdgeField, w: np.ndarray) -> np.ndarray:
    """Return the weights of edges, an array of shape (n_edges, n_rows, 2, 2), a view of w.

    Entry [e, f, a, b] is that of feature f if the parent of edge e has the label a and its child b;
    a constant comes last among the features. Edges are those of `field_edges`.
    """
    layout = data.graphs.layout
    n_rows = layout.n_edge_columns + layout.has_edge_bias
    own = w[layout.edge_first : layout.hyper_first]
    return own.reshape(layout.n_edge_types, n_rows, 2, 2)

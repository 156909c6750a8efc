"""Graphs as compiled code reads them: stacked rows of features, edges, types and hyperedges.

Wrong inputs are refused here, and errors name the sample, and the node, edge or hyperedge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.features.strings.letters import check_strings
from maxmargin.inputs.graph_edges import (
    merged_edges,
    merged_hyperedges,
    read_edges,
    read_hyperedges,
)
from maxmargin.inputs.graphs import Graph, as_graphs
from maxmargin.inputs.labels import Labels
from maxmargin.inputs.sequences import offsets_of, place
from maxmargin.inputs.vocabulary import check_csr, check_dense
from maxmargin.structures import StackedGraphs


@dataclass(frozen=True)
class GraphKinds:
    """What a fit learns of graphs: how many features, and which types there are.

    Attributes
    ----------
    n_columns, n_edge_columns, n_hyper_columns : int
    node_types, edge_types : Labels or None, None where there is one type
    hyper_types : Labels or None, None where a type is the number of nodes
    hyper_orders : tuple of int, how many nodes the hyperedges of each type join
    """

    n_columns: int
    n_edge_columns: int
    n_hyper_columns: int
    node_types: Labels | None = None
    edge_types: Labels | None = None
    hyper_types: Labels | None = None
    hyper_orders: tuple[int, ...] = ()


@dataclass(frozen=True)
class ReadGraphs:
    """Graphs that were read: stacked, with the weights of their nodes (None: all 1)."""

    stack: StackedGraphs
    node_weights: np.ndarray | None


def read_graphs(
    X: Any,
    known: GraphKinds | None = None,
    *,
    symmetric: int = 0,
    hyper_symmetric: bool = False,
    strings: bool = False,
) -> tuple[ReadGraphs, GraphKinds]:
    """Return stacked graphs, and what is known of their kinds.

    Parameters
    ----------
    X : list of graphs, as `as_graphs` takes them
    known : GraphKinds, or None to learn them
    symmetric : {-1, 0, 1}
        1: an edge given in both directions is one edge, its features added up; -1: the same, the
        features of the second subtracted; 0: two edges.
    strings : bool
        Whether nodes are strings, one each: then they are stacked as a column of objects.
    """
    graphs = as_graphs(X)
    if strings:
        nodes, node_at = _stacked_strings(graphs)
    else:
        nodes, node_at = _stack("nodes", "node", [g.nodes for g in graphs], None, known)
    sizes = np.diff(node_at)
    if (sizes == 0).any():
        raise ValueError(f"X[{int(np.argmin(sizes))}] has no nodes; a graph has at least one.")
    edges, edge_at = read_edges(graphs, sizes)
    edge_features = _optional("edge_features", "edge", graphs, np.diff(edge_at), known)
    members, orders, hyper_at = read_hyperedges(graphs, sizes)
    hyper_features = _optional("hyperedge_features", "hyperedge", graphs, np.diff(hyper_at), known)
    node_codes, node_types = _types(graphs, "node_types", sizes, known, "node_types")
    edge_codes, edge_types = _types(graphs, "edge_types", np.diff(edge_at), known, "edge_types")
    hyper_codes, hyper_types, hyper_orders = _hyper_types(graphs, orders, hyper_at, known)
    kinds = GraphKinds(
        nodes.shape[1],
        0 if edge_features is None else edge_features.shape[1],
        0 if hyper_features is None else hyper_features.shape[1],
        node_types,
        edge_types,
        hyper_types,
        hyper_orders,
    )
    stack = StackedGraphs(
        nodes,
        node_at,
        edges,
        edge_at,
        edge_features,
        node_codes,
        edge_codes,
        members,
        hyper_codes,
        hyper_at,
        hyper_features,
        orders,
    )
    stack = merged_hyperedges(merged_edges(stack, symmetric), hyper_symmetric)
    return ReadGraphs(stack, _node_weights(graphs, sizes)), kinds


def _stack(
    name: str, part: str, arrays: list[Any], rows: np.ndarray | None, known: GraphKinds | None
) -> tuple[Any, np.ndarray]:
    """Return matrices one below the other, and where each begins."""
    matrices = [_matrix(f"X[{i}]: {name}", each) for i, each in enumerate(arrays)]
    wanted = {"nodes": "n_columns", "edge_features": "n_edge_columns"}.get(name, "n_hyper_columns")
    n_columns = matrices[0].shape[1] if known is None else getattr(known, wanted)
    for i, matrix in enumerate(matrices):
        if rows is not None and matrix.shape[0] != rows[i]:
            raise ValueError(
                f"X[{i}]: {name} has {matrix.shape[0]} rows, but there are {rows[i]} {part}s."
            )
        if matrix.shape[1] != n_columns:
            told = f"X[0] has {n_columns}" if known is None else f"expected {n_columns}"
            raise ValueError(f"X[{i}]: {name} has {matrix.shape[1]} columns but {told}.")
        if sp.issparse(matrix) != sp.issparse(matrices[0]):
            raise TypeError(f"X[{i}]: {name} must be dense or sparse in all graphs alike.")
    at = offsets_of([matrix.shape[0] for matrix in matrices])
    kind = np.float32 if all(m.dtype == np.float32 for m in matrices) else np.float64
    if sp.issparse(matrices[0]):
        stacked = sp.vstack([sp.csr_matrix(m) for m in matrices], format="csr").astype(kind)
        return check_csr(stacked, _naming(part, at)), at
    dense = np.concatenate(matrices, dtype=kind, casting="unsafe")
    return check_dense(np.ascontiguousarray(dense), _naming(part, at)), at


def _stacked_strings(graphs: list[Graph]) -> tuple[np.ndarray, np.ndarray]:
    """Return the strings of all nodes, and where those of each graph begin."""
    own = [check_strings(graph.nodes, f"nodes of X[{i}]") for i, graph in enumerate(graphs)]
    at = offsets_of([len(each) for each in own])
    nodes = np.empty((int(at[-1]), 1), dtype=object)
    nodes[:, 0] = [string for each in own for string in each]
    return nodes, at


def columns_of_nodes(X: Any, which: np.ndarray, train: np.ndarray) -> list[Graph]:
    """Return some graphs whose nodes have products with all nodes, as products with some.

    which : the graphs to return
    train : the graphs whose nodes are the columns to keep

    Examples
    --------
    >>> X = [(np.eye(3)[:1], []), (np.eye(3)[1:], [(0, 1)])]
    >>> columns_of_nodes(X, np.array([1]), np.array([1]))[0].nodes.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    graphs = as_graphs(X)
    at = offsets_of([np.shape(graph.nodes)[0] for graph in graphs])
    columns = np.concatenate([np.arange(at[i], at[i + 1]) for i in train])
    for i in which:
        if np.ndim(graphs[i].nodes) != 2 or np.shape(graphs[i].nodes)[1] != at[-1]:
            raise ValueError(
                f"X[{i}]: nodes has the shape {np.shape(graphs[i].nodes)}, but the products of "
                f"its nodes with those of all graphs are {at[-1]} columns."
            )
    return [replace(graphs[i], nodes=np.asarray(graphs[i].nodes)[:, columns]) for i in which]


def _naming(part: str, at: np.ndarray) -> Callable[[int], str]:
    return lambda row: "{} {} of X[{}]".format(part, *place(at, row)[::-1])


def _matrix(where: str, given: Any) -> Any:
    if sp.issparse(given):
        return given.tocsr()
    try:
        array = np.asarray(given)
        if array.dtype == object:
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where} is no rectangular array of numbers: {error}") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{where} must hold real numbers, got dtype {array.dtype}.")
    if array.ndim != 2:
        raise ValueError(f"{where} must have two dimensions, got shape {array.shape}.")
    return array.astype(np.float64) if array.dtype == np.float16 else array


def _optional(
    name: str, part: str, graphs: list[Graph], rows: np.ndarray, known: GraphKinds | None
) -> Any:
    """Return features that all graphs have or none has; graphs without such parts may lack them."""
    given = [getattr(graph, name) for graph in graphs]
    column = "n_edge_columns" if part == "edge" else "n_hyper_columns"
    n_known = None if known is None else getattr(known, column)
    having = [i for i, each in enumerate(given) if each is not None]
    lacking = [i for i, each in enumerate(given) if each is None and rows[i] > 0]
    if n_known == 0 and having:
        raise ValueError(f"X[{having[0]}] has {name}, but the model was fitted without.")
    if lacking and (having or n_known):
        other = f"X[{having[0]}] has" if having else "the model was fitted with"
        raise ValueError(f"X[{lacking[0]}] has no {name}, but {other} them.")
    if not having and not n_known:
        return None
    first = given[having[0]] if having else None
    width = n_known if n_known is not None else _matrix(f"X[{having[0]}]: {name}", first).shape[1]
    empty: Any = sp.csr_matrix((0, width)) if sp.issparse(first) else np.zeros((0, width))
    filled = [empty if each is None or rows[i] == 0 else each for i, each in enumerate(given)]
    return _stack(name, part, filled, rows, None)[0] if _widths(name, filled, width) else None


def _widths(name: str, matrices: list[Any], width: int) -> bool:
    """Refuse a matrix of another width than the model knows."""
    for i, matrix in enumerate(matrices):
        shape = np.shape(matrix) if not sp.issparse(matrix) else matrix.shape
        if len(shape) == 2 and shape[1] != width:
            raise ValueError(f"X[{i}]: {name} has {shape[1]} columns but expected {width}.")
    return True


def _types(
    graphs: list[Graph], name: str, sizes: np.ndarray, known: GraphKinds | None, field: str
) -> tuple[np.ndarray | None, Labels | None]:
    """Return the types of all nodes or edges as codes, and the types; None where there is one."""
    given = [getattr(graph, name) for graph in graphs]
    having = [i for i, each in enumerate(given) if each is not None]
    labels: Labels | None = None if known is None else getattr(known, field)
    if known is not None and labels is None and having:
        raise ValueError(f"X[{having[0]}] has {name}, but the model was fitted without.")
    if not having and labels is None:
        return None, None
    lacking = [i for i, each in enumerate(given) if each is None and sizes[i] > 0]
    if lacking:
        other = f"X[{having[0]}] has" if having else "the model was fitted with"
        raise ValueError(f"X[{lacking[0]}] has no {name}, but {other} them.")
    flat: list[Any] = []
    for i, each in enumerate(given):
        own = [] if each is None else list(each)
        if len(own) != sizes[i]:
            raise ValueError(f"X[{i}]: {name} has {len(own)} entries; expected {sizes[i]}.")
        flat.extend(value.item() if isinstance(value, np.generic) else value for value in own)
    at = offsets_of(sizes.tolist())

    def says(row: int) -> str:
        i, own = place(at, row)
        return f"X[{i}]: {name}[{own}]"

    if labels is None:
        labels = Labels.learn(flat, None, says)
    return labels.encode(flat, says), labels


def _hyper_types(
    graphs: list[Graph], orders: np.ndarray, hyper_at: np.ndarray, known: GraphKinds | None
) -> tuple[np.ndarray | None, Labels | None, tuple[int, ...]]:
    """Return the types of hyperedges; where none are given, a type is the number of nodes."""
    codes, labels = _types(graphs, "hyperedge_types", np.diff(hyper_at), known, "hyper_types")
    told = () if known is None else known.hyper_orders
    if codes is None or labels is None:
        sizes = tuple(sorted(set(orders.tolist()))) if known is None else told
        for row, order in enumerate(orders.tolist()):
            if order not in sizes:
                i, own = place(hyper_at, row)
                raise ValueError(
                    f"X[{i}]: hyperedges[{own}] joins {order} nodes; the model was fitted on "
                    f"{', '.join(map(str, sizes)) or 'none'}."
                )
        return np.searchsorted(np.array(sizes, dtype=np.int64), orders), None, sizes
    of_type = dict(enumerate(told))
    for row, (code, order) in enumerate(zip(codes.tolist(), orders.tolist(), strict=True)):
        if of_type.setdefault(code, order) != order:
            i, own = place(hyper_at, row)
            raise ValueError(
                f"X[{i}]: hyperedges[{own}] joins {order} nodes, but others of its type join "
                f"{of_type[code]}."
            )
    return codes, labels, tuple(of_type[code] for code in range(len(labels)))


def _node_weights(graphs: list[Graph], sizes: np.ndarray) -> np.ndarray | None:
    """Return the weights of all nodes, 1 where a graph has none; None where none has any."""
    if all(graph.node_weights is None for graph in graphs):
        return None
    found = []
    for i, graph in enumerate(graphs):
        own = np.ones(sizes[i]) if graph.node_weights is None else graph.node_weights
        weight = np.asarray(own, dtype=np.float64)
        if weight.shape != (sizes[i],):
            raise ValueError(
                f"X[{i}]: node_weights has the shape {weight.shape}; expected ({sizes[i]},)."
            )
        bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
        if len(bad):
            raise ValueError(
                f"X[{i}]: node_weights[{bad[0]}] must be finite and >= 0, got {weight[bad[0]]}."
            )
        found.append(weight)
    return np.concatenate(found)


def known_part(stack: StackedGraphs, is_known: np.ndarray) -> StackedGraphs:
    """Return the graphs without their unknown nodes and all edges and hyperedges at these.

    Examples
    --------
    >>> at = np.array([0, 3])
    >>> stack = StackedGraphs(np.eye(3), at, np.array([[0, 1], [0, 2]]), np.array([0, 2]))
    >>> known_part(stack, np.array([True, False, True])).edges.tolist()
    [[0, 1]]
    """
    if is_known.all():
        return stack
    graph = np.repeat(np.arange(stack.n_graphs), np.diff(stack.node_at))
    counts = np.concatenate([[0], np.cumsum(is_known)])
    place_of = counts[:-1] - counts[stack.node_at[:-1]][graph]  # of a node that is known
    edge_graph = np.repeat(np.arange(stack.n_graphs), np.diff(stack.edge_at))
    ends = stack.node_at[edge_graph][:, None] + stack.edges
    keep = is_known[ends].all(axis=1)
    edges = place_of[ends[keep]]
    changed = replace(
        stack,
        nodes=stack.nodes[is_known],
        node_at=counts[stack.node_at],
        edges=edges,
        edge_at=np.concatenate([[0], np.cumsum(keep)])[stack.edge_at],
        edge_features=None if stack.edge_features is None else stack.edge_features[keep],
        node_types=None if stack.node_types is None else stack.node_types[is_known],
        edge_types=None if stack.edge_types is None else stack.edge_types[keep],
    )
    return _known_hyperedges(stack, changed, is_known, place_of)


def _known_hyperedges(
    stack: StackedGraphs, changed: StackedGraphs, is_known: np.ndarray, place_of: np.ndarray
) -> StackedGraphs:
    orders, members, types = stack.hyper_orders, stack.hyper_members, stack.hyper_types
    if stack.hyper_at is None or orders is None or members is None or types is None:
        return changed
    if len(orders) == 0:
        return changed
    hyper_graph = np.repeat(np.arange(stack.n_graphs), np.diff(stack.hyper_at))
    whole = np.repeat(stack.node_at[hyper_graph], orders) + members
    starts = np.cumsum(orders) - orders
    keep = np.logical_and.reduceat(is_known[whole], starts)
    return replace(
        changed,
        hyper_members=place_of[whole[np.repeat(keep, orders)]],
        hyper_types=types[keep],
        hyper_orders=orders[keep],
        hyper_at=np.concatenate([[0], np.cumsum(keep)])[stack.hyper_at],
        hyper_features=None if stack.hyper_features is None else stack.hyper_features[keep],
    )

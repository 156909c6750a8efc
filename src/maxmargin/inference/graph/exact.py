"""Direct methods that are always exact: forests, graphs without a cycle, junction trees."""

from __future__ import annotations

import numpy as np

from maxmargin.inference.graph.acyclic import acyclic_room, best_acyclic, find_acyclic
from maxmargin.inference.graph.answer import GraphAnswer, Options
from maxmargin.inference.graph.counted import fitting_tree
from maxmargin.inference.graph.dense import dense_graph
from maxmargin.inference.graph.forest import ForestOrder, best_forest, find_forest, forest_room
from maxmargin.inference.graph.forest import forest_order as checked_order
from maxmargin.inference.graph.junction import (
    JunctionTree,
    best_junction,
    junction_room,
    junction_tree,
)
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.per_shape import per_shape
from maxmargin.inference.graph.score import labelling_score
from maxmargin.inference.graph.shape import Shape

__all__ = ["acyclic", "direct_answer", "forest", "junction", "known_forest"]

#: What there is for graphs whose junction tree is too large.
WAY_OUT = (
    "Methods that fit a graph of any size: 'auto', 'srmp', and 'branch' on top of it. most_cells "
    "of solve_graph raises the limit."
)


@per_shape
def known_forest(shape: Shape) -> ForestOrder | None:
    """Return the order of a forest of pairs, or None; computed once per shape."""
    return find_forest(shape)


def direct_answer(graph: FactorGraph, labels: np.ndarray, score: float, method: str) -> GraphAnswer:
    """Return the answer of an exact method: a best labelling, or that there is none."""
    if score == -np.inf:
        return GraphAnswer(None, -np.inf, -np.inf, True, method, 0)
    score = float(labelling_score(graph.shape, graph.unary, graph.tables, labels))
    return GraphAnswer(labels, score, score, True, method, 0)


def forest(graph: FactorGraph, options: Options) -> GraphAnswer:
    """Solve a forest of pairs by two passes; refuse other graphs."""
    order = known_forest(graph.shape) or checked_order(graph.shape)
    labels = np.empty(graph.n_nodes, dtype=np.int32)
    room = forest_room(graph.shape)
    score = best_forest(graph.shape, graph.unary, graph.tables, order, room, labels)
    return direct_answer(graph, labels, score, "forest")


def acyclic(graph: FactorGraph, options: Options) -> GraphAnswer:
    """Solve a factor graph without a cycle by two passes; refuse other graphs."""
    order = find_acyclic(graph.shape)
    if order is None:
        raise ValueError(
            "the factor graph has a cycle: two factors are joined by more than one path. Methods "
            "that fit: 'auto', 'junction', 'srmp'."
        )
    labels = np.empty(graph.n_nodes, dtype=np.int32)
    room = acyclic_room(graph.shape)
    score = best_acyclic(graph.shape, graph.unary, graph.tables, order, room, labels)
    return direct_answer(graph, labels, score, "acyclic")


def junction(graph: FactorGraph, options: Options) -> GraphAnswer:
    """Solve a graph by bucket elimination; refuse one whose tables would be too large."""
    found = by_fitting_tree(graph, options.most_cells)
    return found or by_tree(graph, junction_tree(graph.shape, options.most_cells, WAY_OUT))


def by_fitting_tree(graph: FactorGraph, most_cells: float) -> GraphAnswer | None:
    """Solve by a junction tree, where large rules are counted; None if it has too many cells."""
    fitting, tree = fitting_tree(graph, most_cells)
    if tree is None:
        return None
    found = by_tree(fitting, tree)
    return found if found.labels is None else found._replace(labels=found.labels[: graph.n_nodes])


def by_tree(graph: FactorGraph, tree: JunctionTree) -> GraphAnswer:
    """Solve a graph by bucket elimination in a tree that was found before."""
    dense = dense_graph(graph)
    labels = np.empty(graph.n_nodes, dtype=np.int32)
    room = junction_room(dense.shape, tree)
    score = best_junction(dense.shape, dense.unary, dense.tables, tree, room, labels)
    return direct_answer(graph, labels, score, "junction")

"""The best labelling of a graph for every number of wrong nodes.

Forests of pairs have kernels of their own. Elsewhere the wrong nodes are counted by a node more, as
rules are (counted.py), and a junction tree gives the best labelling for each of its labels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import check_count
from maxmargin.inference.answer import CostProfile
from maxmargin.inference.graph.counted import (
    check_own_kinds,
    fittings,
    is_worth_ordering,
    with_count,
)
from maxmargin.inference.graph.counters import TooManyCellsError
from maxmargin.inference.graph.dense import dense_graph
from maxmargin.inference.graph.exact import known_forest
from maxmargin.inference.graph.forest import (
    ForestOrder,
    forest_profile,
    profile_room,
    write_forest_level,
)
from maxmargin.inference.graph.junction import (
    JunctionTree,
    best_junction,
    find_junction_tree,
    junction_room,
    junction_tree,
    too_large,
)
from maxmargin.inference.graph.marginals import check_graph
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.score import labelling_score
from maxmargin.inference.graph.shape import Shape

__all__ = ["graph_profile"]

#: What there is for graphs whose junction tree is too large.
WAY_OUT = (
    "most_cells of graph_profile raises the limit; `k_best_graph` lists the best labellings of any "
    "graph."
)


def graph_profile(
    graph: FactorGraph, reference: npt.ArrayLike, *, most_cells: int = 30_000_000
) -> CostProfile:
    """Return the best labelling of a graph for every number of wrong nodes.

    Forests of pairs take one pass. Of other graphs a junction tree is needed that counts the wrong
    nodes too: it is small for factor graphs without a cycle that are not large.

    Parameters
    ----------
    graph : FactorGraph
    reference : array-like of int of shape (n,)
        The true labels; -1 where unknown: such a node is never wrong.
    most_cells : int
        The most table cells of a junction tree; a larger one is refused.

    Returns
    -------
    CostProfile
        score[c] is the best score with c wrong nodes, c = 0 .. n, and outputs[c] the labelling;
        -inf and -1 where there is none.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph, graph_profile
    >>> from maxmargin.inference.graph.factors import ExactlyOne
    >>> graph = FactorGraph([[0.0, 1.0], [0.5, 0.0]], [(0, 1)], [[1.0, 0.0], [0.0, 1.0]])
    >>> graph_profile(graph, [0, 0]).score
    array([1.5, 1.5, 2. ])
    >>> graph = FactorGraph([[0.0, 1.0], [0.5, 0.0]], factors=[ExactlyOne((0, 1))])
    >>> graph_profile(graph, [0, 0]).score
    array([-inf,  1.5, -inf])
    """
    check_graph(graph)
    shape, truth = graph.shape, _check_reference(graph, reference)
    most_cells = check_count("most_cells", most_cells)
    own = np.arange(len(graph.unary)) - np.repeat(shape.unary_at[:-1], shape.n_labels)
    known = np.repeat(truth, shape.n_labels)
    is_wrong = ((own != known) & (known >= 0)).astype(np.int32)
    order = known_forest(shape)
    if order is not None:
        return _of_forest(graph, order, is_wrong)
    return _by_junction(graph, is_wrong, most_cells)


def _check_reference(graph: FactorGraph, reference: npt.ArrayLike) -> npt.NDArray[np.int64]:
    truth = np.asarray(reference)
    if truth.shape != (graph.n_nodes,):
        raise ValueError(
            f"reference has shape {truth.shape}; expected ({graph.n_nodes},), one per node."
        )
    if truth.size and truth.dtype.kind not in "iu":
        raise TypeError(f"reference must hold integer labels, got dtype {truth.dtype}.")
    bad = (truth < -1) | (truth >= graph.shape.n_labels)
    if bad.any():
        v = int(np.argmax(bad))
        raise ValueError(
            f"reference[{v}] is {truth[v]}; expected -1, or a label from 0 to "
            f"{graph.shape.n_labels[v] - 1} of node {v}."
        )
    return truth.astype(np.int64)


def _of_forest(
    graph: FactorGraph, order: ForestOrder, is_wrong: npt.NDArray[np.int32]
) -> CostProfile:
    """Return the profile of a forest of pairs; is_wrong is laid out as `unary`."""
    shape, n_nodes = graph.shape, graph.n_nodes
    none = np.zeros(0, dtype=np.int32)
    room = profile_room(shape, order, is_wrong, none, n_nodes)
    profile = _nothing(n_nodes)
    n_levels = forest_profile(
        shape, graph.unary, graph.tables, order, is_wrong, none, n_nodes, room, profile.score
    )
    for level in range(n_levels):
        write_forest_level(shape, graph.tables, order, none, level, room, profile.outputs[level])
    return profile


def _by_junction(
    graph: FactorGraph, is_wrong: npt.NDArray[np.int32], most_cells: int
) -> CostProfile:
    """Return the profile by a junction tree, one labelling after the other."""
    shape, profile = graph.shape, _nothing(graph.n_nodes)
    rows = np.split(is_wrong.astype(np.int64), shape.unary_at[1:-1])
    # Where no node can be wrong, the count is that of any node: 0.
    states = {v: row for v, row in enumerate(rows) if row.any()} or {0: rows[0]}
    counting, node, tree = _counting(graph, states, most_cells)
    dense = dense_graph(counting)
    room = junction_room(dense.shape, tree)
    labels = np.empty(dense.n_nodes, dtype=np.int32)
    levels = slice(*dense.shape.unary_at[[node, node + 1]])
    for level in range(levels.stop - levels.start):
        unary = dense.unary.copy()
        unary[levels] = -np.inf
        unary[levels.start + level] = 0.0
        if best_junction(dense.shape, unary, dense.tables, tree, room, labels) > -np.inf:
            own = labels[: graph.n_nodes]
            profile.score[level] = labelling_score(shape, graph.unary, graph.tables, own)
            profile.outputs[level] = own
    return profile


def _counting(
    graph: FactorGraph, states: dict[int, npt.NDArray[np.int64]], most_cells: int
) -> tuple[FactorGraph, int, JunctionTree]:
    """Return a graph that counts the wrong nodes, the node that has the count, and its tree.

    Counters are large in large graphs. They are made only where there is a small tree without them,
    and no further than their own tables are small.
    """
    tried = []
    for fitting in fittings(graph):
        tried.append(fitting)
        if _small_tree(fitting.shape, most_cells) is None:
            continue
        try:
            each, node = with_count(graph, fitting, states, most_cells)
        except TooManyCellsError:
            continue
        tree = _small_tree(each.shape, most_cells)
        if tree is not None:
            return each, node, tree
    check_own_kinds(graph, most_cells)
    smallest = max(tried, key=lambda each: each.n_nodes)
    junction_tree(smallest.shape, most_cells, WAY_OUT)
    try:
        each, node = with_count(graph, smallest, states, most_cells)
    except TooManyCellsError as refusal:
        size = f"more than {refusal.n_cells:.3g} cells, with those that count wrong nodes"
        raise too_large(size, most_cells, WAY_OUT) from None
    return each, node, junction_tree(each.shape, most_cells, WAY_OUT)


def _small_tree(shape: Shape, most_cells: int) -> JunctionTree | None:
    return find_junction_tree(shape, most_cells) if is_worth_ordering(shape) else None


def _nothing(n_nodes: int) -> CostProfile:
    """Return a profile without a labelling."""
    outputs = np.full((n_nodes + 1, n_nodes), -1, dtype=np.int32)
    return CostProfile(np.full(n_nodes + 1, -np.inf), outputs)

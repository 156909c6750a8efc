"""Graphs with a label per node, stacked: what all ways of inference share.

The score of a labelling y of a graph is

    sum_v w_{type(v)}[y_v] . x_v + sum_e w_{type(e)}[y_a, y_b] . x_e + sum_h w_{type(h)}[y_h] . x_h,

where v runs over nodes, e = (a, b) over edges and h over hyperedges, of three nodes or more.
There is one type of data per way of inference, with `Graphs` as its field `graphs`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    TrueParts,
    are_outputs,
    belongs,
    implements,
    kernel_use,
    n_weights,
    output_size,
    output_sizes,
    score_lengths,
    true_parts,
    truths,
)
from maxmargin.features.rows import kernel_rows, row_lengths
from maxmargin.structures.graph.layout import CellTable, GraphLayout
from maxmargin.structures.graph.shapes import Shapes, links_of


class Graphs(NamedTuple):
    """Stacked graphs; graph i has the nodes shapes.node_at[i] to shapes.node_at[i + 1] - 1.

    The factors of a graph are its edges, then its hyperedges. The barrier is 0 where a label is
    allowed at a node and -inf where it is not; it has no rows where all are allowed everywhere.
    """

    nodes: Any  # features, one row per node
    edges: Any  # features, one row per edge
    hyper: Any  # features, one row per hyperedge
    labels: Any  # (N,) int32: the true labels
    barrier: Any  # (N or 0, n_labels)
    edge_barrier: Any  # (n_labels * n_labels or 0,): the same for pairs of labels at all edges
    node_type: Any  # (N,) int32
    edge_type: Any  # (E,) int32
    hyper_type: Any  # (H,) int32
    edge_at: Any  # (n + 1,) int64: where the edges of each graph begin
    hyper_at: Any  # (n + 1,) int64
    hyper_from: Any  # (number of types + 1,) int64: where the weights of a type begin
    pair: CellTable  # how the table of an edge is made
    hyper_cells: CellTable  # how the tables of all types of hyperedges are made, stacked
    hyper_cells_at: Any  # (number of types + 1,) int64
    layout: GraphLayout
    shapes: Shapes


class GraphPotentials(NamedTuple):
    """Potentials of one graph, flat, or how much of each an output has.

    They have room for the largest graph. ``tables`` has the tables of edges, then of hyperedges.
    """

    unary: Any  # (most nodes * n_labels,)
    tables: Any  # (most cells,)


class AnyGraphs:
    """Family of all data of graphs, whose field `graphs` holds `Graphs`."""


class CyclicGraphs:
    """Family of those with cycles, which have `Passing`, `GraphMemory` and `Effort`."""


class IntegralGraphs:
    """Family of those whose outputs have one cell per node: its label."""


class Passing(NamedTuple):
    """What message passing reads of each graph, stacked; see `SrmpRoom`."""

    reach: Any  # (S,) uint8
    share: Any  # (N,)
    partner: Any  # (S,) int64
    far: Any  # (S,) int32
    is_row: Any  # (S,) bool
    has_hyper: Any  # (n,) int8: whether a graph has factors other than edges


class Effort(NamedTuple):
    """How hard the oracle of graphs with cycles tries.

    ``precision`` is the part of a loss that may be left open between the bound and the output that
    is found. While a run has a large gap the oracle leaves more, and in haste more again; if
    precision is 0, never.
    """

    precision: float
    n_iterations: int  # most iterations of message passing
    most_branches: int  # most nodes of branch and bound; 0: none


class GraphMemory(NamedTuple):
    """Messages with which the oracle ended its last search in each graph, where there is room.

    Those of graph i begin at at[i]; there are none if at[i] = at[i + 1]. ``gap`` is the relative
    gap of the run and ``loss`` what it is relative to, 0 if they are not known yet. ``haste`` is 1
    while outputs alone are asked for, see `tell_haste`; it is 0 between passes. ``left`` is how
    much better the best labelling can be than what the last search in each graph found.
    """

    messages: Any  # float64, writeable
    gap: Any  # (1,) float64, writeable
    loss: Any  # (1,) float64, writeable
    haste: Any  # (1,) float64, writeable
    at: Any  # (n + 1,) int64
    left: Any  # (n,) float64, writeable


@belongs(IntegralGraphs, AnyGraphs)
class ForestGraphs(NamedTuple):
    """Graphs of edges without cycles: exact in two passes.

    The three arrays are stacked; the order, the parents and the edges count within their graph.
    """

    graphs: Graphs
    order: Any  # (N,) int32: the nodes of each graph, parents before their children
    parent: Any  # (N,) int32: -1 for roots
    edge: Any  # (N,) int32: the edge to the parent, -1 for roots


@belongs(IntegralGraphs, CyclicGraphs, AnyGraphs)
class GeneralGraphs(NamedTuple):
    """Graphs with cycles: message passing with a bound, then branch and bound."""

    graphs: Graphs
    passing: Passing
    memory: GraphMemory
    effort: Effort


@belongs(CyclicGraphs, AnyGraphs)
class RelaxedGraphs(NamedTuple):
    """Graphs with cycles, relaxed to the local polytope; outputs are points of it, see points.py.

    Message passing solves the relaxation where it is integral, smoothed ascent elsewhere.
    """

    graphs: Graphs
    passing: Passing
    memory: GraphMemory
    effort: Effort
    cell_at: Any  # (F + n,) int64: where the table of each factor begins, and the end, per graph


def graph_potentials(data: Any) -> GraphPotentials:
    """Return potentials for any one graph, all 0."""
    shapes, n_labels = data.graphs.shapes, data.graphs.layout.n_labels
    most_nodes = int(np.diff(shapes.node_at).max(initial=0))
    most_cells = int(np.asarray(shapes.n_cells).max(initial=0))
    return GraphPotentials(np.zeros(most_nodes * n_labels), np.zeros(most_cells))


@implements(n_weights, AnyGraphs)
def _n_weights(data):
    """Return the length of w."""
    return data.graphs.layout.n_weights


@implements(kernel_use, AnyGraphs)
def _kernel_use(data):
    """Return the matrices of coefficients, one per type of node, or of edge."""
    graphs = data.graphs
    layout = graphs.layout
    n_node = (layout.n_columns + layout.has_bias) * layout.n_labels
    n_edge = (layout.n_edge_columns + layout.has_edge_bias) * layout.n_pair
    of_nodes = tuple((t * n_node, layout.n_labels) for t in range(layout.n_node_types))
    of_edges = tuple(
        (layout.edge_first + t * n_edge, layout.n_pair) for t in range(layout.n_edge_types)
    )
    nodes = kernel_rows(graphs.nodes, of_nodes, graphs.shapes.node_at)
    edges = kernel_rows(graphs.edges, of_edges, graphs.edge_at)
    if nodes is not None and edges is not None:
        raise ValueError("Only nodes or only edges can have features that a kernel knows.")
    if edges is None:
        return nodes
    # Hyperedges share the rows of edges, see structures/hierarchy/edge_field.py.
    firsts = np.asarray(graphs.hyper_from)
    n_rows = layout.n_hyper_columns + layout.has_hyper_bias
    of_hyper = tuple((int(a), int((b - a) // n_rows)) for a, b in pairwise(firsts))
    return edges._replace(blocks=(*of_edges, *of_hyper))


@implements(output_sizes, IntegralGraphs)
def _output_sizes(data):
    """Return the number of nodes of every graph."""
    return np.diff(data.graphs.shapes.node_at)


@implements(output_size, IntegralGraphs)
def _output_size(data, i):
    """Return the number of nodes of graph i."""
    return data.graphs.shapes.node_at[i + 1] - data.graphs.shapes.node_at[i]


@implements(truths, IntegralGraphs)
def _truths(data):
    """Return the true labels of all nodes."""
    return data.graphs.labels


@implements(true_parts, AnyGraphs)
def _true_parts(data):
    """Return the true labels of all nodes, and which nodes are joined."""
    shapes = data.graphs.shapes
    return TrueParts("vertices", np.diff(shapes.node_at), data.graphs.labels, links_of(shapes))


@implements(are_outputs, IntegralGraphs)
def _are_labellings(
    data: Any, examples: np.ndarray, cells: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Tell which labellings have known labels and break no barrier."""
    graphs = data.graphs
    good = (cells >= 0) & (cells < graphs.layout.n_labels)
    if len(graphs.barrier):
        starts = np.asarray(graphs.shapes.node_at)[examples]
        ends = np.cumsum(lengths)
        rows = np.arange(len(cells)) + np.repeat(starts - (ends - lengths), lengths)
        good &= np.isfinite(graphs.barrier[rows, np.where(good, cells, 0)])
    wrong = np.bincount(np.repeat(np.arange(len(examples)), lengths), ~good, len(examples)) > 0
    if len(graphs.edge_barrier):
        ends = np.cumsum(lengths)
        for place, (i, end, length) in enumerate(zip(examples, ends, lengths, strict=True)):
            if not wrong[place]:
                wrong[place] = breaks_edge(graphs, i, cells[end - length : end])
    return np.asarray(~wrong)


def breaks_edge(graphs: Graphs, i: int, labels: np.ndarray) -> bool:
    """Tell whether a labelling of graph i has a pair of labels that is forbidden at edges."""
    shapes, n_labels = graphs.shapes, graphs.layout.n_labels
    n_edges = int(graphs.edge_at[i + 1] - graphs.edge_at[i])
    first = int(shapes.slot_from[i])
    pairs = shapes.members[first : first + 2 * n_edges].reshape(-1, 2)  # edges come first
    cells = labels[pairs[:, 0]] * n_labels + labels[pairs[:, 1]]
    return bool(np.isneginf(graphs.edge_barrier[cells]).any())


@implements(score_lengths, AnyGraphs)
def _score_lengths(data):
    """Bound phi by the sum over nodes and factors: each adds its features and a constant."""
    graphs = data.graphs
    layout, shapes = graphs.layout, graphs.shapes
    total, most = np.zeros((2, len(shapes.n_cells)))
    for features, at, bias in (
        (graphs.nodes, shapes.node_at, layout.has_bias),
        (graphs.edges, graphs.edge_at, layout.has_edge_bias),
        (graphs.hyper, graphs.hyper_at, layout.has_hyper_bias),
    ):
        lengths, terms = row_lengths(features)
        example = np.repeat(np.arange(len(total)), np.diff(at))
        total += np.bincount(example, lengths + bias, len(total))
        np.maximum.at(most, example, terms + bias)
    n_terms = np.diff(shapes.node_at) + np.diff(shapes.factor_at)
    return total, most + 2.0 * n_terms

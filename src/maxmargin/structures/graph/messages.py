"""Graphs with cycles: what message passing keeps of each graph, and its scratch.

Messages of the last search in a graph are valid for any other weights, and near the last weights
they are nearly the best. They are kept with the data, as far as memory is allowed for them, and are
part of what `Problem.memory` says: a run that is taken up again finds them as they were, and a new
run begins without. An example has its own messages, so how many threads there are does not matter.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    implements,
    oracle_memory,
    tell_gap,
    tell_haste,
    visit_work,
    workspace,
)
from maxmargin.core.sealed import write_addresses
from maxmargin.features.rows import frozen
from maxmargin.inference.graph.branch import BranchRoom
from maxmargin.inference.graph.srmp import SRMP, SrmpRoom, srmp_room
from maxmargin.structures.graph.data import (
    CyclicGraphs,
    Effort,
    GeneralGraphs,
    GraphMemory,
    Graphs,
    Passing,
    graph_potentials,
)
from maxmargin.structures.graph.shapes import graph_of

#: How many bytes messages may take, by default: of all examples, and of one branch and bound.
MOST_BYTES = 1 << 28
#: About how many iterations of message passing a visit makes, each of two passes.
N_USUAL = 100
#: How many search nodes of branch and bound keep their messages.
KEPT_ROWS = 64


def general_data(
    graphs: Graphs,
    precision: float = 0.0,
    n_iterations: int = 100,
    most_branches: int = 100,
    most_bytes: int = MOST_BYTES,
) -> GeneralGraphs:
    """Return graphs that may have cycles and hyperedges.

    Parameters
    ----------
    graphs : Graphs
    precision : float >= 0
        The part of a loss that the oracle may leave open between its bound and the output found.
    n_iterations : int
        Most iterations of message passing in one call.
    most_branches : int
        Most nodes of branch and bound in one call, where message passing leaves a gap; 0: none.
    most_bytes : int
        How much memory the messages of all examples may take. Those of the first examples are kept;
        the others start from nothing every time.
    """
    passing, memory = passing_of_all(graphs), message_memory(graphs, most_bytes)
    return GeneralGraphs(graphs, passing, memory, Effort(precision, n_iterations, most_branches))


def passing_of_all(graphs: Graphs) -> Passing:
    """Return what message passing reads of each graph."""
    shapes = graphs.shapes
    rooms = [srmp_room(graph_of(shapes, i)) for i in range(len(shapes.n_cells))]

    def stacked(name: str, dtype: Any) -> np.ndarray:
        arrays = [np.zeros(0, dtype=dtype), *(getattr(room, name) for room in rooms)]
        return frozen(np.concatenate(arrays), dtype)

    return Passing(
        stacked("reach", np.uint8),
        stacked("share", np.float64),
        stacked("partner", np.int64),
        stacked("far", np.int32),
        stacked("is_row", np.bool_),
        frozen(np.diff(graphs.hyper_at) > 0, np.int8),
    )


def message_memory(graphs: Graphs, most_bytes: int) -> GraphMemory:
    """Return memory for the messages of the first graphs, as many as fit, all 0."""
    sizes = np.diff(graphs.shapes.slot_from) * graphs.layout.n_labels
    fits = np.cumsum(8 * sizes) <= most_bytes
    at = np.concatenate([[0], np.cumsum(np.where(fits, sizes, 0))])
    messages, left = np.zeros(int(at[-1])), np.zeros(len(sizes))
    return GraphMemory(messages, np.zeros(1), np.zeros(1), np.zeros(1), frozen(at, np.int64), left)


def left_open(data: Any) -> np.ndarray:
    """Return per graph how much better the best labelling can be than the last that was found."""
    if isinstance(data, GeneralGraphs):
        return np.array(data.memory.left)
    return np.zeros(len(data.graphs.shapes.n_cells))


def way_of_search(data: Any) -> str:
    """Return the method of `inference.solve_graph` that searches as the oracle does."""
    if not isinstance(data, GeneralGraphs):
        return "forest"
    return "branch" if data.effort.most_branches else "srmp"


class CyclicRoom(NamedTuple):
    """Room for the best labelling of one graph; arrays are as long as the largest graph needs."""

    augmented: Any  # (most nodes * n_labels,)
    tables: Any  # (most cells,), for costs of edges
    messages: Any  # (most slots * n_labels,)
    spare: Any  # the same: messages of a part of the labellings, see zero_one.py
    labels: Any  # (most nodes,) int32
    rest: Any
    held: Any
    theta: Any
    guess: Any
    out: Any
    floor: Any
    keeps: Any
    margin: Any
    trial: Any
    branch: BranchRoom  # of which kept is flat
    kept: Any  # (rows * 2 * most slots * n_labels,)
    entries: Any  # (3,) int64: addresses of kernels, see sealed.py


def cyclic_room(data: Any) -> CyclicRoom:
    """Return room for the largest graph, and for branch and bound."""
    shapes, n_labels = data.graphs.shapes, data.graphs.layout.n_labels
    n_nodes, n_messages = len(shapes.n_labels), int(shapes.message_at[-1])
    most = data.effort.most_branches
    size = most + 2 if most else 0  # then branch and bound is not even compiled, see sealed.py
    n_rows = max(1, min(most // 2 + 2, KEPT_ROWS, MOST_BYTES // (16 * max(1, n_messages))))

    def ints(length: int) -> np.ndarray:
        return np.zeros(length, dtype=np.int32)

    entries = np.zeros(3, dtype=np.int64)
    # Here and not in sealed.py: compiled branch and bound calls it whoever calls branch and bound.
    write_addresses(entries[:1], SRMP)
    none = np.zeros(0)
    no_room = SrmpRoom(
        np.zeros(0, dtype=np.uint8),
        none,
        np.zeros(0, dtype=np.int64),
        ints(0),
        np.zeros(0, dtype=np.bool_),
        none,
        none,
        none,
        none,
        none,
        none,
        np.zeros(0, dtype=np.bool_),
        none,
        ints(0),
    )
    branch = BranchRoom(
        np.zeros(4, dtype=np.int64),
        np.zeros(2),
        np.zeros(size),
        ints(size),
        ints(size),
        ints(size),
        np.zeros(size, dtype=np.bool_),
        ints(size),
        ints(size),
        ints(size),
        ints(size),
        np.zeros((0, 0)),
        ints(n_rows),
        np.zeros(n_nodes * n_labels),
        np.zeros(n_messages),
        ints(n_nodes),
        no_room,
        entries,
    )
    return CyclicRoom(
        np.zeros(n_nodes * n_labels),
        np.zeros(int(np.asarray(shapes.n_cells).max(initial=0))),
        np.zeros(n_messages),
        np.zeros(n_messages),
        ints(n_nodes),
        np.zeros(n_messages),
        np.zeros(n_messages),
        np.zeros(n_labels),
        np.zeros(n_labels),
        np.zeros(n_labels),
        np.zeros(1),
        np.zeros(2, dtype=np.bool_),
        np.zeros(n_nodes),
        ints(n_nodes),
        branch,
        np.zeros(2 * n_rows * n_messages),
        entries,
    )


@implements(workspace, GeneralGraphs)
def _workspace(data):
    """Return theta and room for the largest graph."""
    return graph_potentials(data), cyclic_room(data)


@implements(oracle_memory, CyclicGraphs)
def _oracle_memory(data):
    """Return the messages, and how far the run is."""
    memory = data.memory
    return {"messages": memory.messages, "gap": memory.gap, "loss": memory.loss}


@implements(tell_gap, CyclicGraphs)
def _tell_gap(data, gap, loss):
    """Keep both."""
    data.memory.gap[0] = gap if 0.0 < gap < 1.0 else 1.0
    data.memory.loss[0] = loss if 0.0 < loss < np.inf else 0.0


@implements(tell_haste, CyclicGraphs)
def _tell_haste(data, is_hasty):
    """Keep it."""
    data.memory.haste[0] = float(is_hasty)


@implements(visit_work, CyclicGraphs)
def _visit_work(data):
    """Return what `N_USUAL` iterations of message passing read, which is most of the work."""
    n_graphs = max(len(data.graphs.shapes.n_cells), 1)
    n_labels = data.graphs.layout.n_labels
    n_unary = len(data.graphs.labels) * n_labels
    n_cells = float(np.asarray(data.graphs.shapes.n_cells).sum())
    return N_USUAL * (n_unary + n_cells) / n_graphs


@jitable
def srmp_room_of(data, room, i):
    """Return the workspace of message passing in graph i, made of views."""
    shapes, passing = data.graphs.shapes, data.passing
    first, last = shapes.node_at[i], shapes.node_at[i + 1]
    slot, end = shapes.slot_from[i], shapes.slot_from[i + 1]
    n_messages = (end - slot) * data.graphs.layout.n_labels
    return SrmpRoom(
        passing.reach[slot:end],
        passing.share[first:last],
        passing.partner[slot:end],
        passing.far[slot:end],
        passing.is_row[slot:end],
        room.rest[:n_messages],
        room.held[: n_messages * passing.has_hyper[i]],
        room.theta,
        room.guess,
        room.out,
        room.floor,
        room.keeps,
        room.margin[: last - first],
        room.trial[: last - first],
    )


@jitable
def branch_room_of(data, room, own, i):
    """Return the workspace of branch and bound in graph i, given that of message passing."""
    shapes, branch = data.graphs.shapes, room.branch
    n = shapes.node_at[i + 1] - shapes.node_at[i]
    n_labels = data.graphs.layout.n_labels
    n_messages = (shapes.slot_from[i + 1] - shapes.slot_from[i]) * n_labels
    n_rows = branch.free.shape[0]
    return BranchRoom(
        branch.counts,
        branch.values,
        branch.bound,
        branch.parent,
        branch.node,
        branch.label,
        branch.is_fixed,
        branch.next_node,
        branch.next_label,
        branch.row,
        branch.heap,
        room.kept[: 2 * n_rows * n_messages].reshape((n_rows, 2 * n_messages)),
        branch.free,
        branch.unary[: n * n_labels],
        branch.messages[:n_messages],
        branch.labels[:n],
        own,
        room.entries,
    )

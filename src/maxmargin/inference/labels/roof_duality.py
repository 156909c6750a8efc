"""Roof duality: the local-polytope relaxation of a pairwise label set, solved by one max flow.

The relaxation maximises ``sum_j unary[j] x_j + sum_e pair[e] mu_e`` over 0 <= x <= 1 and
``max(0, x_a + x_b - 1) <= mu_e <= min(x_a, x_b)``. It has an optimal vertex with all x in
{0, 1/2, 1}, and labels that are integral there are so in some best label set (persistency).

Three steps, of which in training the first mostly suffices:

1. Dominance. If x_j = 1 cannot gain, whatever the undecided neighbours of j are, x_j is 0; if it
   cannot lose, x_j is 1. The pair weights of decided labels go into the unaries of their
   neighbours, and the step is repeated until it decides nothing.
2. Minimum cut. Twice the score is, up to a constant, the sum over labels with x_j = 1 of
   2 unary[j] + sum_{e at j} pair[e], minus |pair[e]| for each edge whose ends differ (pair > 0) or
   agree (pair < 0). If no pair is < 0, maximising this is a cut problem. Otherwise each label gets
   a second node, its opposite: two labels agree if one differs from the opposite of the other. If
   a cut of this doubled network puts a label and its opposite on the same side, the label is 1/2.
3. Ties. A label that this cut leaves at 1/2 may be decided by another minimum cut. A label can be
   decided if it is not strongly connected with its opposite in the residual network, as in 2-SAT.
   Only after this step is the answer a vertex.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.core.sealed import sealed
from maxmargin.inference.graph.maxflow import FlowNetwork, FlowRoom, flow_room, max_flow
from maxmargin.inference.labels.dominance import OPEN, decide_by_dominance
from maxmargin.inference.labels.graph import LabelGraph, label_graph

__all__ = ["ROOF_DUAL", "RoofRoom", "roof_dual", "roof_room"]


class RoofRoom(NamedTuple):
    """Workspace of `roof_dual` for one graph of m labels and E edges."""

    # For dominance, one entry per label. field: its unary plus the pair weights of neighbours that
    # are 1; rise and fall: the sums of the positive and of the negative pair weights to undecided
    # neighbours; queue: the labels that are still undecided.
    field: npt.NDArray[np.float64]
    rise: npt.NDArray[np.float64]
    fall: npt.NDArray[np.float64]
    queue: npt.NDArray[np.int32]
    # open_labels: the open (undecided) labels; number[j]: the index of label j in `open_labels`.
    open_labels: npt.NDArray[np.int32]
    number: npt.NDArray[np.int32]
    # The doubled network of the open labels, and workspaces of `max_flow` and `_decide_ties` with
    # one entry per node.
    network: FlowNetwork
    flow: FlowRoom
    low: npt.NDArray[np.int32]
    component: npt.NDArray[np.int32]


def roof_room(graph: LabelGraph) -> RoofRoom:
    """Return the workspace of `roof_dual` for this graph."""
    n_labels, n_edges = len(graph.start) - 1, len(graph.edges)
    n_nodes, n_arcs = 2 * n_labels, 4 * n_edges
    network = FlowNetwork(
        np.empty(n_nodes + 1, dtype=np.int64),
        np.empty(n_arcs, dtype=np.int32),
        np.empty(n_arcs, dtype=np.int32),
        np.empty(n_arcs),
        np.empty(n_nodes),
    )
    return RoofRoom(
        np.empty(n_labels),
        np.empty(n_labels),
        np.empty(n_labels),
        np.empty(n_labels, dtype=np.int32),
        np.empty(n_labels, dtype=np.int32),
        np.empty(n_labels, dtype=np.int32),
        network,
        flow_room(n_nodes),
        np.empty(n_nodes, dtype=np.int32),
        np.empty(n_nodes, dtype=np.int32),
    )


@kernel
def roof_dual(unary, graph, pair, room, node2, edge2):
    """Solve the relaxation; fill node2 with 2 x and edge2 with 2 mu; return its value.

    Parameters
    ----------
    unary : float64 array of shape (m,)
        Finite, or -inf for a label that must be 0.
    graph : LabelGraph
    pair : float64 array of shape (E,)
        Finite.
    room : RoofRoom
        Of this graph. Overwritten.
    node2, edge2 : int32 arrays of shape (m,) and (E,)
        Filled with 0, 1 or 2. An edge takes the best value that its ends allow: if both ends are
        1/2, edge2 is 1 where pair > 0, otherwise 0.

    Returns
    -------
    float
        The value at this vertex, which no label set exceeds (up to rounding).
    """
    n_open = decide_by_dominance(unary, graph, pair, room, node2)
    if n_open > 0:
        is_doubled = _lay_out(graph, pair, room, node2)
        n_nodes = 2 * n_open if is_doubled else n_open
        max_flow(n_nodes, room.network, room.flow)
        n_halves = _read_cut(n_open, is_doubled, room, node2)
        if n_halves > 0:
            _decide_ties(n_open, room, node2)
    value = 0.0
    for j in range(unary.shape[0]):
        if node2[j] > 0:
            value += 0.5 * node2[j] * unary[j]
    edges = graph.edges
    for e in range(pair.shape[0]):
        a, b = node2[edges[e, 0]], node2[edges[e, 1]]
        if a == 1 and b == 1:
            edge2[e] = 1 if pair[e] > 0.0 else 0
        else:
            edge2[e] = min(a, b)
        value += 0.5 * edge2[e] * pair[e]
    return value


@kernel
def _lay_out(graph, pair, room, node2):
    """Make the network of the open labels; return whether it has to be doubled.

    Of n open labels, label number k is node k and its opposite is node n + k. The second half of
    the arcs repeats the first half with every node replaced by its opposite.
    """
    edges, field, open_labels, number = graph.edges, room.field, room.open_labels, room.number
    start, head, mate, residual, excess = room.network
    n = 0
    for j in range(node2.shape[0]):
        if node2[j] == OPEN:
            open_labels[n] = j
            number[j] = n
            excess[n] = 2.0 * field[j]
            start[n] = 0
            n += 1
    start[n] = 0
    is_doubled = False
    for e in range(pair.shape[0]):
        a, b = edges[e, 0], edges[e, 1]
        if node2[a] == OPEN and node2[b] == OPEN and pair[e] != 0.0:
            start[number[a] + 1] += 1
            start[number[b] + 1] += 1
            is_doubled = is_doubled or pair[e] < 0.0
    for k in range(n):
        start[k + 1] += start[k]
    n_arcs = start[n]
    cursor = room.flow.current
    for k in range(n):
        cursor[k] = start[k]
    for e in range(pair.shape[0]):
        a, b = edges[e, 0], edges[e, 1]
        if node2[a] == OPEN and node2[b] == OPEN and pair[e] != 0.0:
            a, b = number[a], number[b]
            excess[a] += pair[e]
            excess[b] += pair[e]
            there, back = cursor[a], cursor[b]
            cursor[a] += 1
            cursor[b] += 1
            residual[there] = residual[back] = abs(pair[e])
            head[there], mate[there] = b, back
            head[back], mate[back] = a, there
            if pair[e] < 0.0:
                head[there] += n
                mate[there] += n_arcs
                head[back] += n
                mate[back] += n_arcs
    if is_doubled:
        for k in range(n):
            start[n + k + 1] = n_arcs + start[k + 1]
            excess[n + k] = -excess[k]
        for i in range(n_arcs):
            residual[n_arcs + i] = residual[i]
            head[n_arcs + i] = head[i] + n if head[i] < n else head[i] - n
            mate[n_arcs + i] = mate[i] + n_arcs if mate[i] < n_arcs else mate[i] - n_arcs
    return is_doubled


@kernel
def _read_cut(n_open, is_doubled, room, node2):
    """Set the open labels by the sides of their nodes in the cut; return how many are 1/2."""
    level, open_labels = room.flow.level, room.open_labels
    n_halves = 0
    for k in range(n_open):
        if not is_doubled:
            node2[open_labels[k]] = 2 if level[k] >= 0 else 0
        elif (level[k] >= 0) == (level[n_open + k] >= 0):
            node2[open_labels[k]] = 1
            n_halves += 1
        else:
            node2[open_labels[k]] = 2 if level[k] >= 0 else 0
    return n_halves


@kernel
def _decide_ties(n_open, room, node2):
    """Set labels at 1/2 to 0 or 1 where some minimum cut does so.

    Tarjan's algorithm finds the strongly connected components of the residual network of these
    labels, numbered so that arcs lead to equal or lower numbers. If a node is on the source side,
    every node that its arcs lead to must be there too. Of a label and its opposite, the one whose
    component has the lower number goes to the source side. This satisfies the rule, because
    exchanging all nodes with their opposites maps the network to itself with all arcs reversed.
    """
    start, head, mate, residual, _ = room.network
    open_labels, low, component = room.open_labels, room.low, room.component
    seen, stack, current, path = room.flow.level, room.flow.queue, room.flow.current, room.flow.path
    n_nodes = 2 * n_open
    n_arcs = start[n_nodes]
    for v in range(n_nodes):
        seen[v] = 0
        component[v] = -1
        current[v] = start[v]
    n_seen = 0
    n_components = 0
    n_stacked = 0
    for root in range(n_nodes):
        if seen[root] > 0 or node2[open_labels[root % n_open]] != 1:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            v = path[depth]
            if seen[v] == 0:
                n_seen += 1
                seen[v] = n_seen
                low[v] = n_seen
                stack[n_stacked] = v
                n_stacked += 1
            i = current[v]
            descend = False
            while i < start[v + 1] and not descend:
                w = head[i]
                # Exchanging nodes with their opposites gives another maximum flow. Treat an arc as
                # full only if it is full in both flows: rounding in one of them then does not
                # break the symmetry.
                mirror = mate[i] + n_arcs // 2
                if mirror >= n_arcs:
                    mirror -= n_arcs
                is_open = node2[open_labels[w % n_open]] == 1
                if is_open and (residual[i] > 0.0 or residual[mirror] > 0.0):
                    if seen[w] == 0:
                        descend = True
                        depth += 1
                        path[depth] = w
                        continue  # come back to this arc with low[w] known
                    if component[w] < 0:
                        low[v] = min(low[v], low[w])
                i += 1
            current[v] = i
            if descend:
                continue
            if low[v] == seen[v]:
                while True:
                    n_stacked -= 1
                    component[stack[n_stacked]] = n_components
                    if stack[n_stacked] == v:
                        break
                n_components += 1
            depth -= 1
    for k in range(n_open):
        if node2[open_labels[k]] == 1 and component[k] != component[n_open + k]:
            node2[open_labels[k]] = 2 if component[k] < component[n_open + k] else 0


def _example() -> tuple[Any, ...]:
    """Return arguments of `roof_dual`, of the types that all callers have."""
    graph = label_graph(2, [(0, 1)])
    node2, edge2 = np.zeros(2, dtype=np.int32), np.zeros(1, dtype=np.int32)
    return np.zeros(2), graph, np.zeros(1), roof_room(graph), node2, edge2


#: It takes seconds to compile, so all callers share one code.
ROOF_DUAL = sealed(roof_dual, 0, "float64", _example)

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

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference._checks import check_potential, check_shape
from maxmargin.inference.answer import Answer, Exactness, exact
from maxmargin.inference.graph.maxflow import FlowNetwork, FlowRoom, flow_room, max_flow
from maxmargin.inference.labels.graph import LabelGraph, label_graph

__all__ = [
    "RelaxedLabels",
    "RoofRoom",
    "bounded",
    "decide_by_dominance",
    "relax",
    "roof_dual",
    "roof_room",
]

_OPEN = -1


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
def decide_by_dominance(unary, graph, pair, room, node2):
    """Decide labels by dominance; return how many remain open.

    node2[j] is 0 or 2 for decided labels, -1 for open ones. Afterwards room.field[j] of an open
    label is its unary plus the pair weights to decided neighbours that are 1.
    """
    field, rise, fall, queue = room.field, room.rise, room.fall, room.queue
    n_labels = unary.shape[0]
    for j in range(n_labels):
        field[j] = unary[j]
        rise[j] = 0.0
        fall[j] = 0.0
        node2[j] = _OPEN
    for e in range(pair.shape[0]):
        a, b = graph.edges[e, 0], graph.edges[e, 1]
        up, down = max(pair[e], 0.0), min(pair[e], 0.0)
        rise[a] += up
        rise[b] += up
        fall[a] += down
        fall[b] += down
    # Sweep until a sweep decides nothing: each decision may allow further ones.
    n_open = n_labels
    for j in range(n_labels):
        queue[j] = j
    changed = True
    while changed:
        n_kept = 0
        for k in range(n_open):
            j = queue[k]
            if field[j] + rise[j] <= 0.0 or field[j] + fall[j] >= 0.0:
                # Sum anew: subtracting large terms may have left rise and fall inaccurate.
                _sum_open(j, graph, pair, room, node2)
            stays_out = field[j] + rise[j] <= 0.0
            if stays_out or field[j] + fall[j] >= 0.0:
                _decide(j, 0 if stays_out else 2, graph, pair, room, node2)
            else:
                queue[n_kept] = j
                n_kept += 1
        changed = n_kept < n_open
        n_open = n_kept
    return n_open


@kernel
def _sum_open(j, graph, pair, room, node2):
    """Set room.rise[j] and room.fall[j] by summing anew the pair weights from j to open labels."""
    up = 0.0
    down = 0.0
    for i in range(graph.start[j], graph.start[j + 1]):
        if node2[graph.neighbour[i]] == _OPEN:
            weight = pair[graph.edge_of[i]]
            up += max(weight, 0.0)
            down += min(weight, 0.0)
    room.rise[j] = up
    room.fall[j] = down


@kernel
def _decide(j, value, graph, pair, room, node2):
    """Set node2[j] = value, and update field, rise and fall of the neighbours of j."""
    node2[j] = value
    for i in range(graph.start[j], graph.start[j + 1]):
        k = graph.neighbour[i]
        weight = pair[graph.edge_of[i]]
        if value > 0:
            room.field[k] += weight
        room.rise[k] -= max(weight, 0.0)
        room.fall[k] -= min(weight, 0.0)


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
        if node2[j] == _OPEN:
            open_labels[n] = j
            number[j] = n
            excess[n] = 2.0 * field[j]
            start[n] = 0
            n += 1
    start[n] = 0
    is_doubled = False
    for e in range(pair.shape[0]):
        a, b = edges[e, 0], edges[e, 1]
        if node2[a] == _OPEN and node2[b] == _OPEN and pair[e] != 0.0:
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
        if node2[a] == _OPEN and node2[b] == _OPEN and pair[e] != 0.0:
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


class RelaxedLabels(NamedTuple):
    """An optimal vertex of the local-polytope relaxation, as `relax` returns it.

    Attributes
    ----------
    node : float64 array of shape (m,)
        0, 1/2 or 1 for each label. Labels at 0 or 1 are so in some best label set.
    edge : float64 array of shape (E,)
        0, 1/2 or 1: how much both ends of the edge are present.
    bound : float
        The value of the relaxation, which no label set exceeds.
    exactness : Exactness
        EXACT if every label is 0 or 1: it is then a best label set.
    """

    node: npt.NDArray[np.float64]
    edge: npt.NDArray[np.float64]
    bound: float
    exactness: Exactness


def relax(unary: npt.ArrayLike, edges: npt.ArrayLike, pair: npt.ArrayLike) -> RelaxedLabels:
    """Return an optimal vertex of the local-polytope relaxation.

    Maximises ``sum_j unary[j] x_j + sum_e pair[e] mu_e`` over 0 <= x <= 1 and
    ``max(0, x_a + x_b - 1) <= mu_e <= min(x_a, x_b)``. If no pair is negative, or if the edges
    form a forest, x comes out integral.

    Parameters
    ----------
    unary : array-like of shape (m,)
        Finite, or -inf for a label that must be absent.
    edges : array-like of int of shape (E, 2)
        Pairs of different labels, each pair once.
    pair : array-like of shape (E,)
        Finite, of any sign.

    Examples
    --------
    Three labels that would each like to be there, but not together with another one:

    >>> from maxmargin.inference.labels.roof_duality import relax
    >>> triangle = [(0, 1), (1, 2), (0, 2)]
    >>> relaxed = relax([1.0, 1.0, 1.0], triangle, [-4.0, -4.0, -4.0])
    >>> relaxed.node, relaxed.bound, relaxed.exactness.value
    (array([0.5, 0.5, 0.5]), 1.5, 'relaxed')

    Weights that attract each other leave no doubt:

    >>> relax([-1.0, -1.0, 0.5], triangle, [1.0, 1.0, 1.0]).node
    array([1., 1., 1.])
    """
    weights, graph, pairs = _check_weights(unary, edges, pair)
    node2 = np.empty(len(weights), dtype=np.int32)
    edge2 = np.empty(len(pairs), dtype=np.int32)
    value = roof_dual(weights, graph, pairs, roof_room(graph), node2, edge2)
    exactness = Exactness.RELAXED if (node2 == 1).any() else Exactness.EXACT
    return RelaxedLabels(node2 / 2.0, edge2 / 2.0, float(value), exactness)


def bounded(unary: npt.ArrayLike, edges: npt.ArrayLike, pair: npt.ArrayLike) -> Answer:
    """Return a good label set, and a bound that no label set exceeds.

    Labels that the relaxation decides are those of some best label set; labels that it leaves at
    1/2 are set by local search.

    Parameters are those of `relax`.

    Returns
    -------
    Answer
        Its `output` is an int32 array of m zeros and ones. Its exactness is EXACT if the relaxation
        was integral, otherwise RELAXED, with its value as `bound`.

    Examples
    --------
    >>> from maxmargin.inference.labels.roof_duality import bounded
    >>> triangle = [(0, 1), (1, 2), (0, 2)]
    >>> answer = bounded([1.0, 2.0, 1.0], triangle, [-4.0, -4.0, -4.0])
    >>> answer.output, answer.score, answer.bound
    (array([0, 1, 0], dtype=int32), 2.0, 2.0)
    >>> bounded([-1.0, 2.0], [(0, 1)], [3.0]).exactness.value
    'exact'
    """
    # `flips` imports this module, so it cannot be imported at the top.
    from maxmargin.inference.labels.flips import best_labels_bounded, bounded_room

    weights, graph, pairs = _check_weights(unary, edges, pair)
    y = np.empty(len(weights), dtype=np.int32)
    room = bounded_room(graph)
    score, bound = best_labels_bounded(weights, graph, pairs, room, y)
    if (room.node2 == 1).any():
        return Answer(y, float(score), float(bound), Exactness.RELAXED)
    return exact(y, score)


def _check_weights(
    unary: npt.ArrayLike, edges: npt.ArrayLike, pair: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], LabelGraph, npt.NDArray[np.float64]]:
    weights = check_potential("unary", unary, 1)
    if len(weights) == 0:
        raise ValueError("unary is empty; expected the score of at least one label.")
    graph = label_graph(len(weights), edges)
    pairs = check_potential("pair", pair, 1)
    check_shape("pair", pairs, (len(graph.edges),), "one number per edge")
    if (pairs == -np.inf).any():
        e = int(np.argmax(pairs == -np.inf))
        raise ValueError(f"pair[{e}] is -inf; expected a finite number, if need be a very low one.")
    # The kernels compute sums in which every weight occurs a few times.
    sizes = np.abs(np.concatenate([weights[weights > -np.inf], pairs]))
    if sizes.max(initial=0.0) > 1e300 / max(1, len(sizes)):
        raise ValueError(f"unary and pair go up to {sizes.max()}, so that sums would overflow.")
    return weights, graph, pairs

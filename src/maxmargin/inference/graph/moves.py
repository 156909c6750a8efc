"""Expansion moves: any number of nodes change to one label a at once, by one cut.

Whether node v changes (z_v = 1) or keeps its label (z_v = 0) is a label set with the weights

    unary_v = u_v(a) - u_v(x_v) + sum over edges (T10 - T00 or T01 - T00),
    pair_e  = T11 + T00 - T10 - T01,

T10 the entry of the edge where only its first node changes. If no pair is negative, as with Potts
and other metrics, one minimum cut finds the best of all these moves. For any other potentials roof
duality decides some of the nodes. Those that it leaves at 1/2 keep their labels, and persistency
says that the move then loses nothing: metric and other tables need no different code.

Forbidden entries are a penalty, larger than all that the other terms can gain. Since the labelling
at the start is feasible, so are those after it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.factors.switch import KINDS
from maxmargin.inference.graph.score import labelling_score
from maxmargin.inference.graph.shape import DENSE, Shape
from maxmargin.inference.labels.graph import LabelGraph
from maxmargin.inference.labels.roof_duality import RoofRoom, roof_dual, roof_room

__all__ = ["MovesRoom", "expand", "moves_room"]

#: A move counts as a gain only if the score grows by more than this share of its size.
_PRECISION = 1e-12


class MovesRoom(NamedTuple):
    """Workspace of `expand` for one graph of n nodes and E edges."""

    # The factors of two nodes, as edges of a label graph; their numbers, and those of one node.
    graph: LabelGraph
    pairs: npt.NDArray[np.int32]
    singles: npt.NDArray[np.int32]
    # The weights of the label set of a move, and the answer of roof duality.
    unary: npt.NDArray[np.float64]
    pair: npt.NDArray[np.float64]
    roof: RoofRoom
    node2: npt.NDArray[np.int32]
    edge2: npt.NDArray[np.int32]
    # The labels before a move.
    before: npt.NDArray[np.int32]


def moves_room(shape: Shape) -> MovesRoom:
    """Return the workspace of `expand`; refuse factors of three nodes and more, and other kinds."""
    singles, pairs, graph = pair_factors("expansion moves", shape)
    n_nodes, n_edges = len(shape.n_labels), len(pairs)
    return MovesRoom(
        graph,
        pairs,
        singles,
        np.empty(n_nodes),
        np.empty(n_edges),
        roof_room(graph),
        np.empty(n_nodes, dtype=np.int32),
        np.empty(n_edges, dtype=np.int32),
        np.empty(n_nodes, dtype=np.int32),
    )


def pair_factors(
    what: str, shape: Shape
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], LabelGraph]:
    """Return the factors of one node, those of two, and the latter as the edges of a graph.

    Refuses larger tables and other kinds of factors; `what` says who has no use for them.
    """
    orders = np.diff(shape.member_at)
    bad = (orders > 2) | (shape.kinds != DENSE)
    if bad.any():
        f = int(np.argmax(bad))
        nodes = shape.members[shape.member_at[f] : shape.member_at[f + 1]].tolist()
        name = KINDS[int(shape.kinds[f])].__name__.rpartition(".")[2]
        raise ValueError(
            f"factor {f} is of kind {name!r} and joins the nodes {nodes}; {what} can use tables "
            "of at most two nodes only. Methods that take it: 'srmp', 'local', 'ilp'."
        )
    pairs = np.flatnonzero(orders == 2).astype(np.int32)
    first = shape.member_at[pairs]
    edges = np.stack([shape.members[first], shape.members[first + 1]], axis=1)
    graph = _label_graph(len(shape.n_labels), edges)
    return np.flatnonzero(orders == 1).astype(np.int32), pairs, graph


def _label_graph(n_nodes: int, edges: npt.NDArray[np.int32]) -> LabelGraph:
    """Return the label graph of edges that were checked before; they may come twice."""
    n_edges = len(edges)
    ends, others = edges.T.ravel(), edges[:, ::-1].T.ravel()
    order = np.lexsort((others, ends))
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=n_nodes), out=start[1:])
    numbers = np.tile(np.arange(n_edges, dtype=np.int32), 2)
    return LabelGraph(np.ascontiguousarray(edges), start, others[order], numbers[order])


@kernel
def expand(shape, unary, tables, n_rounds, room, labels):
    """Improve a feasible labelling by expansion moves; return the score and the number of moves.

    Labels are tried in turn, until all of them were tried without a gain, or for `n_rounds` rounds
    of all labels. A labelling that is not feasible is returned as it is, with the score -inf.
    """
    score = labelling_score(shape, unary, tables, labels)
    most = 0
    for v in range(shape.n_labels.shape[0]):
        most = max(most, shape.n_labels[v])
    if score == -np.inf or most <= 1:
        return score, 0
    penalty = _penalty(shape, unary, tables, room)
    n_idle = 0
    n_moves = 0
    while n_idle < most and n_moves < n_rounds * most:
        reached = expand_to(n_moves % most, score, penalty, shape, unary, tables, room, labels)
        n_moves += 1
        n_idle = 0 if reached > score else n_idle + 1
        score = reached
    return score, n_moves


@kernel
def expand_to(label, score, penalty, shape, unary, tables, room, labels):
    """Make the move to one label; return the score afterwards, `score` if nothing was gained."""
    _set_weights(label, penalty, shape, unary, tables, room, labels)
    roof_dual(room.unary, room.graph, room.pair, room.roof, room.node2, room.edge2)
    is_moved = False
    for v in range(labels.shape[0]):
        room.before[v] = labels[v]
        if room.node2[v] == 2:
            is_moved = True
            labels[v] = label
    if not is_moved:
        return score
    reached = labelling_score(shape, unary, tables, labels)
    if reached > score + _PRECISION * (1.0 + abs(score)):
        return reached
    for v in range(labels.shape[0]):
        labels[v] = room.before[v]
    return score


@kernel
def _set_weights(label, penalty, shape, unary, tables, room, labels):
    """Fill room.unary and room.pair with the weights of the move to `label`."""
    weight, pair = room.unary, room.pair
    for v in range(labels.shape[0]):
        # A node that has the label, or cannot have it, keeps its own: it must be 0.
        weight[v] = -np.inf
        if label < shape.n_labels[v] and labels[v] != label:
            at = shape.unary_at[v]
            weight[v] = unary[at + label] - unary[at + labels[v]]
    for i in range(room.singles.shape[0]):
        f = room.singles[i]
        v = shape.members[shape.member_at[f]]
        if weight[v] > -np.inf:
            weight[v] += tables[shape.table_at[f] + label] - tables[shape.table_at[f] + labels[v]]
    for e in range(pair.shape[0]):
        f = room.pairs[e]
        a, b = room.graph.edges[e, 0], room.graph.edges[e, 1]
        n_columns = shape.n_labels[b]
        row = shape.table_at[f] + labels[a] * n_columns
        stays = tables[row + labels[b]]
        pair[e] = 0.0
        if weight[b] > -np.inf:
            second = max(tables[row + label], -penalty)
            weight[b] += second - stays
        if weight[a] > -np.inf:
            row = shape.table_at[f] + label * n_columns
            first = max(tables[row + labels[b]], -penalty)
            weight[a] += first - stays
            if weight[b] > -np.inf:
                pair[e] = max(tables[row + label], -penalty) + stays - first - second


@kernel
def _penalty(shape, unary, tables, room):
    """Return 2 (1 + the sum of the ranges of all finite terms), plus the lowest of them.

    So -penalty is lower than any entry by more than all terms together can gain.
    """
    total = 1.0
    lowest = 0.0
    is_needed = False
    for v in range(shape.n_labels.shape[0]):
        total += _range(unary, shape.unary_at[v], shape.unary_at[v + 1])[0]
    for i in range(room.singles.shape[0]):
        f = room.singles[i]
        at = shape.table_at[f]
        total += _range(tables, at, at + shape.n_labels[shape.members[shape.member_at[f]]])[0]
    for e in range(room.pairs.shape[0]):
        a, b = room.graph.edges[e, 0], room.graph.edges[e, 1]
        at = shape.table_at[room.pairs[e]]
        spread, least, is_open = _range(tables, at, at + shape.n_labels[a] * shape.n_labels[b])
        total += spread
        lowest = min(lowest, least)
        is_needed = is_needed or not is_open
    return 2.0 * total - lowest if is_needed else np.inf


@kernel
def _range(values, start, end):
    """Return the range of the finite numbers, the lowest of them, and whether all are finite."""
    least, most = np.inf, -np.inf
    is_open = True
    for i in range(start, end):
        if values[i] == -np.inf:
            is_open = False
        else:
            least = min(least, values[i])
            most = max(most, values[i])
    if most == -np.inf:
        return 0.0, 0.0, is_open
    return most - least, least, is_open

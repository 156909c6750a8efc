"""Graphs of two labels and pairs as label sets: minimum cuts and roof duality.

With x_v in {0, 1} a table T of the edge (a, b) is

    T00 + (T10 - T00) x_a + (T01 - T00) x_b + (T00 + T11 - T10 - T01) x_a x_b,

and the last weight is >= 0 if the edge is attractive. If all edges are, one minimum cut gives a
best labelling. Otherwise the cut of a network twice as large solves the linear relaxation; labels
that are integral there are so in some best labelling (see `maxmargin.inference.labels`).

Nodes with one possible label are taken out before, and their tables added to the neighbours. An
edge of the rest may forbid the pairs (0, 1) and (1, 0): that is an attractive weight, larger than
all others together. Other forbidden pairs have no such weight, and are left to other methods.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.answer import GraphAnswer, Options
from maxmargin.inference.graph.dense import dense_graph
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.score import labelling_score
from maxmargin.inference.labels.flips import best_labels_bounded, bounded_room
from maxmargin.inference.labels.graph import LabelGraph, label_graph

__all__ = ["Binary", "as_binary", "cut", "roof"]

Floats = npt.NDArray[np.float64]


class Binary(NamedTuple):
    """A label set with the scores of a graph, up to a constant.

    Attributes
    ----------
    fixed : int32 array of shape (n,)
        The labels of nodes that have only one possible label; -1 for the others.
    nodes : int64 array
        The other nodes, which are the labels of the label set.
    unary, pair : float64 arrays
    graph : LabelGraph
    constant : float
        The score of a labelling is this and the score of the label set; -inf if the constraints
        allow no labelling.
    """

    fixed: npt.NDArray[np.int32]
    nodes: npt.NDArray[np.int64]
    unary: Floats
    pair: Floats
    graph: LabelGraph
    constant: float

    @property
    def is_attractive(self) -> bool:
        """Whether no edge prefers its ends to differ."""
        return bool((self.pair >= 0.0).all())


def as_binary(graph: FactorGraph) -> Binary | None:
    """Return a graph as a label set; None if it has more labels, larger factors or other rules.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.binary import as_binary
    >>> found = as_binary(FactorGraph([[0, 1], [2, 0]], [(0, 1)], [[3, 0], [1, 3]]))
    >>> found.unary, found.pair, found.constant
    (array([-1., -5.]), array([5.]), 5.0)
    """
    shape = graph.shape
    if (shape.n_labels > 2).any() or (np.diff(shape.member_at) > 2).any():
        return None
    dense = dense_graph(graph)
    unary, ends, tables = _with_two_labels(dense)
    fixed = _propagate(unary, ends, tables)
    if fixed is None:
        nothing = np.zeros(0)
        free = np.zeros(0, dtype=np.int64)
        none = np.zeros(graph.n_nodes, dtype=np.int32)
        return Binary(none, free, nothing, nothing, label_graph(0, ()), -np.inf)
    is_fixed = fixed >= 0
    is_free_edge = ~is_fixed[ends].any(axis=1)
    left = tables[is_free_edge]
    # A free edge with both of its attractive or one of its repulsive cells forbidden.
    if (left[:, [0, 1], [0, 1]] == -np.inf).any():
        return None
    left, penalty = _penalised(unary[~is_fixed], left)
    nodes = np.flatnonzero(~is_fixed)
    number = np.cumsum(~is_fixed) - 1
    a, b = number[ends[is_free_edge]].T
    weights = unary[nodes, 1] - unary[nodes, 0]
    np.add.at(weights, a, left[:, 1, 0] - left[:, 0, 0])
    np.add.at(weights, b, left[:, 0, 1] - left[:, 0, 0])
    pair = left[:, 0, 0] + left[:, 1, 1] - left[:, 1, 0] - left[:, 0, 1]
    constant = unary[nodes, 0].sum() + left[:, 0, 0].sum()
    constant += unary[is_fixed, fixed[is_fixed]].sum()
    inner = is_fixed[ends].all(axis=1)
    constant += tables[inner, fixed[ends[inner, 0]], fixed[ends[inner, 1]]].sum()
    found = Binary(
        fixed,
        nodes,
        weights,
        pair,
        label_graph(len(nodes), np.stack([a, b], axis=1)),
        float(constant),
    )
    # A penalty has no meaning for a relaxation: the bound would be far above all scores.
    return None if penalty > 0.0 and not found.is_attractive else found


def _with_two_labels(graph: FactorGraph) -> tuple[Floats, npt.NDArray[np.int64], Floats]:
    """Return unary scores (n, 2), edges (E, 2) and tables (E, 2, 2).

    A second label that is not there is forbidden, and its tables are those of the first.
    """
    shape = graph.shape
    unary = np.full((graph.n_nodes, 2), -np.inf)
    unary[:, 0] = graph.unary[shape.unary_at[:-1]]
    two = shape.n_labels == 2
    unary[two, 1] = graph.unary[shape.unary_at[:-1][two] + 1]
    orders = np.diff(shape.member_at)
    for f in np.flatnonzero(orders == 1).tolist():
        v = shape.members[shape.member_at[f]]
        at, n_labels = shape.table_at[f], shape.n_labels[v]
        unary[v, :n_labels] += graph.tables[at : at + n_labels]
    pairs = np.flatnonzero(orders == 2)
    first = shape.member_at[pairs]
    ends = np.stack([shape.members[first], shape.members[first + 1]], axis=1).astype(np.int64)
    n_rows, n_columns = shape.n_labels[ends].T.astype(np.int64).reshape(2, -1)
    tables = np.empty((len(pairs), 2, 2))
    for x in range(2):
        for y in range(2):
            cell = np.minimum(x, n_rows - 1) * n_columns + np.minimum(y, n_columns - 1)
            tables[:, x, y] = graph.tables[shape.table_at[pairs] + cell]
    return unary, *_added_up(graph.n_nodes, ends, tables)


def _added_up(
    n_nodes: int, ends: npt.NDArray[np.int64], tables: Floats
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return edges (a, b) with a < b, each once: a table and a rule may join the same nodes."""
    is_turned = ends[:, 0] > ends[:, 1]
    tables[is_turned] = tables[is_turned].transpose(0, 2, 1)
    codes, which = np.unique(ends.min(axis=1) * n_nodes + ends.max(axis=1), return_inverse=True)
    total = np.zeros((len(codes), 2, 2))
    np.add.at(total, which, tables)
    return np.stack([codes // max(n_nodes, 1), codes % max(n_nodes, 1)], axis=1), total


def _propagate(
    unary: Floats, ends: npt.NDArray[np.int64], tables: Floats
) -> npt.NDArray[np.int32] | None:
    """Fix nodes with one possible label, and what follows from them; None if a node has no label.

    Labels that no label of a neighbour fits are forbidden. The tables of fixed nodes are added to
    the unary scores of neighbours that are not fixed.
    """
    hard = tables == -np.inf
    while True:
        open_ = unary > -np.inf
        if not open_.any(axis=1).all():
            return None
        fits = open_[ends[:, 0]][:, :, None] & open_[ends[:, 1]][:, None, :] & ~hard
        impossible = np.zeros_like(open_)
        for end in range(2):
            np.logical_or.at(impossible, ends[:, end], ~fits.any(axis=2 - end))
        impossible &= open_
        if not impossible.any():
            break
        unary[impossible] = -np.inf
    fixed = np.where(open_.all(axis=1), -1, open_.argmax(axis=1)).astype(np.int32)
    for end in range(2):
        here, there = ends[:, end], ends[:, 1 - end]
        chosen = np.flatnonzero((fixed[here] >= 0) & (fixed[there] < 0))
        rows = tables[chosen] if end == 0 else tables[chosen].transpose(0, 2, 1)
        np.add.at(unary, there[chosen], rows[np.arange(len(chosen)), fixed[here[chosen]]])
    return fixed


def _penalised(unary: Floats, tables: Floats) -> tuple[Floats, float]:
    """Return the tables with a large finite penalty where they forbid, and the penalty, or 0."""
    hard = tables == -np.inf
    if not hard.any():
        return tables, 0.0
    finite = np.where(hard, 0.0, tables)
    ranges = (unary.max(axis=1) - unary.min(axis=1)).sum() + 2.0 * np.abs(finite).sum()
    penalty = 2.0 * (1.0 + float(ranges))
    return np.where(hard, -penalty, tables), penalty


def cut(graph: FactorGraph, options: Options) -> GraphAnswer:
    """Solve a graph of attractive pairs of two labels by one minimum cut; refuse other graphs."""
    found = _checked(graph, "cut")
    if not found.is_attractive:
        e = int(np.argmin(found.pair))
        a, b = found.nodes[found.graph.edges[e]].tolist()
        raise ValueError(
            f"the edge ({a}, {b}) prefers different labels; a minimum cut needs attractive edges. "
            "Methods that fit: 'roof', 'auto'."
        )
    return solve_binary(graph, found, "cut", options)[0]


def roof(graph: FactorGraph, options: Options) -> GraphAnswer:
    """Solve the linear relaxation of a graph of pairs of two labels, and search from there."""
    return solve_binary(graph, _checked(graph, "roof"), "roof", options)[0]


def _checked(graph: FactorGraph, method: str) -> Binary:
    found = as_binary(graph)
    if found is None:
        raise ValueError(
            f"{method!r} needs nodes of at most two labels and factors of at most two nodes, which "
            "forbid no pair but (0, 1) and (1, 0). Methods that fit: 'auto', 'srmp', 'branch'."
        )
    return found


def solve_binary(
    graph: FactorGraph, binary: Binary, method: str, options: Options
) -> tuple[GraphAnswer, npt.NDArray[np.bool_]]:
    """Return the answer of roof duality, and which nodes are decided in some best labelling."""
    decided = np.ones(graph.n_nodes, dtype=bool)
    if binary.constant == -np.inf:
        return GraphAnswer(None, -np.inf, -np.inf, True, method, 0), decided
    labels = binary.fixed.copy()
    room = bounded_room(binary.graph)
    y = np.zeros(len(binary.nodes), dtype=np.int32)
    score, bound = best_labels_bounded(binary.unary, binary.graph, binary.pair, room, y)
    labels[binary.nodes] = y
    true_score = float(labelling_score(graph.shape, graph.unary, graph.tables, labels))
    if true_score == -np.inf:
        # All labellings pay the penalty of a forbidden pair: there is none without.
        return GraphAnswer(None, -np.inf, -np.inf, True, method, 0), decided
    decided[binary.nodes] = room.node2 != 1
    # The relaxation counts in other terms: only the difference of bound and score is used.
    bound = true_score + max(0.0, float(bound - score))
    is_exact = bool(decided.all()) or bound - true_score <= options.tol * (1.0 + abs(true_score))
    answer = GraphAnswer(labels, true_score, true_score if is_exact else bound, is_exact, method, 0)
    return answer, decided

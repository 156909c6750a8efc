"""Laws of graphs with cycles whose junction trees are small: the probabilities of cliques.

An order of elimination gives every node v a clique, v and its separator. A law has the cells of
theta, then those of all cliques, and its potentials are log p(clique) - log p(separator). So the
graph has a further factor for every clique, and elimination in the same order adds no others.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    implements,
    law_room,
    law_sizes,
    log_mass,
    marginals,
    part_counts,
)
from maxmargin.inference.graph.junction import (
    JunctionRoom,
    JunctionTree,
    junction_marginals,
    junction_room,
    laid_out,
    min_fill,
)
from maxmargin.inference.graph.shape import DENSE, Shape
from maxmargin.structures.graph.data import GeneralGraphs
from maxmargin.structures.graph.shapes import graph_of

#: The most cells of all cliques of a graph.
MOST_CELLS = 1 << 20
#: What is stacked of each graph: fields of the shape with cliques, then of the tree.
_STACKED = (
    "member_at", "members", "kinds", "table_at", "order", "above", "scope_at", "scope",
    "message_at", "source_at", "source_kind", "source", "stride_at", "stride",
)  # fmt: skip
#: So many of them are of the shape.
N_OF_SHAPE = 4


class JunctionLawRoom(NamedTuple):
    """Junction trees of all graphs with their cliques as factors, and room for the law of one.

    Array number k of graph i is stacked from starts[k, i] to starts[k, i + 1] - 1.
    """

    starts: Any  # (14, n + 1) int64
    member_at: Any
    members: Any
    kinds: Any
    table_at: Any
    order: Any
    above: Any
    scope_at: Any
    scope: Any
    message_at: Any
    source_at: Any
    source_kind: Any
    source: Any
    stride_at: Any
    stride: Any
    n_cells: Any  # (n,) int64: cells of all tables, those of cliques included
    unary: Any  # (most nodes * n_labels,)
    tables: Any  # (most cells,)
    sums: JunctionRoom


def with_cliques(shape: Shape, n_cells: int) -> tuple[Shape, JunctionTree, int]:
    """Return a shape with a factor for every clique, its junction tree and the cells of all tables.

    Raises ValueError if the cliques have too many cells.
    """
    found = min_fill(shape, MOST_CELLS)
    if not found.is_whole or found.n_cells > MOST_CELLS:
        raise ValueError(
            f"has a junction tree of more than {MOST_CELLS} cells, too many for expectations. "
            "Solvers that fit: bcfw, sdca, one_slack, n_slack, frank_wolfe, sgd, perceptron"
        )
    cliques = [[*nodes, v] for v, nodes in zip(found.order, found.separators, strict=True)]
    sizes = [int(np.prod(shape.n_labels[nodes], dtype=np.int64)) for nodes in cliques]
    begins = n_cells + np.concatenate([[0], np.cumsum(sizes)])
    ends = shape.member_at[-1] + np.cumsum([len(nodes) for nodes in cliques])
    extended = shape._replace(
        member_at=np.concatenate([shape.member_at, ends]).astype(np.int64),
        members=np.concatenate([shape.members, *cliques]).astype(np.int32),
        kinds=np.full(len(shape.kinds) + len(cliques), DENSE, dtype=np.int32),
        table_at=np.concatenate([shape.table_at, begins[:-1]]).astype(np.int64),
    )
    return extended, laid_out(extended, found), int(begins[-1])


#: Junction trees of data that are still there, by the identity of an array of theirs.
_KNOWN: dict[int, tuple[Any, JunctionLawRoom]] = {}


def _trees(data: Any) -> JunctionLawRoom:
    """Return the stacked trees, found once for each data set."""
    shapes = data.graphs.shapes
    key = id(shapes.members)
    known = _KNOWN.get(key)
    if known is None or known[0]() is not shapes.members:
        reference = weakref.ref(shapes.members, lambda _: _KNOWN.pop(key, None))
        known = _KNOWN[key] = (reference, _stacked(data))
    return known[1]


def _stacked(data: Any) -> JunctionLawRoom:
    shapes, n = data.graphs.shapes, len(data.graphs.shapes.n_cells)
    pieces: list[list[np.ndarray]] = [[] for _ in _STACKED]
    sizes, rooms = np.zeros(n, dtype=np.int64), []
    for i in range(n):
        shape = graph_of(shapes, i)
        try:
            extended, tree, sizes[i] = with_cliques(shape, int(shapes.n_cells[i]))
        except ValueError as error:
            raise ValueError(f"graph {i} {error}.") from None
        rooms.append(junction_room(extended, tree, 3))
        for k, name in enumerate(_STACKED):
            pieces[k].append(getattr(extended if k < N_OF_SHAPE else tree, name))
    starts = [np.concatenate([[0], np.cumsum([len(one) for one in kept])]) for kept in pieces]
    largest = [max(column, key=len) for column in zip(*rooms, strict=True)]
    most_nodes = int(np.diff(shapes.node_at).max(initial=0))
    stacks: Any = [np.concatenate(kept) for kept in pieces]
    unary = np.zeros(most_nodes * data.graphs.layout.n_labels)
    tables = np.zeros(int(sizes.max(initial=0)))
    return JunctionLawRoom._make(
        [np.array(starts, dtype=np.int64), *stacks, sizes, unary, tables, JunctionRoom(*largest)]
    )


@implements(law_sizes, GeneralGraphs)
def _law_sizes(data):
    """Return the labels of all nodes, and the cells of all tables and cliques."""
    return part_counts(data)[:, 0] + _trees(data).n_cells


@implements(law_room, GeneralGraphs)
def _law_room(data):
    """Return the trees, with new room for the largest graph."""
    known = _trees(data)
    return known._replace(
        unary=known.unary.copy(),
        tables=known.tables.copy(),
        sums=JunctionRoom(*(array.copy() for array in known.sums)),
    )


@jitable
def _shape_of(data, i, own):
    """Return the shape of graph i with its cliques, made of views; slots are left out."""
    shapes, s = data.graphs.shapes, own.starts
    n = shapes.node_at[i + 1] - shapes.node_at[i]
    none = shapes.message_at[:0]
    few = shapes.slots[:0]
    return Shape(
        shapes.n_labels[:n],
        shapes.unary_at[: n + 1],
        own.member_at[s[0, i] : s[0, i + 1]],
        own.members[s[1, i] : s[1, i + 1]],
        few,
        own.kinds[s[2, i] : s[2, i + 1]],
        own.table_at[s[3, i] : s[3, i + 1]],
        none,
        none,
        few,
        few,
    )


@jitable
def _tree_of(i, own):
    """Return the junction tree of graph i, made of views."""
    s = own.starts
    return JunctionTree(
        own.order[s[4, i] : s[4, i + 1]],
        own.above[s[5, i] : s[5, i + 1]],
        own.scope_at[s[6, i] : s[6, i + 1]],
        own.scope[s[7, i] : s[7, i + 1]],
        own.message_at[s[8, i] : s[8, i + 1]],
        own.source_at[s[9, i] : s[9, i + 1]],
        own.source_kind[s[10, i] : s[10, i + 1]],
        own.source[s[11, i] : s[11, i + 1]],
        own.stride_at[s[12, i] : s[12, i + 1]],
        own.stride[s[13, i] : s[13, i + 1]],
        0.0,
    )


@implements(marginals, GeneralGraphs)
def _marginals(data, i, theta, own, temperature, prior, prior_at, law, at):
    """Give the cliques the potentials of the prior; then eliminate all nodes, and go back."""
    n_labels, n_cells = data.graphs.layout.n_labels, data.graphs.shapes.n_cells[i]
    n_unary = (data.graphs.shapes.node_at[i + 1] - data.graphs.shapes.node_at[i]) * n_labels
    for k in range(n_unary):
        own.unary[k] = theta.unary[k]
    for k in range(n_cells):
        own.tables[k] = theta.tables[k]
    # Of a clique the node itself changes fastest: a row belongs to one cell of the separator.
    for first in range(n_cells, own.n_cells[i], n_labels):
        given = 0.0
        if prior_at >= 0:
            for k in range(n_labels):
                given += prior[prior_at + n_unary + first + k]
        for k in range(n_labels):
            own.tables[first + k] = 0.0
            if prior_at >= 0:
                mass = log_mass(prior[prior_at + n_unary + first + k])
                own.tables[first + k] = temperature * (mass - log_mass(given))
    junction_marginals(
        _shape_of(data, i, own), own.unary, own.tables, _tree_of(i, own), temperature, own.sums,
        law[at : at + n_unary], law[at + n_unary : at + n_unary + own.n_cells[i]],
    )  # fmt: skip

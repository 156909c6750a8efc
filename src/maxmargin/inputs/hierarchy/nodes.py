"""Hierarchies of named nodes; parents come first."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.inference.hierarchy.shape import (
    HierarchyShape,
    all_ancestors,
    hierarchy_shape,
    is_forest,
    parents_first,
)
from maxmargin.inputs.hierarchy.ways_in import WaysIn, check_texts, named_nodes, numbered
from maxmargin.inputs.labels import Labels, label_array

__all__ = ["Hierarchy"]


class Hierarchy(WaysIn):
    """Which node is below which: a tree, a forest or a directed acyclic graph of named nodes.

    Use one of `from_edges`, `from_graph`, `from_dict`, `from_paths`, or `of`, which tells by its
    type what it was given.

    Parameters
    ----------
    nodes : iterable of hashable names, all distinct
    edges : iterable of pairs (child, parent) of such names
    separator : str or None
        What joins the levels in the names of nodes, where names are paths such as "a/b/c".

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,)
        The names, parents before their children.
    labels : Labels, of these names
    shape : HierarchyShape, of their numbers

    Examples
    --------
    >>> animals = Hierarchy.from_edges([("cat", "mammal"), ("dog", "mammal"), ("owl", "bird")])
    >>> animals
    Hierarchy of 5 nodes, 3 of them leaves, depth 2: a forest of 2 trees
    >>> animals.nodes.tolist(), animals.leaves.tolist()
    (['mammal', 'cat', 'dog', 'bird', 'owl'], ['cat', 'dog', 'owl'])
    >>> animals.above("cat")
    ['mammal', 'cat']
    >>> Hierarchy.from_edges([("a", "b"), ("b", "c"), ("c", "a")])
    Traceback (most recent call last):
    ValueError: the hierarchy has a cycle: 'b' < 'c' < 'a' < 'b'.
    """

    def __init__(
        self,
        nodes: Iterable[Any],
        edges: Iterable[tuple[Any, Any]],
        separator: str | None = None,
    ) -> None:
        given = Labels(named_nodes(nodes))
        check_texts(given.classes.tolist())
        child, parent = numbered(edges, given)
        order = parents_first(len(given), child, parent, given.classes.tolist())
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        self.labels = Labels(label_array([given.classes.tolist()[v] for v in order]))
        self.nodes = self.labels.classes
        self.shape: HierarchyShape = hierarchy_shape(len(order), place[child], place[parent])
        self.separator = separator

    def keep(self, which: np.ndarray) -> Hierarchy:
        """Return the hierarchy of some nodes, a mask, and of the edges between them."""
        kept = np.asarray(which, dtype=bool)
        names = self.nodes.tolist()
        pairs = [(names[c], names[p]) for c, p in self.edges().tolist() if kept[c] and kept[p]]
        return Hierarchy(self.nodes[kept].tolist(), pairs, self.separator)

    # -- what it looks like ----------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        same = self.nodes.tolist() == other.nodes.tolist() and self.separator == other.separator
        return same and np.array_equal(self.edges(), other.edges())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        n_roots = len(self.roots)
        if not self.is_forest:
            kind = "a DAG"
        else:
            kind = "a tree" if n_roots == 1 else f"a forest of {n_roots} trees"
        n_leaves = int(self.is_leaf.sum())
        return (
            f"Hierarchy of {len(self)} nodes, {n_leaves} of them leaves, depth {self.depth}: {kind}"
        )

    def edges(self) -> np.ndarray:
        """Return the edges as rows (child, parent) of numbers of nodes."""
        counts = np.diff(self.shape.parent_at)
        child = np.repeat(np.arange(len(self)), counts)
        return np.stack([child, self.shape.parents.astype(np.int64)], axis=1)

    @property
    def is_forest(self) -> bool:
        """Whether no node has two parents."""
        return is_forest(self.shape)

    @property
    def is_leaf(self) -> np.ndarray:
        """Which nodes have no children."""
        return np.diff(self.shape.child_at) == 0

    @property
    def leaves(self) -> np.ndarray:
        """The names of the nodes without children."""
        return self.nodes[self.is_leaf]

    @property
    def roots(self) -> np.ndarray:
        """The names of the nodes without parents."""
        return self.nodes[np.diff(self.shape.parent_at) == 0]

    @cached_property
    def levels(self) -> np.ndarray:
        """The number of nodes on the longest way from a root to each node, itself included."""
        found = np.ones(len(self), dtype=np.int64)
        for child, parent in self.edges().tolist():  # sorted by child, and parents come first
            found[child] = max(found[child], found[parent] + 1)
        return found

    @property
    def depth(self) -> int:
        """The number of levels."""
        return int(self.levels.max())

    @cached_property
    def ancestry(self) -> sp.csr_matrix:
        """Row v marks the nodes on the paths to node v, itself included; int32, M x M."""
        above = all_ancestors(self.shape)
        ends = np.concatenate([[0], np.cumsum([len(row) for row in above])])
        cells = np.ones(ends[-1], dtype=np.int32)
        return sp.csr_matrix((cells, np.concatenate(above), ends), shape=(len(self), len(self)))

    def above(self, node: Any) -> list[Any]:
        """Return the nodes on the paths to a node, itself last."""
        row = self.ancestry[self.labels.encode([node], lambda _: "node")[0]]
        return self.nodes[np.sort(row.indices)].tolist()

    def closure(self, cells: Any) -> sp.csr_matrix:
        """Return sets of nodes with all nodes above them: 0/1 cells of shape (n, n_nodes), CSR."""
        closed = sp.csr_matrix(sp.csr_matrix(cells, dtype=np.int32) @ self.ancestry)
        closed.sort_indices()
        closed.data[:] = 1
        return closed

    def most_specific(self, closed: Any) -> sp.csr_matrix:
        """Return closed sets without the nodes that have a child in the set."""
        cells = sp.csr_matrix(closed, dtype=np.int32)
        edges = self.edges()
        up = sp.csr_matrix(
            (np.ones(len(edges), dtype=np.int32), (edges[:, 0], edges[:, 1])),
            shape=(len(self), len(self)),
        )
        below = sp.csr_matrix(cells @ up)  # how many children of each node are in the set
        below.data[:] = 1
        found = sp.csr_matrix(cells - cells.multiply(below))
        found.eliminate_zeros()
        found.sort_indices()
        return found

    def closures(self, *ys: Any) -> list[sp.csr_matrix]:
        """Return labels of any form as closed sets of nodes, over one common set of columns.

        Paths that a hierarchy of paths does not have are added to it; `maxmargin.metrics` compares
        labels this way.

        Examples
        --------
        >>> tree = Hierarchy.from_paths(["a/b", "a/c"])
        >>> for each in tree.closures(["a/b", "a/d"], ["a/c", "a/c"]):
        ...     print(each.toarray().tolist())
        [[1, 1, 0, 0], [1, 0, 0, 1]]
        [[1, 0, 1, 0], [1, 0, 1, 0]]
        """
        from maxmargin.inputs.hierarchy.labels import common_closures

        return common_closures(self, ys)

    # -- ways out --------------------------------------------------------------------------------

    def to_edges(self) -> list[tuple[Any, Any]]:
        """Return the edges as pairs (child, parent) of names."""
        names = self.nodes.tolist()
        return [(names[child], names[parent]) for child, parent in self.edges().tolist()]

    def to_networkx(self) -> Any:
        """Return a networkx.DiGraph whose edges lead from parents to children."""
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(self.nodes.tolist())
        graph.add_edges_from((parent, child) for child, parent in self.to_edges())
        return graph

    def to_state(self) -> dict[str, Any]:
        """Return what a model file holds of it."""
        return {"nodes": self.nodes, "edges": self.edges().tolist(), "separator": self.separator}

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Return the hierarchy that `to_state` was called on; refuse what it cannot have given."""
        if not isinstance(state, dict) or set(state) != {"nodes", "edges", "separator"}:
            raise ValueError(f"hierarchy must have nodes, edges and a separator, got {state!r:.80}")
        nodes, edges, separator = state["nodes"], state["edges"], state["separator"]
        if not isinstance(nodes, np.ndarray) or nodes.ndim != 1:
            raise ValueError(f"hierarchy['nodes'] must be an array of names, got {nodes!r:.80}")
        if separator is not None and not isinstance(separator, str):
            raise ValueError(f"hierarchy['separator'] must be text or None, got {separator!r:.80}")
        is_list = isinstance(edges, list) and all(
            isinstance(edge, list)
            and len(edge) == 2
            and all(type(v) is int and 0 <= v < len(nodes) for v in edge)
            for edge in edges
        )
        if not is_list:
            raise ValueError(f"hierarchy['edges'] must be pairs of nodes, got {edges!r:.80}")
        names = nodes.tolist()
        return cls(names, [(names[child], names[parent]) for child, parent in edges], separator)

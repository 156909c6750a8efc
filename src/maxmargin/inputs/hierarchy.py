"""Hierarchies of named nodes, from edges, graphs, dictionaries or paths; parents come first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.inference.hierarchy.shape import (
    HierarchyShape,
    hierarchy_shape,
    is_forest,
    parents_first,
)
from maxmargin.inputs.hierarchy_paths import path_texts, prefixes
from maxmargin.inputs.labels import Labels, label_array

__all__ = ["Hierarchy"]


class Hierarchy:
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
        given = Labels(_named_nodes(nodes))
        _check_texts(given.classes.tolist())
        child, parent = _numbered(edges, given)
        order = parents_first(len(given), child, parent, given.classes.tolist())
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        self.labels = Labels(label_array([given.classes.tolist()[v] for v in order]))
        self.nodes = self.labels.classes
        self.shape: HierarchyShape = hierarchy_shape(len(order), place[child], place[parent])
        self.separator = separator

    # -- ways in ---------------------------------------------------------------------------------

    @classmethod
    def of(cls, given: Any, separator: str = "/") -> Hierarchy:
        """Return the hierarchy that is given in any of the known forms.

        Parameters
        ----------
        given : Hierarchy, networkx.DiGraph, dict, or a list or array
            A graph has edges from parents to children. A dictionary maps each node to its parent
            (None for a root), or, where its values are collections, to its children. A list of
            texts is read as paths, a list of pairs as edges (child, parent), longer or ragged rows
            as paths.
        separator : str
            Joins the levels of a path.

        Examples
        --------
        >>> Hierarchy.of({"cat": "mammal", "mammal": None}).leaves.tolist()
        ['cat']
        >>> Hierarchy.of({"mammal": ["cat", "dog"]}).roots.tolist()
        ['mammal']
        >>> Hierarchy.of(["a/b", "a/c"]).nodes.tolist()
        ['a', 'a/b', 'a/c']
        """
        if isinstance(given, Hierarchy):
            return given
        if hasattr(given, "is_directed") and hasattr(given, "edges"):
            return cls.from_graph(given)
        if isinstance(given, Mapping):
            return cls.from_dict(given)
        if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
            raise TypeError(
                "hierarchy must be a Hierarchy, a networkx.DiGraph, a dict, a list of edges "
                f"(child, parent) or a list of paths, got {type(given).__name__}."
            )
        rows = list(given)
        is_pairs = all(not isinstance(row, str) and np.size(row) == 2 for row in rows)
        if rows and is_pairs:
            return cls.from_edges([tuple(_plain(row)) for row in rows])
        return cls.from_paths(rows, separator)

    @classmethod
    def from_edges(
        cls, edges: Iterable[Sequence[Any]], nodes: Iterable[Any] | None = None
    ) -> Hierarchy:
        """Return the hierarchy with the edges (child, parent).

        Parameters
        ----------
        edges : pairs (child, parent) of names
        nodes : names or None
            All nodes there are, and then an edge may name no other. None: those that edges name, in
            the order of edges, parents first.

        Examples
        --------
        >>> Hierarchy.from_edges([("cat", "mammal")], nodes=["cat", "owl"])
        Traceback (most recent call last):
        ValueError: edge 0 names the parent 'mammal', which is none of the nodes: 'cat', 'owl'.
        """
        pairs = [_pair(e, edge) for e, edge in enumerate(edges)]
        if nodes is None:
            nodes = dict.fromkeys(name for child, parent in pairs for name in (parent, child))
        return cls(nodes, pairs)

    @classmethod
    def from_graph(cls, graph: Any) -> Hierarchy:
        """Return the hierarchy of a networkx graph whose edges lead from parents to children."""
        if not graph.is_directed():
            raise TypeError(
                "hierarchy must be a directed graph (networkx.DiGraph), whose edges lead from "
                "parents to children; this graph has no directions."
            )
        return cls(graph.nodes, [(child, parent) for parent, child in graph.edges()])

    @classmethod
    def from_dict(cls, relations: Mapping[Any, Any], values: str = "auto") -> Hierarchy:
        """Return the hierarchy that a dictionary says.

        Parameters
        ----------
        relations : mapping from a node to its parent or parents, or to its children
            A root may have the parent None. Where one has, all roots must, so that a parent that is
            no key is refused as unknown.
        values : {"auto", "parents", "children"}
            What the values are. "auto": children where they are collections, else parents.

        Examples
        --------
        >>> Hierarchy.from_dict({"bat": ["mammal", "flier"]}, values="parents").above("bat")
        ['mammal', 'flier', 'bat']
        >>> Hierarchy.from_dict({"bat": "mammal", "animal": None})
        Traceback (most recent call last):
        ValueError: 'bat' has the parent 'mammal', which is no node: roots are marked by None ...
        """
        if values not in ("auto", "parents", "children"):
            raise ValueError(
                f"values={values!r} is not known. There are: 'auto', 'parents', 'children'."
            )
        if values == "auto":
            values = _kind_of_values(relations)
        listed = {own: _collection(others) for own, others in relations.items()}
        if values == "children":
            edges = [(child, own) for own, below in listed.items() for child in below]
            nodes = dict.fromkeys([*listed, *(child for child, _ in edges)])
            return cls(nodes, edges)
        has_roots = any(others is None for others in relations.values())
        edges = [(own, parent) for own, above in listed.items() for parent in above]
        for own, parent in edges:
            if has_roots and parent not in relations:
                raise ValueError(
                    f"{own!r} has the parent {parent!r}, which is no node: roots are marked by "
                    "None here, so that each parent must be a key of its own."
                )
        return cls(dict.fromkeys([*(parent for _, parent in edges), *listed]), edges)

    @classmethod
    def from_paths(cls, paths: Iterable[Any], separator: str = "/") -> Hierarchy:
        """Return the tree of paths from the top; the name of a node is the path to it, as text.

        Parameters
        ----------
        paths : texts such as "a/b/c", lists of levels, or an array of levels
            Levels are texts or integers. Rows of an array may be padded at their end with "", None
            or NaN, as HiClass has them.
        separator : str
            Joins the levels, which may not contain it.

        Examples
        --------
        >>> Hierarchy.from_paths([["cat", "siamese"], ["dog", ""]]).nodes.tolist()
        ['cat', 'cat/siamese', 'dog']
        """
        texts = path_texts(paths, separator, "paths")
        nodes = dict.fromkeys(name for text in texts for name in prefixes(text, separator))
        return cls._of_names(nodes, separator)

    @classmethod
    def _of_names(cls, nodes: Iterable[str], separator: str) -> Hierarchy:
        """Return the tree of nodes whose names are paths; all prefixes are among them."""
        names = list(nodes)
        pairs = [(name, name.rpartition(separator)[0]) for name in names if separator in name]
        return cls(names, pairs, separator)

    def extended(self, texts: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of paths with more paths in it."""
        if self.separator is None:
            raise ValueError("only a hierarchy of paths can be extended by paths.")
        more = [name for text in texts for name in prefixes(text, self.separator)]
        return self._of_names(dict.fromkeys([*self.nodes.tolist(), *more]), self.separator)

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
        above: list[np.ndarray] = []
        for v in range(len(self)):
            own = self.shape.parents[self.shape.parent_at[v] : self.shape.parent_at[v + 1]]
            found = [np.array([v], dtype=np.int64), *(above[p] for p in own)]
            above.append(np.unique(np.concatenate(found)))
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
        from maxmargin.inputs.hierarchy_labels import common_closures

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


def _named_nodes(nodes: Iterable[Any]) -> list[Any]:
    if isinstance(nodes, (str, bytes)):
        raise TypeError(f"nodes must be a collection of names, got {nodes!r:.60}.")
    names = _plain(nodes)
    if not names:
        raise ValueError("the hierarchy has no nodes.")
    return names


def _plain(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _check_texts(names: list[Any]) -> None:
    """Refuse two nodes that look alike, as 1 and "1" do: they are one node by two names."""
    first: dict[str, Any] = {}
    for name in names:
        text = str(name).strip()
        if text in first:
            raise ValueError(
                f"the nodes {first[text]!r} and {name!r} look alike: if they are one node, it must "
                "have one name, else write them differently."
            )
        first[text] = name


def _pair(e: int, edge: Any) -> tuple[Any, Any]:
    if isinstance(edge, (str, bytes)) or not hasattr(edge, "__len__") or len(edge) != 2:
        raise ValueError(f"edge {e} must be a pair (child, parent), got {edge!r:.60}.")
    child, parent = _plain(edge)
    return child, parent


def _numbered(edges: Iterable[Any], labels: Labels) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of children and of parents of all edges."""
    found = np.empty((0, 2), dtype=np.int64)
    rows = []
    for e, edge in enumerate(edges):
        pair = _pair(e, edge)
        for what, name in zip(("child", "parent"), pair, strict=True):
            try:
                is_known = name in labels.index
            except TypeError:
                kind = type(name).__name__
                raise TypeError(
                    f"edge {e} has a {kind} as a node: a name must be hashable."
                ) from None
            if not is_known:
                raise ValueError(
                    f"edge {e} names the {what} {name!r}, which is none of the nodes: "
                    f"{labels.some()}."
                )
        rows.append([labels.index[name] for name in pair])
    found = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _collection(value: Any) -> list[Any]:
    if value is None:
        return []
    return _plain(value) if _is_collection(value) else [value]


def _is_collection(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset, np.ndarray))


def _kind_of_values(relations: Mapping[Any, Any]) -> str:
    """Tell parents from children by the form of the values of a dictionary."""
    kinds = {_is_collection(value) for value in relations.values() if value is not None}
    if len(kinds) > 1:
        raise ValueError(
            "hierarchy maps some nodes to collections and others to single nodes; a dictionary "
            "from nodes to their children has collections alone, one from nodes to their parents "
            "none (or pass Hierarchy.from_dict(relations, values='parents'))."
        )
    return "children" if kinds == {True} else "parents"

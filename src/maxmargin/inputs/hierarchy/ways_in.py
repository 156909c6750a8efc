"""Hierarchies from what users have: edges, graphs, dictionaries, paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from maxmargin.inputs.hierarchy.paths import path_texts, prefixes
from maxmargin.inputs.labels import Labels

__all__ = ["WaysIn", "check_texts", "named_nodes", "numbered"]


class WaysIn:
    """What makes a `Hierarchy` of each of the known forms."""

    nodes: np.ndarray
    separator: str | None

    def __init__(
        self,
        nodes: Iterable[Any],
        edges: Iterable[tuple[Any, Any]],
        separator: str | None = None,
    ) -> None:
        raise NotImplementedError  # `Hierarchy` has it

    @classmethod
    def of(cls, given: Any, separator: str = "/") -> Self:
        """Return the hierarchy that is given in any of the known forms.

        Parameters
        ----------
        given : Hierarchy, networkx.DiGraph, dict, or a list or array
            A graph has edges from parents to children. A dictionary maps each node to its parent
            (None for a root), or, where its values are collections, to its children. A list of
            texts is read as paths, a list of pairs as edges (child, parent), longer or ragged rows
            as paths. Paths that all have two levels are for `from_paths`.
        separator : str
            Joins the levels of a path.

        Examples
        --------
        >>> from maxmargin.inputs.hierarchy import Hierarchy
        >>> Hierarchy.of({"cat": "mammal", "mammal": None}).leaves.tolist()
        ['cat']
        >>> Hierarchy.of({"mammal": ["cat", "dog"]}).roots.tolist()
        ['mammal']
        >>> Hierarchy.of(["a/b", "a/c"]).nodes.tolist()
        ['a', 'a/b', 'a/c']
        """
        if isinstance(given, cls):
            return given
        if hasattr(given, "is_directed") and hasattr(given, "edges"):
            return cls.from_graph(given)
        if isinstance(given, Mapping):
            return cls.from_dict(given)
        if hasattr(given, "columns") and hasattr(given, "to_numpy"):
            given = given.to_numpy()  # a data frame, which iterates over names of columns
        if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
            raise TypeError(
                "hierarchy must be a Hierarchy, a networkx.DiGraph, a dict, a list of edges "
                f"(child, parent) or a list of paths, got {type(given).__name__}."
            )
        rows = list(given)
        pairs = pairs_of(rows)
        return cls.from_paths(rows, separator) if pairs is None else cls.from_edges(pairs)

    @classmethod
    def from_edges(cls, edges: Iterable[Sequence[Any]], nodes: Iterable[Any] | None = None) -> Self:
        """Return the hierarchy with the edges (child, parent).

        Parameters
        ----------
        edges : pairs (child, parent) of names
        nodes : names or None
            All nodes there are, and then an edge may name no other. None: those that edges name, in
            the order of edges, parents first.

        Examples
        --------
        >>> from maxmargin.inputs.hierarchy import Hierarchy
        >>> Hierarchy.from_edges([("cat", "mammal")], nodes=["cat", "owl"])
        Traceback (most recent call last):
        ValueError: edge 0 names the parent 'mammal', which is none of the nodes: 'cat', 'owl'.
        """
        pairs = [pair_of(e, edge) for e, edge in enumerate(edges)]
        if nodes is None:
            nodes = dict.fromkeys(name for child, parent in pairs for name in (parent, child))
        return cls(nodes, pairs)

    @classmethod
    def from_graph(cls, graph: Any) -> Self:
        """Return the hierarchy of a networkx graph whose edges lead from parents to children."""
        if not graph.is_directed():
            raise TypeError(
                "hierarchy must be a directed graph (networkx.DiGraph), whose edges lead from "
                "parents to children; this graph has no directions."
            )
        return cls(graph.nodes, [(child, parent) for parent, child in graph.edges()])

    @classmethod
    def from_dict(cls, relations: Mapping[Any, Any], values: str = "auto") -> Self:
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
        >>> from maxmargin.inputs.hierarchy import Hierarchy
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
    def from_paths(cls, paths: Iterable[Any], separator: str = "/") -> Self:
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
        >>> from maxmargin.inputs.hierarchy import Hierarchy
        >>> Hierarchy.from_paths([["cat", "siamese"], ["dog", ""]]).nodes.tolist()
        ['cat', 'cat/siamese', 'dog']
        """
        texts = path_texts(paths, separator, "paths")
        nodes = dict.fromkeys(name for text in texts for name in prefixes(text, separator))
        return cls._of_names(nodes, separator)

    @classmethod
    def _of_names(cls, nodes: Iterable[str], separator: str) -> Self:
        """Return the tree of nodes whose names are paths; all prefixes are among them."""
        names = list(nodes)
        pairs = [(name, name.rpartition(separator)[0]) for name in names if separator in name]
        return cls(names, pairs, separator)

    def extended(self, texts: Iterable[str]) -> Self:
        """Return the hierarchy of paths with more paths in it."""
        if self.separator is None:
            raise ValueError("only a hierarchy of paths can be extended by paths.")
        more = [name for text in texts for name in prefixes(text, self.separator)]
        return self._of_names(dict.fromkeys([*self.nodes.tolist(), *more]), self.separator)


def named_nodes(nodes: Iterable[Any]) -> list[Any]:
    """Return the names of nodes as a list; refuse none."""
    if isinstance(nodes, (str, bytes)):
        raise TypeError(f"nodes must be a collection of names, got {nodes!r:.60}.")
    names = plain(nodes)
    if not names:
        raise ValueError("the hierarchy has no nodes.")
    return names


def plain(values: Any) -> list[Any]:
    """Return values as a list of Python's own types."""
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def check_texts(names: list[Any]) -> None:
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


def pairs_of(given: Any) -> list[tuple[Any, Any]] | None:
    """Return the rows of a list or array if all of them are pairs, else None."""
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):
        given = given.to_numpy()
    if not isinstance(given, (list, tuple, np.ndarray)) or len(given) == 0:
        return None
    found = []
    for row in given:
        if not isinstance(row, (list, tuple, np.ndarray)) or len(row) != 2:
            return None
        first, second = plain(row)
        found.append((first, second))
    return found


def pair_of(e: int, edge: Any) -> tuple[Any, Any]:
    """Return child and parent of edge e; refuse what is no pair."""
    if isinstance(edge, (str, bytes)) or not hasattr(edge, "__len__") or len(edge) != 2:
        raise ValueError(f"edge {e} must be a pair (child, parent), got {edge!r:.60}.")
    child, parent = plain(edge)
    return child, parent


def numbered(edges: Iterable[Any], labels: Labels) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of children and of parents of all edges."""
    found = np.empty((0, 2), dtype=np.int64)
    rows = []
    for e, edge in enumerate(edges):
        pair = pair_of(e, edge)
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
    return plain(value) if _is_collection(value) else [value]


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

"""ARFF files of CLUS whose labels lie in a hierarchy, a tree or a DAG (HMC data sets)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.arff import parse_attribute
from maxmargin.io.arff_rows import Attribute, dense_rows
from maxmargin.io.files import Source, numbered_lines, shown, source_name

__all__ = ["ClusData", "read_clus"]


class ClusData(NamedTuple):
    """What an ARFF file with a hierarchical class holds.

    Attributes
    ----------
    X : ndarray of float64, shape (n_samples, n_features); NaN where a value is missing
    y : list of tuples of str
        The nodes that each row names, in its order: all of a path, or the most specific ones.
    nodes : list of str
        All nodes, in the order of the file. In a tree the name of a node is the path to it.
    edges : list of pairs (child, parent) of nodes
    feature_names : list of str
    is_tree : bool
        Whether the file lists paths, not edges.
    """

    X: NDArray[np.float64]
    y: list[tuple[str, ...]]
    nodes: list[str]
    edges: list[tuple[str, str]]
    feature_names: list[str]
    is_tree: bool


def read_clus(source: Source, kind: str = "auto") -> ClusData:
    r"""Features, labels and hierarchy of an ARFF file of CLUS, plain or gzipped.

    The last attribute has the type ``hierarchical`` and lists the hierarchy: paths ``1,1/2,1/2/3``
    of a tree (FunCat, ImCLEF), or edges ``parent/child`` of a DAG (the Gene Ontology). The labels
    of a row are joined by ``@``. The other attributes are numeric, or ``{0,1}``; ``?`` is missing,
    and NaN in X.

    Parameters
    ----------
    source : path or file open for reading
    kind : {"auto", "tree", "dag"}
        What the entries of the hierarchy are. "auto": edges where all entries have two parts, else
        paths.

    Raises
    ------
    ValueError
        Naming file and line, for what cannot be read: no hierarchical attribute at the end, a label
        that is no node, a row without a label, a path whose beginning is not listed.

    Examples
    --------
    >>> import io
    >>> header = "@relation genes\n@attribute a numeric\n@attribute class hierarchical "
    >>> data = read_clus(io.StringIO(header + "1,1/2,3\n@data\n0.5,1/2@3\n?,1\n"))
    >>> data.X.tolist(), data.y, data.edges
    ([[0.5], [nan]], [('1/2', '3'), ('1',)], [('1/2', '1')])
    >>> data = read_clus(io.StringIO(header + "root/a,root/b,a/c,b/c\n@data\n1,c\n"))
    >>> data.nodes, data.is_tree, len(data.edges)
    (['root', 'a', 'b', 'c'], False, 4)
    """
    if kind not in ("auto", "tree", "dag"):
        raise ValueError(f"kind={kind!r} is not known. There are: 'auto', 'tree', 'dag'.")
    name = source_name(source)
    lines = numbered_lines(source)
    attributes, (number, text) = _header(name, lines)
    nodes, edges, is_tree = _hierarchy(f"{name}, line {number}", text, kind)
    known = set(nodes)
    y: list[tuple[str, ...]] = []

    def numeric_part() -> Iterator[tuple[int, str]]:
        """Rows without their labels, which are checked and kept on the way."""
        for k, line in lines:
            row = line.strip()
            if not row or row[0] == "%":
                continue
            if row[0] == "{":
                raise ValueError(
                    f"{name}, line {k}: a sparse row, {shown(row)}; rows must list the values of "
                    "all attributes, separated by commas."
                )
            rest, comma, labels = row.rpartition(",")
            if not comma:
                raise ValueError(f"{name}, line {k}: expected values and labels, got {shown(row)}.")
            y.append(_labels(f"{name}, line {k}", labels.strip().strip("'\""), known, edges))
            yield k, rest

    X, _ = dense_rows(name, attributes, numeric_part())
    if not len(y):
        raise ValueError(f"{name}: holds no sample.")
    infinite = np.argwhere(np.isinf(X))
    if len(infinite):
        i, j = infinite[0]
        raise ValueError(f"{name}: row {i}, attribute {shown(attributes[j].name)} is not finite.")
    return ClusData(X.copy(), y, nodes, edges, [a.name for a in attributes], is_tree)


def _header(name: str, lines: Iterator[tuple[int, str]]) -> tuple[list[Attribute], tuple[int, str]]:
    """The attributes before the class, and line and text of the hierarchy."""
    found: dict[str, Attribute] = {}
    hierarchy: tuple[int, str] | None = None
    for number, line in lines:
        text = line.strip()
        if not text or text[0] == "%":
            continue
        where = f"{name}, line {number}"
        word = text.split(None, 1)[0].lower()
        if word == "@data":
            if hierarchy is None or not found:
                raise ValueError(
                    f"{where}: expected numeric attributes and then one of type hierarchical."
                )
            return list(found.values()), hierarchy
        if word == "@attribute":
            pieces = text.split(None, 3)
            if hierarchy is not None:
                raise ValueError(f"{where}: the hierarchical attribute must be the last.")
            if len(pieces) == 4 and pieces[2].lower() == "hierarchical":
                hierarchy = number, pieces[3]
                continue
            attribute = parse_attribute(where, number, text[len(word) :].strip())
            if attribute.name in found:
                raise ValueError(f"{where}: the attribute {shown(attribute.name)} comes twice.")
            found[attribute.name] = attribute
        elif word != "@relation":
            raise ValueError(
                f"{where}: expected @relation, @attribute or @data, got {shown(text)}."
            )
    raise ValueError(f"{name}: has no @data line.")


def _hierarchy(where: str, text: str, kind: str) -> tuple[list[str], list[tuple[str, str]], bool]:
    """Nodes and edges of the hierarchy that an attribute lists, and whether it lists paths."""
    entries = [entry.strip() for entry in text.split(",")]
    for entry in entries:
        if not all(entry.split("/")):
            raise ValueError(f"{where}: the hierarchy has the entry {shown(entry)}.")
    parts = [entry.split("/") for entry in entries]
    if kind == "auto":
        kind = "dag" if all(len(part) == 2 for part in parts) else "tree"
    if kind == "tree":
        nodes = list(dict.fromkeys(entries))
        edges = [(node, node.rpartition("/")[0]) for node in nodes if "/" in node]
        known = set(nodes)
        for child, parent in edges:
            if parent not in known:
                raise ValueError(
                    f"{where}: the hierarchy has {shown(child)} but not {shown(parent)} above it."
                )
        return nodes, edges, True
    for entry, part in zip(entries, parts, strict=True):
        if len(part) != 2:
            raise ValueError(f"{where}: expected an edge parent/child, got {shown(entry)}.")
    edges = list(dict.fromkeys((child, parent) for parent, child in parts))
    nodes = list(dict.fromkeys(node for part in parts for node in part))
    return nodes, edges, False


def _labels(
    where: str, text: str, known: set[str], edges: list[tuple[str, str]]
) -> tuple[str, ...]:
    if not text or text == "?":
        raise ValueError(f"{where}: the row has no label.")
    labels = tuple(dict.fromkeys(text.split("@")))
    for label in labels:
        if label not in known:
            parent, _, child = label.partition("/")
            hint = ""
            if (child, parent) in edges:
                hint = (
                    " It is an entry that was read as an edge of a DAG, because all entries have "
                    "two parts: if they are paths of a tree, list the upper nodes too (and pass "
                    "kind='tree')."
                )
            raise ValueError(
                f"{where}: the label {shown(label)} is no node of the hierarchy.{hint}"
            )
    return labels

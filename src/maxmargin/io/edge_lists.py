"""Hierarchies as text: one edge per line, two names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from maxmargin.io.files import Source, numbered_lines, shown, source_name
from maxmargin.io.replace import atomic_write

__all__ = ["read_edges", "write_edges"]

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")


def read_edges(source: Source, *, order: str = "parent child") -> list[tuple[Any, Any]]:
    r"""Edges (child, parent) of a hierarchy from a text file, plain or gzipped.

    A line has two names, parted by a tab, a comma, or else by blanks; those that start with ``#``
    are comments. This is how the hierarchies of LSHTC and of DMOZ are written; `read_svmlight` with
    ``multilabel=True`` reads the examples that belong to them.

    Parameters
    ----------
    source : path or file open for reading
    order : {"parent child", "child parent"}
        Which name comes first in a line. LSHTC has parents first.

    Returns
    -------
    list of pairs (child, parent)
        Of integers if all names are whole numbers, so that they are equal to the labels of an
        svmlight file; else of text.

    Examples
    --------
    >>> import io
    >>> read_edges(io.StringIO("1 2\n1 3\n"))
    [(2, 1), (3, 1)]
    >>> read_edges(io.StringIO("big cat\tlion\n"), order="parent child")
    [('lion', 'big cat')]
    """
    if order not in ("parent child", "child parent"):
        raise ValueError(
            f"order={order!r} is not known. There are: 'parent child', 'child parent'."
        )
    name = source_name(source)
    pairs: list[tuple[str, str]] = []
    for number, line in numbered_lines(source):
        text = line.strip()
        if not text or text[0] == "#":
            continue
        between = next((mark for mark in ("\t", ",") if mark in text), None)
        pieces = [piece.strip() for piece in text.split(between)]
        if len(pieces) != 2 or not all(pieces):
            raise ValueError(f"{name}, line {number}: expected two names, got {shown(text)}.")
        first, second = pieces
        pairs.append((second, first) if order == "parent child" else (first, second))
    if not pairs:
        raise ValueError(f"{name}: holds no edge.")
    if all(_INTEGER.fullmatch(node) for pair in pairs for node in pair):
        return [(int(child), int(parent)) for child, parent in pairs]
    return list(pairs)


def write_edges(path: str | os.PathLike[str], edges: Iterable[tuple[Any, Any]]) -> None:
    """Write edges (child, parent) as lines "parent<tab>child", which `read_edges` reads."""
    lines = []
    for child, parent in edges:
        for node in (parent, child):
            text = str(node)
            if not text.strip() or text != text.strip() or any(mark in text for mark in "\t\n\r"):
                raise ValueError(f"the node {node!r} cannot be written into a line of text.")
            if text.startswith("#"):
                raise ValueError(f"the node {node!r} would be read as a comment.")
        lines.append(f"{parent}\t{child}\n")
    with atomic_write(path) as file:
        file.write("".join(lines).encode("utf-8"))
